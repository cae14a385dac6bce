#include "sim/io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/disk.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::sim {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const std::string& path, std::string expected, std::string found, std::string nearest = {}) {
  constexpr std::size_t kLongestPath = 4096;
  throw InputError(Mistake{.file = path.empty() ? "\"\"" : printable(path, kLongestPath),
                           .expected = std::move(expected),
                           .found = std::move(found),
                           .nearest = std::move(nearest)});
}

/// A file of this name one folder deeper or higher up, or of nearly this name beside it: what was moved, or mistyped.
std::string nearest_file(const fs::path& path) {
  if (!path.has_filename()) return {};
  constexpr int kMostEntries = 10'000;
  std::error_code none;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (const fs::path above = folder.lexically_normal().parent_path() / path.filename();
      fs::is_regular_file(above, none) && above != path)
    return above;
  std::vector<std::string> names, deeper;
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (++seen > kMostEntries) return {};
    if (entry.is_regular_file(none) && entry.path().extension() == path.extension()) names.push_back(entry.path().stem());
    if (const fs::path inside = entry.path() / path.filename(); entry.is_directory(none) && fs::is_regular_file(inside, none))
      deeper.push_back(path.has_parent_path() ? inside : inside.lexically_normal());
  }
  if (!deeper.empty()) return *std::min_element(deeper.begin(), deeper.end());
  std::sort(names.begin(), names.end());
  const std::string name = nearest_name(path.stem().string(), names);
  return name.empty() ? name : (path.parent_path() / (name + path.extension().string())).string();
}

[[noreturn]] void refuse_unreadable(const std::string& path) {
  if (errno != ENOENT) refuse(path, "a readable file", fmt::format("an error: {}", std::strerror(errno)));
  refuse(path, "a readable file", "no such file", nearest_file(path));
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

bool is_pipe_or_device(const std::string& path) {
  std::error_code none;
  return fs::is_other(fs::status(path.c_str(), none));
}

void require_regular(const std::string& path) {
  if (is_pipe_or_device(path)) refuse(path, "a regular file", "a pipe, a device or a socket");
}

void refuse_pipes_in(const std::string& folder) {
  std::error_code none;
  for (fs::recursive_directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none))
    require_regular(entry->path());
}

void refuse_links_in(const std::string& folder) {
  std::error_code none;
  for (fs::recursive_directory_iterator entry(folder, none), end; !none && entry != end; entry.increment(none))
    if (entry->is_symlink(none)) refuse(entry->path(), "a file or folder of its own", "a link to elsewhere");
}

bool leads_out(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return path.empty() || normal.is_absolute() || normal.filename().empty() || *normal.begin() == ".." || *normal.begin() == "." ||
         path.find('\0') != path.npos;
}

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

std::string sha256_of_file(const std::string& path) {
  InputFile file(path);
  SHA2_CTX state;
  SHA256Init(&state);
  std::vector<char> buffer(std::size_t{1} << 18);
  while (const std::size_t got = file.read(buffer.data(), buffer.size()))
    SHA256Update(&state, reinterpret_cast<const std::uint8_t*>(buffer.data()), got);
  std::array<char, SHA256_DIGEST_STRING_LENGTH> digits{};
  SHA256End(&state, digits.data());
  return digits.data();
}

std::string sha256_of_text(std::string_view text) {
  std::array<char, SHA256_DIGEST_STRING_LENGTH> digits{};
  SHA256Data(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(), digits.data());
  return digits.data();
}

ScratchFolder::ScratchFolder(const std::string& stem) : path_(stem + "_XXXXXX") {
  if (::mkdtemp(path_.data()) == nullptr)
    throw InputError({.file = path_, .expected = "a temporary folder that can be made", .found = std::strerror(errno)});
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void ScratchFolder::keep_as(const std::string& path) {
  const mode_t taken = ::umask(0);  // it can only be read by setting it
  ::umask(taken);
  std::error_code error;
  fs::permissions(path_, static_cast<fs::perms>(0777 & ~taken), error);
  sync_folder(path_);
  if (!error && !rename_path(path_, path)) error.assign(errno, std::generic_category());
  if (error) throw InputError({.file = path, .expected = "a name that is free", .found = error.message()});
  path_.clear();
}

std::string temporary_stem(const std::string& name) {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (error) throw InputError({.file = "TMPDIR", .expected = "a folder for temporary files", .found = error.message()});
  return (folder / name).string();
}

}  // namespace rehearse::sim
