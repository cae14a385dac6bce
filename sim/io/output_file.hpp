// A file to be written. One that a user named is there under its name only when it is whole.
#pragma once

#include <string>
#include <string_view>

namespace rehearse::sim {

class OutputFile {
 public:
  /// Of a user's path (`-o`). A regular file, a link to one, or nothing yet: close() renames a temporary file beside it over what
  /// the path leads to, with its permissions. A pipe or a device is written to as it is, "-" is standard output. Throws
  /// InputError, as check_output does.
  explicit OutputFile(std::string path);
  /// Of a folder of our own: created, or emptied, under its name at once.
  static OutputFile in_place(std::string path);
  /// What was not closed is not there.
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& path() const { return path_; }
  /// Throws InputError when the disk does not take it all, saying why; nothing of the file is then left.
  void write(std::string_view text);
  /// Likewise.
  void close();

 private:
  struct Plain {};
  OutputFile(Plain, std::string path);
  [[noreturn]] void fail();
  void drop();

  std::string path_;       ///< as it was given
  std::string target_;     ///< what the temporary file is renamed to; empty: it is no such
  std::string temporary_;  ///< removed when the file does not become whole; empty: nothing to remove
  int descriptor_ = -1;
};

/// Whether the path can be written to, as far as can be told without writing. Throws InputError for a folder, a file that is read
/// only, one in a folder that is not there or cannot be written to, a socket.
void check_output(const std::string& path);

/// Whether the path is standard output, by whichever name.
bool is_standard_output(const std::string& path);

/// Whether it is a pipe or a device, or standard output: what is written there has no name to be found by later.
bool is_streamed(const std::string& path);

/// All of a user's file at once.
void write_file(const std::string& path, std::string_view text);

/// The path, which the program made up in a folder that may be a stranger's (report.html among results): a symbolic link that
/// stands there goes, so that nothing is written to what it leads to.
std::string without_link(std::string path);

/// What the path leads to through links, the last of which may lead to nothing; the path itself where links are no good.
std::string behind_links(const std::string& path);

/// Whether another file system begins at this file or folder: it cannot be renamed.
bool is_mount_point(const std::string& path);

/// "a file that can be written" was expected, and the system says why it is none. Throws InputError.
[[noreturn]] void refuse_output(const std::string& path, int error_number);

// The one folder that a run writes into, or none. Whatever writes a run's files asks it where: no run writes outside it.

class OwnFolder {
 public:
  /// None: nothing is to be written.
  OwnFolder() = default;
  /// A folder that exists; empty: none.
  OwnFolder(std::string path) : path_(std::move(path)) {}  // NOLINT: a path is a folder

  explicit operator bool() const { return !path_.empty(); }
  /// Empty of none.
  const std::string& path() const { return path_; }
  /// The path of a file in it. A failed check when there is none, or the name would lead out of it.
  std::string file(std::string_view name) const;

 private:
  std::string path_;
};

}  // namespace rehearse::sim
