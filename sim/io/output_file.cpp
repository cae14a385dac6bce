#include "sim/io/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/io/disk.hpp"

namespace rehearse::sim {

namespace fs = std::filesystem;

namespace {

constexpr const char* kExpected = "a file that can be written";
constexpr std::size_t kLongestBeside = 200;  // bytes of a name that "." and ".XXXXXX.part" are put around
constexpr int kMostLinks = 40;               // as the kernel has it

enum class Way { replace, stream, descriptor };

struct Target {
  Way way = Way::replace;
  std::string path;     ///< without links
  int descriptor = -1;  ///< that is open already, of Way::descriptor
  bool exists = false;
  struct stat status {};
};

[[noreturn]] void refuse(const std::string& path, std::string found) {
  throw InputError({.file = path.empty() ? "\"\"" : path, .expected = kExpected, .found = std::move(found)});
}

std::string folder_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

/// The number N of /proc/self/fd/N and /dev/fd/N; -1 of other paths. Opened anew, such a file would be written from its begin.
int descriptor_named(std::string_view path) {
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view digits = path.substr(folder.size());
    int number = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc() && end == digits.data() + digits.size()) return number;
  }
  return -1;
}

bool is_same(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

/// One step through a link; false when the path is none.
bool follow(std::string& path) {
  std::error_code error;
  const fs::path to = fs::read_symlink(path, error);
  if (error) return false;
  path = (fs::path(path).parent_path() / to).string();  // the link alone where it is absolute
  return true;
}

Target target_of(const std::string& path) {
  if (path.find('\0') != path.npos) refuse(path, "a name with a NUL character");
  if (path.empty()) refuse(path, "no name");
  Target target{.path = path};
  if (path == "-") return {.way = Way::descriptor, .path = path, .descriptor = STDOUT_FILENO, .exists = true};
  for (int links = 0;; ++links) {
    if (const int descriptor = descriptor_named(target.path); descriptor >= 0) {
      if (::fstat(descriptor, &target.status) != 0) refuse_output(path, errno);
      return {.way = Way::descriptor, .path = path, .descriptor = descriptor, .exists = true, .status = target.status};
    }
    if (links > kMostLinks) refuse_output(path, ELOOP);
    if (!follow(target.path)) break;
  }
  if (::stat(target.path.c_str(), &target.status) != 0) {
    if (errno != ENOENT) refuse_output(path, errno);
    return target;
  }
  target.exists = true;
  struct stat open_already {};
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO})
    if (::fstat(descriptor, &open_already) == 0 && is_same(open_already, target.status)) {
      target.way = Way::descriptor;
      target.descriptor = descriptor;
      return target;
    }
  const mode_t mode = target.status.st_mode;
  if (S_ISDIR(mode)) refuse(path, "a folder");
  if (S_ISSOCK(mode)) refuse(path, "a socket");
  if (!S_ISREG(mode) || is_mount_point(target.path)) target.way = Way::stream;
  return target;
}

void check(const std::string& path, const Target& target) {
  if (target.way == Way::descriptor) return;
  if (target.exists) {
    // The superuser may write to what its owner has protected, but that is why it was protected.
    if (S_ISREG(target.status.st_mode) && (target.status.st_mode & 0222) == 0) refuse(path, "one that is read-only");
    if (::access(target.path.c_str(), W_OK) != 0) refuse_output(path, errno);
  }
  if (target.way == Way::replace && ::access(folder_of(target.path).c_str(), W_OK | X_OK) != 0) {
    const int number = errno;
    refuse(path, fmt::format("{}, of its folder", std::strerror(number)));
  }
}

mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void refuse_output(const std::string& path, int error_number) { refuse(path, std::strerror(error_number)); }

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  const Target target = target_of(path_);
  check(path_, target);
  if (target.way == Way::descriptor) {
    descriptor_ = ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0);
  } else if (target.way == Way::stream) {
    descriptor_ = ::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | (S_ISREG(target.status.st_mode) ? O_TRUNC : 0));
  } else {
    const std::string name = fs::path(target.path).filename().string().substr(0, kLongestBeside);
    temporary_ = fmt::format("{}/.{}.XXXXXX.part", folder_of(target.path), name);
    descriptor_ = ::mkostemps(temporary_.data(), 5, O_CLOEXEC);
    if (descriptor_ < 0) {
      temporary_.clear();
      fail();
    }
    target_ = target.path;
    if (target.exists) {
      // Another owner's file stays that owner's where the system lets it.
      [[maybe_unused]] const int ignored = ::fchown(descriptor_, target.status.st_uid, target.status.st_gid);
      ::fchmod(descriptor_, target.status.st_mode & 07777);
    } else {
      ::fchmod(descriptor_, usual_mode());
    }
  }
  if (descriptor_ < 0) fail();
}

OutputFile::OutputFile(Plain, std::string path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail();
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) temporary_ = path_;
}

OutputFile OutputFile::in_place(std::string path) { return {Plain(), std::move(path)}; }

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

OutputFile::~OutputFile() { drop(); }

void OutputFile::drop() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_.empty()) ::unlink(std::exchange(temporary_, {}).c_str());
}

void OutputFile::fail() {
  const int number = errno;
  drop();
  refuse_output(path_, number);
}

void OutputFile::write(std::string_view text) {
  if (!write_whole(descriptor_, text)) fail();
}

void OutputFile::close() {
  // A name that survives the machine must not lead to a file that does not.
  if (!target_.empty() && !sync_file(descriptor_)) fail();
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
  if (!target_.empty() && !rename_path(temporary_, target_)) fail();
  temporary_.clear();
}

void check_output(const std::string& path) { check(path, target_of(path)); }

bool is_standard_output(const std::string& path) {
  const Target target = target_of(path);
  return target.way == Way::descriptor && target.descriptor == STDOUT_FILENO;
}

bool is_streamed(const std::string& path) {
  const Target target = target_of(path);
  return target.way == Way::descriptor || !(target.exists ? S_ISREG(target.status.st_mode) : true);
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.close();
}

std::string without_link(std::string path) {
  std::error_code none;
  if (fs::is_symlink(path, none)) fs::remove(path, none);
  return path;
}

std::string behind_links(const std::string& path) {
  std::string behind = path;
  for (int links = 0; follow(behind); ++links)
    if (links == kMostLinks) return path;
  return behind;
}

bool is_mount_point(const std::string& path) {
  struct statx status {};
  if (::statx(AT_FDCWD, path.c_str(), AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &status) == 0 &&
      (status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  struct stat here {
  }, above{};  // a kernel of before 5.8, which knows no better
  return ::stat(path.c_str(), &here) == 0 && S_ISDIR(here.st_mode) && ::stat((path + "/..").c_str(), &above) == 0 &&
         (here.st_dev != above.st_dev || here.st_ino == above.st_ino);
}

std::string OwnFolder::file(std::string_view name) const {
  check(!path_.empty(), fmt::format("{} is to be written by a run without a folder", name));
  check(!name.empty() && name != "." && name != ".." && name.find('/') == name.npos,
        fmt::format("{} is to be written outside the run's folder", name));
  return fmt::format("{}/{}", path_, name);
}

}  // namespace rehearse::sim
