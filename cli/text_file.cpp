#include "cli/text_file.hpp"

#include <filesystem>

#include "sim/base/errors.hpp"

namespace rehearse::cli {

namespace {

const std::string& another_than(const std::string& input, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::equivalent(path, input, ignored))
    throw sim::InputError({.file = path, .expected = "another file than the one that is read", .found = "the same"});
  return path;
}

}  // namespace

TextFile::TextFile(const std::string& path, const std::string& input) : file_(another_than(input, path)) {}

void TextFile::flush() {
  file_.write(text);
  text.clear();
}

void TextFile::close() {
  flush();
  file_.close();
}

}  // namespace rehearse::cli
