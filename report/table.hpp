// A table that a study leaves: a CSV file, a list in summary.json, and text on the terminal.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace rehearse::report {

/// NaN and infinity are "undefined": an empty field, null, "-".
using Cell = std::variant<double, std::string>;

struct Column {
  std::string name;               ///< in files, with the unit as its ending: step_s (docs/reference/metrics.md)
  std::string heading;            ///< on the terminal; empty: not shown there
  std::string format = "{:.4g}";  ///< of a number on the terminal (fmt)
};

struct Table {
  std::string name;   ///< of the CSV file, without its ending; empty: the table is only shown
  std::string title;  ///< one line above it on the terminal; empty: the table is only written
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< as many cells as columns
};

/// Throws sim::InputError when the file cannot be written.
void write_csv(const std::string& path, const Table& table);
/// A JSON list with an object for each row.
std::string table_json(const Table& table);
/// For a terminal; empty when the table is only written.
std::string table_text(const Table& table);

/// Rows of text in columns, a line under the first row. Columns are flush right unless `left` says otherwise. A row with fewer
/// cells than the first does not widen its columns.
std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& left);

/// A number in JSON: null when it is not finite.
std::string json_number(double value);

}  // namespace rehearse::report
