#include "experiments/run/results_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "experiments/run/results_place.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/disk.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::scenarios {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& path, std::string expected, std::string found) {
  throw sim::InputError({.file = path, .expected = std::move(expected), .found = std::move(found)});
}

class File {
 public:
  File(const std::string& path, int flags) : path_(path), fd_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(path, "a file that can be opened", std::strerror(errno));
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  std::string path_;
  int fd_;
};

void append(const std::string& target, const std::string& source, std::size_t skip) {
  const File to(target, O_WRONLY), from(source, O_RDONLY);
  lseek(to.fd(), 0, SEEK_END);
  lseek(from.fd(), static_cast<off_t>(skip), SEEK_SET);
  if (!sim::append_rest(to.fd(), from.fd())) fail(target, "a file that can be written", std::strerror(errno));
}

}  // namespace

ResultsFolder::ResultsFolder(ResultsPlace place) : place_(std::move(place)), part_(make_part_folder(place_)) {
  if (place_.run && !part_.is_resumed) write_identity(part_.path, *place_.run);
}

ResultsFolder::~ResultsFolder() {
  std::error_code ignored;
  if (!published_ && place_.run) keep_finished(part_.path);
  if (!published_ && (!place_.run || finished_in(part_.path).empty())) fs::remove_all(part_.path, ignored);
  if (part_.lock >= 0) close(part_.lock);
}

std::optional<RepetitionCost> ResultsFolder::finished(const std::string& subfolder) const {
  return scenarios::finished(part() + "/" + subfolder);
}

void ResultsFolder::mark_finished(const std::string& subfolder, const RepetitionCost& cost) const {
  if (place_.run) scenarios::mark_finished(part() + "/" + subfolder, cost);
}

std::string ResultsFolder::left_behind() const {
  const std::size_t count = place_.run && !published_ ? finished_in(part()).size() : 0;
  if (count == 0) return {};
  return fmt::format(
      "{} of {} repetitions are finished and kept in {}; the same command goes on with --resume, begins anew with --replace",
      count, place_.run->repetitions, part());
}

std::string ResultsFolder::make_subfolder(const std::string& name) const {
  std::error_code error;
  fs::create_directory(part() + "/" + name, error);
  if (error) fail(part() + "/" + name, "a folder that can be written", error.message());
  return part() + "/" + name;
}

void ResultsFolder::drop_subfolder(const std::string& name) const {
  unmark(part() + "/" + name);
  std::error_code ignored;
  fs::remove_all(part() + "/" + name, ignored);
}

void ResultsFolder::link(const std::string& file, const std::string& name) const {
  const std::string target = part() + "/" + name;
  if (::link(file.c_str(), target.c_str()) == 0) return;
  std::error_code error;
  fs::copy_file(file, target, error);
  if (error) fail(target, "a file that can be written", error.message());
}

void ResultsFolder::write(const std::string& name, std::string_view text) const {
  auto file = sim::OutputFile::in_place(part() + "/" + name);
  file.write(text);
  file.close();
}

void ResultsFolder::join(const std::string& name, std::string_view header, const std::vector<std::string>& files) const {
  std::vector<std::string> there;
  std::error_code error;
  for (const std::string& file : files)
    if (fs::exists(file, error)) there.push_back(file);
  if (there.size() == 1) return link(there.front(), name);
  const std::string target = part() + "/" + name;
  if (!there.empty()) sim::OutputFile::in_place(target).close();
  for (const std::string& file : there) append(target, file, &file == &there.front() || header.empty() ? 0 : header.size() + 1);
}

void ResultsFolder::publish() {
  remove_identity(part());
  write(kManifestFile, manifest_json(manifest_of(part(), place_.owner)));
  sim::sync_folder(part());
  published_ = true;  // whatever comes now, the results stay
  exchange_results(part(), part_.target, place_.tell);
  sim::sync_path(fs::path(part_.target).parent_path());
}

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& part, const std::string& target, int number) {
  throw sim::InputError({.file = target,
                         .expected = "a folder that can be replaced",
                         .found = fmt::format("{}; the results are in {}", std::strerror(number), part)});
}

/// Whether the file system cannot exchange two folders, or the kernel not on this one.
bool is_unknown(int number) { return number == EINVAL || number == ENOSYS || number == EOPNOTSUPP; }

/// After it, what was at `target` is at the path that it returns.
std::string exchange(const std::string& part, const std::string& target) {
  if (sim::rename_path(part, target, RENAME_EXCHANGE)) return part;
  if (!is_unknown(errno)) fail(part, target, errno);
  const std::string old = fs::path(part).replace_extension(".old").string();
  if (!sim::rename_path(target, old)) fail(part, target, errno);
  if (sim::rename_path(part, target)) return old;
  const int number = errno;
  sim::rename_path(old, target);
  fail(part, target, number);
}

/// Never over something that is there.
bool move(const std::string& from, const std::string& to) {
  if (sim::rename_path(from, to, RENAME_NOREPLACE)) return true;
  std::error_code error;
  return is_unknown(errno) && !fs::exists(fs::symlink_status(to, error)) && sim::rename_path(from, to);
}

class MovedBack {
 public:
  MovedBack(std::string old, std::string target, const ResultsManifest& manifest)
      : old_(std::move(old)), target_(std::move(target)), manifest_(manifest) {}

  /// Every entry of the old folder: moved back if it is not ours, else deleted.
  void take(const std::string& folder) {
    for (const std::string& name : names_in(folder)) {
      const std::string path = folder.empty() ? name : folder + "/" + name;
      std::error_code error;
      const bool is_folder = fs::is_directory(fs::symlink_status(old_ + "/" + path, error));
      const bool is_in_both = is_folder && fs::is_directory(fs::symlink_status(target_ + "/" + path, error));
      if (is_in_both || (is_folder && manifest_.has_folder(path)))
        take(path);
      else if (!is_folder && manifest_.has_file(path))
        unlink((old_ + "/" + path).c_str());
      else
        give_back(folder, path);
    }
    rmdir((old_ + "/" + folder).c_str());  // goes only when it is empty
  }
  const std::vector<std::string>& stuck() const { return stuck_; }

 private:
  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator it(old_ + "/" + folder, error), end; !error && it != end; it.increment(error))
      names.push_back(it->path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  void give_back(const std::string& folder, const std::string& path) {
    std::error_code error;
    if (!folder.empty()) fs::create_directories(target_ + "/" + folder, error);
    if (!move(old_ + "/" + path, target_ + "/" + path)) stuck_.push_back(path);
  }

  std::string old_, target_;
  const ResultsManifest& manifest_;
  std::vector<std::string> stuck_;
};

}  // namespace

void exchange_results(const std::string& part, const std::string& target, const std::function<void(const std::string&)>& tell) {
  std::error_code error;
  if (!fs::exists(target, error)) {
    if (!sim::rename_path(part, target)) fail(part, target, errno);
    return;
  }
  const std::string old = exchange(part, target);
  const ResultsManifest manifest = manifest_or_guess(old);
  MovedBack back(old, target, manifest);
  back.take("");
  if (!fs::exists(old, error)) return;
  const std::string kept = fs::path(old).replace_extension(".old").string();
  if (kept != old) sim::rename_path(old, kept);
  std::vector<std::string> names;
  for (const std::string& name : back.stuck()) names.push_back(sim::printable(name));
  tell(fmt::format("what is not the program's and could not stay in {} is in {}: {}", target, kept, fmt::join(names, ", ")));
}

}  // namespace rehearse::scenarios
