#include "sim/io/disk.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

namespace {

/// In memory that children share, so that the Nth is the Nth of all processes.
struct Fault {
  std::atomic<long> left;  ///< operations until it strikes
  bool kills;
};
Fault* fault = nullptr;  // of tests: null in every other process

/// Whether this operation is the one that goes wrong; the half of it is done first.
template <class Half>
bool goes_wrong(Half&& half) {
  if (fault == nullptr || fault->left.fetch_sub(1) != 1) return false;
  half();
  if (fault->kills) ::raise(SIGKILL);
  errno = EIO;
  return true;
}

bool write_plainly(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

bool write_whole(int descriptor, std::string_view text) {
  if (goes_wrong([&] { write_plainly(descriptor, text.substr(0, text.size() / 2)); })) return false;
  return write_plainly(descriptor, text);
}

bool append_rest(int to, int from) {
  std::vector<char> buffer(std::size_t{1} << 18);
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    if (!write_whole(to, {buffer.data(), static_cast<std::size_t>(got)})) return false;
  }
}

bool rename_path(const std::string& from, const std::string& to, unsigned flags) {
  if (goes_wrong([] {})) return false;
  if (flags == 0) return std::rename(from.c_str(), to.c_str()) == 0;
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0;
}

bool sync_file(int descriptor) {
  if (goes_wrong([] {})) return false;
  return ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS || errno == ENOTSUP;
}

void sync_path(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == EACCES) return;  // a folder of others that may only be passed through
  const bool is_synced = descriptor >= 0 && sync_file(descriptor);
  const int number = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!is_synced) throw InputError({.file = path, .expected = "a file that the disk takes", .found = std::strerror(number)});
}

void sync_folder(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (!entry->is_symlink()) sync_path(entry->path());
  if (error) throw InputError({.file = folder, .expected = "a folder that can be read", .found = error.message()});
  sync_path(folder);
}

void break_disk(const char* setting) {
  if (setting == nullptr || *setting == '\0') return;
  const std::string_view text = setting;
  const bool kills = text.starts_with("tear:");
  long number = 0;
  const auto [end, error] = std::from_chars(setting + 5, setting + text.size(), number);
  if (!(kills || text.starts_with("fail:")) || error != std::errc() || end != setting + text.size() || number < 1)
    throw InputError(
        {.file = "REHEARSE_TEST_FAIL_IO", .expected = "\"fail:N\" or \"tear:N\" (it is for tests)", .found = setting});
  void* shared = ::mmap(nullptr, sizeof(Fault), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  check(shared != MAP_FAILED, "no memory to share");
  fault = new (shared) Fault{.left = number, .kills = kills};
}

}  // namespace rehearse::sim
