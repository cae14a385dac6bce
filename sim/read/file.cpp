#include "sim/read/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/read/shown.hpp"

namespace rehearse::sim {

namespace {

[[noreturn]] void refuse(const std::string& path, std::string expected, std::string found) {
  constexpr std::size_t kLongestPath = 4096;
  throw InputError(Mistake{
      .file = path.empty() ? "\"\"" : printable(path, kLongestPath), .expected = std::move(expected), .found = std::move(found)});
}

[[noreturn]] void refuse_unreadable(const std::string& path) {
  refuse(path, "a readable file", errno == ENOENT ? "no such file" : fmt::format("an error: {}", std::strerror(errno)));
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  if (path.find('\0') != std::string::npos) refuse(path, "a file's name", "a name with a NUL character");
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) refuse_unreadable(path);
  if (S_ISDIR(status.st_mode)) refuse(path, "a readable file", "a directory");
  if (S_ISREG(status.st_mode)) bytes_ = static_cast<std::size_t>(status.st_size);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) refuse_unreadable(path);
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t InputFile::read(char* into, std::size_t count) {
  while (true) {
    const ::ssize_t got = ::read(descriptor_, into, count);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) refuse_unreadable(path_);
  }
}

int InputFile::release() { return std::exchange(descriptor_, -1); }

std::string read_file(const std::string& path, std::size_t max_bytes) {
  const auto refuse_size = [&] { refuse(path, fmt::format("a file of at most {} MiB", max_bytes >> 20), "a larger one"); };
  InputFile file(path);
  if (file.bytes() > max_bytes) refuse_size();
  std::string text;
  text.resize(file.bytes() + 1);  // one more, so that a file of the announced size ends without growing the buffer
  std::size_t used = 0;
  while (const std::size_t got = file.read(text.data() + used, text.size() - used)) {
    used += got;
    if (used > max_bytes) refuse_size();
    if (used == text.size()) text.resize(std::max<std::size_t>(std::size_t{1} << 16, 2 * used));
  }
  text.resize(used);
  return text;
}

std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace rehearse::sim
