#include "experiments/run/results_place.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "sim/io/output_file.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestName = 240;  // bytes: ".XXXXXX.part" is put behind it

[[noreturn]] void refuse(const std::string& path, std::string expected, std::string found) {
  throw sim::InputError({.file = path, .expected = std::move(expected), .found = std::move(found)});
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& folder) : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  bool try_lock() const { return flock(fd_, LOCK_EX | LOCK_NB) == 0; }

 private:
  int fd_;
};

/// Starts beside each other take turns, so that of two the second sees the first. A file system without locks is done without.
void wait_for_turn(const Descriptor& parent) {
  for (int tries = 0; tries < 100 && !parent.try_lock() && errno == EWOULDBLOCK; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

std::string without_slashes_behind(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

/// The place without links and dots; its parents are made.
std::string resolved(const std::string& given) {
  if (given.find('\0') != given.npos) refuse(given, "a folder for the results", "a name with a NUL character");
  const std::string path = without_slashes_behind(given);
  std::error_code error;
  if (fs::is_symlink(path, error) && !fs::exists(path, error))
    refuse(path, "a folder for the results", "a link to nothing: " + sim::behind_links(path));
  if (const fs::path there = fs::canonical(path, error); !error) return there.string();
  fs::path absolute = fs::absolute(path, error);
  if (absolute.filename() == "." || absolute.filename() == "..")
    absolute = without_slashes_behind(absolute.lexically_normal().string());
  if (!error) fs::create_directories(absolute.parent_path(), error);
  fs::path parent;
  if (!error) parent = fs::canonical(absolute.parent_path(), error);
  if (error) refuse(path, "a folder that can be written", error.message());
  const std::string name = absolute.filename().string();
  if (name.size() > kLongestName)
    refuse(path, fmt::format("a folder's name of at most {} bytes", kLongestName), fmt::format("one of {}", name.size()));
  return (parent / name).string();
}

bool is_working_folder(const struct stat& status) {
  struct stat here {};
  return stat(".", &here) == 0 && here.st_dev == status.st_dev && here.st_ino == status.st_ino;
}

/// A folder that is there is exchanged for another.
void check_exchange(const std::string& path, const std::string& target, const struct stat& status) {
  if (is_working_folder(status))
    refuse(path, "a folder that results can take the place of (name one inside it)", "the folder that this was started in");
  if (sim::is_mount_point(target))
    refuse(path, "a folder that results can take the place of (name one inside it)", "a mount point");
  if (access(target.c_str(), R_OK | W_OK | X_OK) != 0) refuse(path, "a folder that can be written", std::strerror(errno));
  struct stat above {};
  const bool is_sticky = stat(fs::path(target).parent_path().c_str(), &above) == 0 && (above.st_mode & S_ISVTX) != 0;
  if (is_sticky && geteuid() != 0 && geteuid() != status.st_uid && geteuid() != above.st_uid)
    refuse(path, "a folder that can be written", "another user's");
}

void check_what_is_there(const ResultsPlace& place, const std::string& target) {
  struct stat status {};
  if (stat(target.c_str(), &status) != 0) {
    if (errno != ENOENT) refuse(place.path, "a folder for the results", std::strerror(errno));
    return;
  }
  if (!S_ISDIR(status.st_mode)) refuse(place.path, "a folder for the results", "a file");
  check_exchange(place.path, target, status);
  std::error_code error;
  const bool is_empty = fs::is_empty(target, error);
  if (error) refuse(place.path, "a folder that can be read", error.message());
  if (is_empty) return;
  std::optional<ResultsManifest> there;
  try {
    there = read_manifest(target);
  } catch (const sim::InputError&) {
    if (!place.replace) throw;
    return;  // results of ours, of which the manifest is damaged
  }
  if (!there) refuse(place.path, "a folder that is new, empty or holds earlier results", "a folder with other files");
  const bool is_namesake = is_of_another_file(target, there->owner.path, place.owner.path);
  if (place.replace || (is_same_owner(there->owner, place.owner) && !is_namesake)) return;
  const std::string file = is_namesake ? fs::proximate(fs::path(target) / there->owner.path).string() : there->owner.file;
  refuse(
      place.path,
      "a folder that is new or holds this scenario's results (--replace takes the place of others, --out names another folder)",
      fmt::format("results of {}{}", sim::shown(there->owner.scenario),
                  file.empty() ? "" : fmt::format(" ({})", sim::printable(file, sim::kWholeText))));
}

std::string date_of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return "an unknown date";
  tm date{};
  gmtime_r(&status.st_mtime, &date);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &date);
  return text;
}

std::string what_is_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    names.push_back(sim::printable(it->path().filename().string()));
  std::sort(names.begin(), names.end());
  if (names.empty()) return "nothing";
  constexpr std::size_t kShown = 6;
  const std::size_t more = names.size() - std::min(names.size(), kShown);
  names.resize(names.size() - more);
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

void tell_of_leftovers(const ResultsPlace& place, const std::string& folder) {
  place.tell(fmt::format("{} is left of an earlier run, last written on {}, and holds {}; this run does not use it", folder,
                         date_of(folder), what_is_in(folder)));
}

/// Other runs' folders for the same place: NAME.XXXXXX.part and .old.
std::vector<std::string> beside(const std::string& target) {
  const std::string begin = fs::path(target).filename().string() + ".";
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(fs::path(target).parent_path(), error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(begin) || !(name.ends_with(".part") || name.ends_with(".old"))) continue;
    const std::size_t dot = name.rfind('.');
    if (dot <= begin.size() || name.find('.', begin.size()) != dot) continue;  // of a longer name than ours
    if (it->is_directory(error) && !it->is_symlink(error)) found.push_back(it->path().string());
    error.clear();
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// What an interrupted run has left.
struct Unfinished {
  std::string path;
  RunIdentity run;
  std::size_t finished = 0;
  std::string difference = {};  ///< from the run that starts now
};

std::string to_string(const Unfinished& u) {
  return fmt::format("an interrupted run in {}, last written on {}, with {} of {} repetitions finished", u.path, date_of(u.path),
                     u.finished, u.run.repetitions);
}

/// Other runs' folders beside the place that can be gone on with. What an interrupted run has left without anything finished
/// goes; of what else is there it tells.
std::vector<Unfinished> check_others(const ResultsPlace& place, const std::string& target) {
  std::vector<Unfinished> found;
  for (const std::string& other : beside(target)) {
    const Descriptor folder(other);
    // The children of a run that was killed end a moment later than it.
    const int most_tries = place.resume ? 40 : 1;
    for (int tries = 1; folder.get() >= 0 && !folder.try_lock() && errno == EWOULDBLOCK; ++tries) {
      if (tries == most_tries)
        refuse(place.path, "a folder that no other run writes to", fmt::format("one that is at it, in {}", other));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    std::optional<RunIdentity> run;
    try {
      if (place.run) run = read_identity(other);
    } catch (const sim::InputError& damage) {
      if (!place.replace)
        refuse(other, "what an interrupted run has left, undamaged (--replace removes it and begins anew)", damage.what());
      run = RunIdentity{.version = "unknown", .scenario = "{}"};
    }
    const std::size_t count = run ? finished_in(other).size() : 0;
    if (count > 0) {
      found.push_back({.path = other, .run = *run, .finished = count, .difference = difference(*run, *place.run)});
    } else if (run) {
      std::error_code ignored;
      fs::remove_all(other, ignored);
      place.note(fmt::format("removed {}, which an interrupted run has left: nothing in it was finished", other));
    } else {
      tell_of_leftovers(place, other);
    }
  }
  return found;
}

/// The path of the folder to go on with; empty: begin anew.
std::string taken_up(const ResultsPlace& place, const std::vector<Unfinished>& found) {
  if (found.empty()) {
    if (place.resume)
      place.note(fmt::format("no finished repetition of an interrupted run of {} is there: it begins anew", place.path));
    return {};
  }
  const Unfinished& most = *std::max_element(found.begin(), found.end(), [](const Unfinished& a, const Unfinished& b) {
    return std::pair(a.difference.empty(), a.finished) < std::pair(b.difference.empty(), b.finished);
  });
  if (place.resume && most.difference.empty()) {
    sim::refuse_links_in(most.path);
    place.note("going on with " + to_string(most));
    return most.path;
  }
  if (place.replace && !place.resume) {
    for (const Unfinished& one : found) {
      std::error_code ignored;
      fs::remove_all(one.path, ignored);
      place.note("removed " + to_string(one));
    }
    return {};
  }
  refuse(place.path,
         place.resume ? "to go on with a run of the same program, scenario and files (without --resume, --replace begins anew)"
         : most.difference.empty() ? "--resume, which goes on with what is there, or --replace, which begins anew"
                                   : "--replace, which begins anew",
         most.difference.empty() ? to_string(most) : fmt::format("{}: {}", to_string(most), most.difference));
}

std::string new_part_folder(const ResultsPlace& place, const std::string& target) {
  std::string path;
  // mkdtemp finds the name, which it wants to end in the X.
  for (int tries = 0; path.empty(); ++tries) {
    std::string name = target + ".XXXXXX";
    if (mkdtemp(name.data()) == nullptr) refuse(place.path, "a folder that can be written", std::strerror(errno));
    const std::string whole = name + ".part";
    if (mkdir(whole.c_str(), 0777) == 0) path = whole;
    const int number = errno;
    rmdir(name.c_str());
    if (path.empty() && (number != EEXIST || tries > 100))
      refuse(place.path, "a folder that can be written", std::strerror(number));
  }
  return path;
}

}  // namespace

PartFolder make_part_folder(const ResultsPlace& place) {
  PartFolder part{.target = resolved(place.path), .path = {}};
  const Descriptor parent(fs::path(part.target).parent_path().string());
  wait_for_turn(parent);
  check_what_is_there(place, part.target);
  part.path = taken_up(place, check_others(place, part.target));
  part.is_resumed = !part.path.empty();
  if (part.is_resumed)
    keep_finished(part.path);
  else
    part.path = new_part_folder(place, part.target);
  struct stat status {};
  if (stat(part.target.c_str(), &status) == 0) chmod(part.path.c_str(), status.st_mode & 07777);
  Descriptor lock(part.path);
  if (lock.get() >= 0) flock(lock.get(), LOCK_EX | LOCK_NB);
  part.lock = lock.release();
  return part;
}

}  // namespace rehearse::scenarios
