// The one folder that a run writes into, or none. Whatever writes a run's files asks it where: no run writes outside it.
#pragma once

#include <string>
#include <string_view>

namespace rehearse::sim {

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
