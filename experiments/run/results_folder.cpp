#include "experiments/run/results_folder.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "experiments/run/results_exchange.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::scenarios {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& path, std::string expected, std::string found) {
  throw sim::InputError({.file = path, .expected = std::move(expected), .found = std::move(found)});
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

ResultsFolder::ResultsFolder(ResultsPlace place) : place_(std::move(place)), part_(make_part_folder(place_)) {}

ResultsFolder::~ResultsFolder() {
  std::error_code ignored;
  if (!published_) fs::remove_all(part_.path, ignored);
  if (part_.lock >= 0) close(part_.lock);
}

std::string ResultsFolder::make_subfolder(const std::string& name) const {
  std::error_code error;
  fs::create_directory(part() + "/" + name, error);
  if (error) fail(part() + "/" + name, "a folder that can be written", error.message());
  return part() + "/" + name;
}

void ResultsFolder::drop_subfolder(const std::string& name) const {
  std::error_code ignored;
  fs::remove_all(part() + "/" + name, ignored);
}

void ResultsFolder::write(const std::string& name, std::string_view text) const {
  auto file = sim::OutputFile::in_place(part() + "/" + name);
  file.write(text);
  file.close();
}

void ResultsFolder::join(const std::string& name, std::string_view header, const std::vector<std::string>& files) const {
  const std::string target = part() + "/" + name;
  bool exists = false;
  for (const std::string& file : files) {
    std::error_code error;
    if (!fs::exists(file, error)) continue;
    if (exists)
      append(target, file, header.empty() ? 0 : header.size() + 1);
    else if (std::rename(file.c_str(), target.c_str()) != 0)
      fail(target, "a file that can be written", std::strerror(errno));
    exists = true;
  }
}

void ResultsFolder::publish() {
  write(kManifestFile, manifest_json(manifest_of(part(), place_.owner)));
  published_ = true;  // whatever comes now, the results stay
  exchange_results(part(), part_.target, place_.tell);
}

}  // namespace rehearse::scenarios
