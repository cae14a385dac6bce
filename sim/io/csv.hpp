// A streaming CSV reader (RFC 4180: comma, double quotes; line ends may be LF), plain or compressed with gzip or xz, by column
// name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::sim {

/// The columns that a reader asks for, by the names in the header line.
struct CsvColumns {
  std::vector<std::string> required;
  std::vector<std::string> optional;
  bool others_allowed = true;  ///< false: any other column is a mistake
  /// The names of all columns, of a file that has no line with them; empty: the first line has them.
  std::vector<std::string> fixed = {};
};

/// One row. A field that cannot be read is recorded in mistakes() (file, line, column's name, expected, found) and a harmless
/// value takes its place: who reads traces counts and lists bad rows, and goes on. Asking for a column that CsvColumns does not
/// name is a failed check.
class CsvRow {
 public:
  std::int64_t line() const { return line_; }  ///< on which it starts, from 1
  const std::vector<Mistake>& mistakes() const { return mistakes_; }

  /// Whether the column exists and the field is not empty.
  bool has(std::string_view column) const { return !field(column).empty(); }

  /// Good until the next row; a field that is no UTF-8 is a mistake, an empty one is not.
  std::string_view text(std::string_view column);
  /// An empty field, or no such column, is a mistake unless there is a fallback. Blanks around the number are skipped.
  double number(std::string_view column, const NumberRange& range = {}, std::optional<double> fallback = {});
  /// A date as sim::write_date writes it: on the grid.
  double date(std::string_view column, std::optional<double> fallback = {});
  /// 3600.0 is a whole number; 2^53 is not (NumberRange, kIntegerLimit).
  std::int64_t integer(std::string_view column, const NumberRange& range = {}, std::optional<std::int64_t> fallback = {});
  /// Nothing for an empty field or no such column.
  std::optional<double> maybe_number(std::string_view column, const NumberRange& range = {});
  std::optional<std::int64_t> maybe_integer(std::string_view column, const NumberRange& range = {});

  /// Records a mistake of the reader's own in this row: of meaning rather than form. `found` is the field.
  void refuse(std::string_view column, std::string expected);

 private:
  friend class CsvReader;
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  struct Column {
    std::string name;
    std::size_t position = kAbsent;  ///< among a row's fields
  };

  const Column& column(std::string_view name) const;
  std::string_view field(std::string_view column) const;
  double number_of(std::string_view column, std::string_view value, const NumberRange& range);
  std::int64_t integer_of(std::string_view column, std::string_view value, const NumberRange& range);
  void add(std::string_view column, std::string expected, std::string found);

  std::string file_;
  std::int64_t line_ = 0;
  std::vector<Column> columns_;
  mutable std::size_t asked_ = 0;  ///< the column found last: most readers then ask for the one behind it
  std::vector<std::string_view> fields_;
  std::vector<Mistake> mistakes_;
  bool is_whole_ = true;  ///< it has as many fields as the header; if not, that is its one mistake
};

class CsvReader {
 public:
  static constexpr std::size_t kMaxRowBytes = std::size_t{1} << 20;

  /// Opens the file and reads its header line. Throws InputError when the file cannot be read, is empty or is no text, and, all
  /// at once, for each required column that is missing and each column that may not be there.
  CsvReader(const std::string& path, const CsvColumns& columns);
  ~CsvReader();
  CsvReader(CsvReader&&) noexcept;
  CsvReader& operator=(CsvReader&&) noexcept;

  /// Whether the header names it. A column that CsvColumns does not name is a failed check.
  bool has_column(std::string_view column) const { return row_.column(column).position != CsvRow::kAbsent; }

  /// The next row that is not blank, good until the next call; nullptr at the end. A row with too many or too few fields has that
  /// as its mistake. Throws InputError where reading cannot go on: a row over kMaxRowBytes, a quote that is never closed, NUL
  /// characters (no text file), a damaged compressed file.
  CsvRow* next();

 private:
  class Source;
  bool read_row();
  void match_header(const CsvColumns& columns);

  std::unique_ptr<Source> source_;
  CsvRow row_;
  std::size_t field_count_ = 0;
};

// A text as a field of a CSV file (RFC 4180).

/// In double quotes where it must be; `out` is a std::string or a buffer that grows like one.
template <class Text>
void append_quoted_csv(Text& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) {
    out.append(text.data(), text.data() + text.size());
    return;
  }
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

/// Whether texts that a spreadsheet would take for a formula are written as texts, of all files from then on; off at first, since
/// other programs want cells as they are. Such a text (it begins with = + - @, a tab or a carriage return, and is no number) gets
/// a single quote before it.
void set_csv_safe(bool safe);
/// Asked for, and the text is such a one.
bool is_unsafe_cell(std::string_view text);

/// As append_quoted_csv, and safe where that was asked for.
template <class Text>
void append_csv_text(Text& out, std::string_view text) {
  if (is_unsafe_cell(text)) {
    const std::string quoted = "'" + std::string(text);
    append_quoted_csv(out, quoted);
  } else {
    append_quoted_csv(out, text);
  }
}

inline std::string csv_text(std::string_view text) {
  std::string out;
  append_csv_text(out, text);
  return out;
}

}  // namespace rehearse::sim
