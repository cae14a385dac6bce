#include "scenarios/results_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sim/base/errors.hpp"
#include "sim/read/file.hpp"

namespace rehearse::scenarios {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& path, std::string expected, std::string found) {
  throw sim::InputError({.file = path, .expected = std::move(expected), .found = std::move(found)});
}

/// Our summary.json begins with the scenario's name.
bool holds_our_results(const fs::path& folder) {
  std::ifstream file(folder / "summary.json");
  std::string first, second;
  return std::getline(file, first) && std::getline(file, second) && first == "{" && second.starts_with("  \"scenario\": ");
}

class File {
 public:
  File(const std::string& path, int flags) : path_(path), fd_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(path, "a file that can be opened", std::strerror(errno));
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  std::string path_;
  int fd_;
};

void append(const std::string& target, const std::string& source, std::size_t skip) {
  const File to(target, O_WRONLY), from(source, O_RDONLY);
  lseek(to.fd(), 0, SEEK_END);
  off_t offset = static_cast<off_t>(skip);
  for (;;) {
    const ssize_t moved = sendfile(to.fd(), from.fd(), &offset, 1u << 30);
    if (moved < 0) fail(target, "a file that can be written", std::strerror(errno));
    if (moved == 0) return;
  }
}

}  // namespace

ResultsFolder::ResultsFolder(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  std::error_code error;
  const fs::file_status status = fs::status(path_, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status)) fail(path_, "a folder for the results", "a file");
    if (!fs::is_empty(path_, error) && !holds_our_results(path_))
      fail(path_, "a folder that is new, empty or holds earlier results", "a folder with other files");
  }
  error.clear();  // a folder that does not exist yet is no error
  part_ = fmt::format("{}.{}.part", path_, getpid());
  error.clear();  // a folder that does not exist yet is one
  const fs::path parent = fs::path(path_).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  if (!error) fs::create_directory(part_, error);
  if (error) fail(path_, "a folder that can be written", error.message());
}

ResultsFolder::~ResultsFolder() {
  std::error_code ignored;
  if (!published_) fs::remove_all(part_, ignored);
}

std::string ResultsFolder::make_subfolder(const std::string& name) const {
  std::error_code error;
  fs::create_directory(part_ + "/" + name, error);
  if (error) fail(part_ + "/" + name, "a folder that can be written", error.message());
  return part_ + "/" + name;
}

void ResultsFolder::drop_subfolder(const std::string& name) const {
  std::error_code ignored;
  fs::remove_all(part_ + "/" + name, ignored);
}

void ResultsFolder::write(const std::string& name, std::string_view text) const { sim::write_file(part_ + "/" + name, text); }

void ResultsFolder::join(const std::string& name, std::string_view header, const std::vector<std::string>& files) const {
  const std::string target = part_ + "/" + name;
  bool exists = false;
  for (const std::string& file : files) {
    if (!fs::exists(file)) continue;
    if (exists)
      append(target, file, header.empty() ? 0 : header.size() + 1);
    else
      fs::rename(file, target);
    exists = true;
  }
}

void ResultsFolder::publish() {
  std::error_code error;
  const std::string old = fmt::format("{}.{}.old", path_, getpid());
  const bool replaces = fs::exists(path_);
  if (replaces) fs::rename(path_, old, error);
  if (!error) fs::rename(part_, path_, error);
  if (error) {
    std::error_code ignored;
    if (replaces) fs::rename(old, path_, ignored);
    fail(path_, "a folder that can be replaced", error.message());
  }
  published_ = true;
  if (replaces) fs::remove_all(old, error);
}

}  // namespace rehearse::scenarios
