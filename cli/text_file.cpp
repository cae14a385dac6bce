#include "cli/text_file.hpp"

#include <cstdio>
#include <filesystem>
#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::cli {

namespace {

[[noreturn]] void refuse(const std::string& path) {
  throw sim::InputError({.file = path, .expected = "a file that can be written", .found = "an error"});
}

}  // namespace

TextFile::TextFile(std::string path, const std::string& input) : path_(std::move(path)) {
  std::error_code ignored;
  if (std::filesystem::equivalent(path_, input, ignored))
    throw sim::InputError({.file = path_, .expected = "another file than the one that is read", .found = "the same"});
  part_ = path_ + ".part";
  file_.open(part_, std::ios::binary);
  if (!file_) refuse(path_);
}

TextFile::~TextFile() {
  if (!part_.empty()) std::remove(part_.c_str());
}

void TextFile::flush() {
  file_ << text;
  text.clear();
  if (!file_) refuse(path_);
}

void TextFile::close() {
  flush();
  file_.close();
  if (!file_ || std::rename(part_.c_str(), path_.c_str()) != 0) refuse(path_);
  part_.clear();
}

}  // namespace rehearse::cli
