// Writes rows of CSV or JSON Lines into a file, through one large buffer. Errors surface at the latest in close(); what was not
// closed is not there.
#pragma once

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "sim/io/output_file.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::report {

class RowWriter {
 public:
  /// Creates a file of a folder of our own; throws InputError when it cannot.
  explicit RowWriter(std::string path) : RowWriter(sim::OutputFile::in_place(std::move(path))) {}
  /// Of a path that the user gave: sim::OutputFile(path).
  explicit RowWriter(sim::OutputFile file) : file_(std::move(file)) {}
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  /// One field; fields of a row are separated by commas.
  RowWriter& text(std::string_view value);  ///< quoted where it must be (RFC 4180)
  RowWriter& word(std::string_view value);  ///< as it stands: one of ours that needs no quotes, or fields that have theirs
  RowWriter& number(double value);          ///< shortest form that reads back; empty for NaN
  RowWriter& date(double value);            ///< sim::write_date; empty for NaN
  RowWriter& integer(std::int64_t value);
  RowWriter& flag(bool value) { return word(value ? "true" : "false"); }
  RowWriter& empty() { return word({}); }
  void end_row();
  /// A whole line as it is.
  void line(std::string_view text);
  /// Writes what is left; throws InputError when the disk did not take it all.
  void close();

 private:
  /// Where the next field begins, behind its comma; it may take so many bytes, and ends with finish_field().
  char* begin_field(std::size_t most_bytes);
  RowWriter& finish_field(const char* end);
  void flush();
  char* write_fraction(double value, char* to);
  sim::OutputFile file_;
  bool is_closed_ = false;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0, used_ = 0;
  bool first_ = true;
  /// The last fractions and their digits: a row of a job says some of its money three times.
  struct Fraction {
    double value = 0;
    std::size_t size = 0;
    std::array<char, 32> digits{};
  };
  std::array<Fraction, 4> fractions_;
  std::size_t oldest_ = 0;
};

using sim::json_string;

}  // namespace rehearse::report
