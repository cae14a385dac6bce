// Rows of a results file, chosen by the values of columns.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rehearse::report {

/// COLUMN=VALUE: as text, or as numbers within 1e-9.
using Condition = std::pair<std::string, std::string>;

class PlotRows {
 public:
  /// These columns of the rows that meet the conditions. Throws sim::InputError when the file cannot be read, a column is missing
  /// or no row is left.
  PlotRows(const std::string& path, const std::vector<std::string>& columns, const std::vector<Condition>& where);

  std::size_t size() const { return rows_.size(); }
  const std::string& text(std::size_t row, std::string_view column) const;
  /// NaN where there is no number.
  double number(std::size_t row, std::string_view column) const;
  /// Values of the column, each once, in the file's order.
  std::vector<std::string> values(std::string_view column) const;
  /// Unless one value is left in the column, keeps the rows with `wanted`, or with the first value there is. Adds what it chose
  /// to `note`.
  void keep_one(std::string_view column, std::string& note, const std::string& wanted = {});

 private:
  std::size_t at(std::string_view column) const;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rehearse::report
