// A folder for a while: gone, with all that is in it, when it goes out of scope.
#pragma once

#include <string>

namespace rehearse::sim {

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
