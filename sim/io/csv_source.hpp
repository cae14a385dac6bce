// Lines of a CSV file, split into fields; used by csv.cpp alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/csv.hpp"
#include "sim/io/text_input.hpp"

namespace rehearse::sim {

struct CsvLine {
  bool exists = false;              ///< false at the file's end
  std::int64_t number = 0;          ///< of its first line in the file
  std::size_t bad_quote_field = 0;  ///< the first field, from 1, with text behind its closing quote; 0 if there is none
};

class CsvReader::Source {
 public:
  explicit Source(const std::string& path);

  /// Appends the fields of the next line that is not blank. They lie in a buffer and are good until the next call.
  CsvLine next_line(std::vector<std::string_view>& fields);

 private:
  bool fill();  ///< reads on, keeping what is not used yet; false at the file's end
  char* find_line_end();
  void split(char* begin, char* end, std::vector<std::string_view>& fields);
  std::size_t split_quoted(char* begin, char* end, std::vector<std::string_view>& fields);
  [[noreturn]] void refuse(std::string expected, std::string found, std::int64_t lines_further = 0) const;

  std::string path_;
  ByteSource file_;
  static constexpr std::size_t kBufferBytes = 2 * kMaxRowBytes;
  std::unique_ptr<char[]> buffer_;  ///< a short file touches little of it
  char* begin_;                     ///< what is read and not used yet
  char* end_;
  bool at_end_ = false;
  std::int64_t line_ = 1;  ///< at begin_
};

}  // namespace rehearse::sim
