#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "report/plots/kinds.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/base/units.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::report {

namespace {

double number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value)
             ? value
             : std::numeric_limits<double>::quiet_NaN();
}

bool meets(std::string_view value, std::string_view wanted) {
  if (value == wanted) return true;
  const double a = number_of(value), b = number_of(wanted);
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

}  // namespace

PlotRows::PlotRows(const std::string& path, const std::vector<std::string>& columns, const std::vector<Condition>& where)
    : columns_(columns) {
  for (const auto& [column, value] : where) {
    sim::CsvReader(path, {.required = {column}, .optional = {}});  // alone: the nearest name is sought among all of the file's
    if (std::find(columns_.begin(), columns_.end(), column) == columns_.end()) columns_.push_back(column);
  }
  std::vector<std::set<std::string>> there(where.size());  // values of each condition's column
  sim::CsvReader file(path, {.required = columns_, .optional = {}});
  while (sim::CsvRow* row = file.next()) {
    std::vector<std::string>& fields = rows_.emplace_back();
    for (const std::string& column : columns_) fields.emplace_back(row->text(column));
    if (!row->mistakes().empty()) throw sim::InputError(row->mistakes());
    for (std::size_t c = 0; c < where.size(); ++c) there[c].insert(fields[at(where[c].first)]);
    // Of each column that is named, one of the values that are named with it.
    const auto is_wanted = [&](const Condition& condition) {
      return std::ranges::any_of(where, [&](const Condition& other) {
        return other.first == condition.first && meets(fields[at(other.first)], other.second);
      });
    };
    if (!std::ranges::all_of(where, is_wanted)) rows_.pop_back();
  }
  for (std::size_t c = 0; c < where.size(); ++c)
    if (std::ranges::none_of(there[c], [&](const std::string& value) { return meets(value, where[c].second); }))
      throw sim::InputError({.file = path,
                             .expected = fmt::format("rows with --where {}={}", where[c].first, where[c].second),
                             .found = "none",
                             .nearest = sim::nearest_name(where[c].second, std::vector(there[c].begin(), there[c].end()))});
  if (rows_.empty())
    throw sim::InputError(
        {.file = path, .expected = where.empty() ? "rows to draw" : "rows that meet every --where", .found = "none"});
}

std::size_t PlotRows::at(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  sim::check(found != columns_.end(), "a column that was not asked for");
  return static_cast<std::size_t>(found - columns_.begin());
}

const std::string& PlotRows::text(std::size_t row, std::string_view column) const { return rows_[row][at(column)]; }

double PlotRows::number(std::size_t row, std::string_view column) const { return number_of(text(row, column)); }
double PlotRows::date(std::size_t row, std::string_view column) const { return sim::on_date_grid(number(row, column)); }

std::vector<std::string> PlotRows::values(std::string_view column) const {
  std::vector<std::string> values;
  for (std::size_t r = 0; r < rows_.size(); ++r)
    if (std::find(values.begin(), values.end(), text(r, column)) == values.end()) values.push_back(text(r, column));
  return values;
}

void PlotRows::keep_one(std::string_view column, std::string& note, const std::string& wanted) {
  const std::vector<std::string> all = values(column);
  if (all.size() < 2) return;
  const std::string chosen = std::find(all.begin(), all.end(), wanted) == all.end() ? all.front() : wanted;
  const std::size_t place = at(column);
  std::erase_if(rows_, [&](const std::vector<std::string>& row) { return row[place] != chosen; });
  note += fmt::format("{}{}={}", note.empty() ? "" : ", ", column, chosen);
}

}  // namespace rehearse::report
