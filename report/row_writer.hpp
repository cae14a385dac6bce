// Writes rows of CSV or JSON Lines into a file, through one large buffer. Errors surface at the latest in close().
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "sim/read/shown.hpp"

namespace rehearse::report {

class RowWriter {
 public:
  /// Creates the file; throws InputError when it cannot.
  explicit RowWriter(std::string path);
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;
  ~RowWriter();

  /// One field; fields of a row are separated by commas.
  RowWriter& text(std::string_view value);  ///< quoted where it must be (RFC 4180)
  RowWriter& number(double value);          ///< shortest form that reads back; empty for NaN
  RowWriter& integer(std::int64_t value);
  RowWriter& flag(bool value) { return text(value ? "true" : "false"); }
  RowWriter& empty() { return text({}); }
  void end_row();
  /// A whole line as it is.
  void line(std::string_view text);
  /// Writes what is left; throws InputError when the disk did not take it all.
  void close();

 private:
  void separate();
  void flush();
  std::string path_;
  std::FILE* file_ = nullptr;
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

using sim::json_string;

}  // namespace rehearse::report
