#include "sim/io/scratch_folder.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

namespace fs = std::filesystem;

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
  if (!error) fs::rename(path_, path, error);
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
