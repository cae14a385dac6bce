// The lines of a text file, plain or compressed with gzip or xz, one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/io/byte_source.hpp"

namespace rehearse::sim {

class LineReader {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

  /// Throws InputError as ByteSource does. A byte-order mark is skipped.
  explicit LineReader(const std::string& path);

  /// The next line without its end (LF or CR LF), good until the next call; false at the end. Throws InputError for a line over
  /// kMaxLineBytes, NUL characters and a damaged file.
  bool next(std::string_view& line);
  std::int64_t line_number() const { return line_number_; }  ///< of the line that next() gave, from 1

 private:
  bool fill();
  std::string path_;
  ByteSource source_;
  static constexpr std::size_t kBufferBytes = 2 * kMaxLineBytes;
  std::unique_ptr<char[]> buffer_;  ///< a short file touches little of it
  std::size_t begin_ = 0, end_ = 0;
  bool at_end_ = false;
  std::int64_t line_number_ = 0;
};

}  // namespace rehearse::sim
