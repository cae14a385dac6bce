// A text file written piece by piece: there under its name only when it is whole.
#pragma once

#include <string>

#include "sim/io/output_file.hpp"

namespace rehearse::cli {

class TextFile {
 public:
  /// Throws sim::InputError when it cannot be created, or is the file `input` that is read meanwhile.
  TextFile(const std::string& path, const std::string& input);

  /// What is to be written next: append to it, then call pass_on().
  std::string text;
  /// Hands large texts to the file.
  void pass_on() {
    if (text.size() >= kPiece) flush();
  }
  /// Throws sim::InputError when the disk did not take it all.
  void close();

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 20;
  void flush();
  sim::OutputFile file_;
};

}  // namespace rehearse::cli
