#include "report/packed_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "report/row_writer.hpp"

namespace rehearse::report {

namespace {

std::string number_json(double value, Packing packing) {
  if (!std::isfinite(value)) return "null";
  if (packing == Packing::date) return fmt::format("{}", std::round(value * 100) / 100);
  return fmt::format("{:.6g}", value);
}

bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

PackedTable::PackedTable(std::vector<PackedColumn> columns) {
  for (PackedColumn& column : columns) columns_.push_back({.header = std::move(column)});
}

void PackedTable::add_text(std::string_view value) {
  Column& column = columns_[next_++];
  if (value.empty()) {
    column.codes.push_back(-1);
    return;
  }
  const auto [place, is_new] = column.code_of.try_emplace(std::string(value), static_cast<std::int32_t>(column.names.size()));
  if (is_new) column.names.emplace_back(value);
  column.codes.push_back(place->second);
}

void PackedTable::add_number(double value) { columns_[next_++].numbers.push_back(value); }

void PackedTable::end_row() {
  sim::check(next_ == columns_.size(), "a row has a field for each column");
  next_ = 0;
  ++rows_;
}

void PackedTable::keep(const std::function<bool(std::size_t row)>& is_kept) {
  std::vector<bool> wanted(rows_);
  for (std::size_t row = 0; row < rows_; ++row) wanted[row] = is_kept(row);
  for (Column& column : columns_) {
    const Column all = std::exchange(column, Column{.header = column.header});
    for (std::size_t row = 0; row < rows_; ++row) {
      if (!wanted[row]) continue;
      next_ = static_cast<std::size_t>(&column - columns_.data());
      if (column.header.packing == Packing::text)
        add_text(all.codes[row] < 0 ? std::string_view() : all.names[static_cast<std::size_t>(all.codes[row])]);
      else
        add_number(all.numbers[row]);
    }
  }
  next_ = 0;
  rows_ = static_cast<std::size_t>(std::count(wanted.begin(), wanted.end(), true));
}

std::string PackedTable::json(const Column& column) const {
  std::string text;
  if (column.header.packing == Packing::text) {
    const auto& codes = column.codes;
    if (std::all_of(codes.begin(), codes.end(), [&](std::int32_t code) { return code == codes.front(); }))
      return codes.empty() || codes.front() < 0 ? R"({"all":null})"
                                                : fmt::format(R"({{"all":{}}})", json_string(column.names.front()));
    for (const std::string& name : column.names) text += (text.empty() ? "" : ",") + json_string(name);
    return fmt::format(R"({{"names":[{}],"codes":[{}]}})", text, fmt::join(codes, ","));
  }
  const auto& numbers = column.numbers;
  const Packing packing = column.header.packing;
  if (std::all_of(numbers.begin(), numbers.end(), [&](double number) { return same_value(number, numbers.front()); }))
    return fmt::format(R"({{"all":{}}})", numbers.empty() ? "null" : number_json(numbers.front(), packing));
  for (const double number : numbers) text += (text.empty() ? "" : ",") + number_json(number, packing);
  return fmt::format(R"({{"numbers":[{}]}})", text);
}

std::string PackedTable::json() const {
  std::string text;
  for (const Column& column : columns_)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", json_string(column.header.name), json(column));
  return fmt::format(R"({{"rows":{},"columns":{{{}}}}})", rows_, text);
}

void for_each_row(const std::string& path, const sim::CsvColumns& columns, const std::function<void(sim::CsvRow&)>& visit) {
  if (!std::filesystem::exists(path)) return;
  sim::CsvReader csv(path, columns);
  sim::Mistakes mistakes;
  while (sim::CsvRow* row = csv.next()) {
    visit(*row);
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
  }
  mistakes.throw_if_any();
}

}  // namespace rehearse::report
