// A file for a test, removed at its end.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content, const std::string& ending = {}) {
    std::string name = (std::filesystem::temp_directory_path() / "rehearse_test_XXXXXX").string() + ending;
    ::close(::mkstemps(name.data(), static_cast<int>(ending.size())));
    path_ = name;
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};
