// Files that users name, and folders for a while.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rehearse::sim {

// Reading and writing files that users name.

/// A file, pipe or device open for reading.
class InputFile {
 public:
  /// Throws InputError when `path` does not exist, is a directory or may not be read.
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Its size as the file system tells it; 0 for pipes and the like.
  std::size_t bytes() const { return bytes_; }
  /// Reads at most `count` bytes; 0 at the end. Throws InputError.
  std::size_t read(char* into, std::size_t count);
  /// Hands the file descriptor over to the caller, who closes it.
  int release();

 private:
  std::string path_;
  std::size_t bytes_ = 0;
  int descriptor_ = -1;
};

/// Or a link to one: what gives its bytes once, may never be written to, or has no end.
bool is_pipe_or_device(const std::string& path);
/// Of a file that others name. Throws InputError for a pipe, a device or a socket.
void require_regular(const std::string& path);
/// Of a folder that may be a stranger's. Throws InputError where it has, at any depth, a pipe, a device or a socket, or a link to
/// one: whoever reads it might wait for ever. A path that is no folder is passed over.
void refuse_pipes_in(const std::string& folder);
/// Of a folder that is written into. Throws InputError where it has, at any depth, a symbolic link: what it leads to is not the
/// folder's. A path that is no folder is passed over.
void refuse_links_in(const std::string& folder);

/// Whether a path that a file gives leads out of the folder that it is meant in, or is no path of a file in it.
bool leads_out(const std::string& path);

/// The whole file. Throws InputError also when it holds more than `max_bytes`.
std::string read_file(const std::string& path, std::size_t max_bytes);

/// The whole of a file of the program's own; empty when it is not there.
std::string text_of_file(const std::string& path);

// Fingerprints of the files that a run read, for its resolved scenario.

/// SHA-256 (FIPS 180-4) of a file's bytes, 64 lower-case hexadecimal digits. Throws InputError when the file cannot be read.
std::string sha256_of_file(const std::string& path);
/// Of a text's bytes.
std::string sha256_of_text(std::string_view text);

// A folder for a while: gone, with all that is in it, when it goes out of scope.

class ScratchFolder {
 public:
  /// Of a new name that begins with `stem`, a path in a folder that is there, for its user alone. Throws InputError.
  explicit ScratchFolder(const std::string& stem);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Kept under a name that is free, on the same file system, with the rights that new folders have. Throws InputError.
  void keep_as(const std::string& path);

 private:
  std::string path_;  ///< empty: kept
};

/// A stem in the system's folder for temporary files. Throws InputError when there is no such folder.
std::string temporary_stem(const std::string& name);

}  // namespace rehearse::sim
