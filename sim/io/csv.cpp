#include "sim/io/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "sim/base/text.hpp"
#include "sim/base/units.hpp"
#include "sim/io/csv_source.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::sim {

namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  return begin == text.npos ? std::string_view{} : text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// The whole text as a finite number.
std::optional<double> parsed(std::string_view text) {
  text = trimmed(text);
  double x = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || rest != text.data() + text.size() || !NumberRange{}.contains(x)) return std::nullopt;
  return x;
}

std::string found(std::string_view field) { return field.empty() ? "nothing" : shown(field); }

std::string list_of(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return printable(text, 4096);  // a terminal wraps it
}

/// What stands between the columns' names instead of commas; empty when it may be commas.
std::string_view wrong_separator(std::span<const std::string_view> header, const CsvColumns& columns) {
  if (header.size() != 1 || columns.required.size() < 2) return {};
  if (header[0].find(';') != std::string_view::npos) return "semicolons";
  if (header[0].find('\t') != std::string_view::npos) return "tabs";
  return {};
}

}  // namespace

const CsvRow::Column& CsvRow::column(std::string_view name) const {
  if (++asked_ < columns_.size() && columns_[asked_].name == name) return columns_[asked_];
  for (asked_ = 0; asked_ < columns_.size(); ++asked_)
    if (columns_[asked_].name == name) return columns_[asked_];
  fail_check(fmt::format("no column \"{}\" was asked for", name));
}

std::string_view CsvRow::field(std::string_view name) const {
  const std::size_t position = column(name).position;
  return position < fields_.size() ? fields_[position] : std::string_view{};
}

void CsvRow::add(std::string_view column, std::string expected, std::string what) {
  if (!is_whole_) return;  // which field is which is unknown
  mistakes_.push_back(
      {.file = file_, .line = line_, .pointer = std::string(column), .expected = std::move(expected), .found = std::move(what)});
}

void CsvRow::refuse(std::string_view column, std::string expected) { add(column, std::move(expected), found(field(column))); }

std::string_view CsvRow::text(std::string_view column) {
  const std::string_view value = field(column);
  if (is_utf8(value)) return value;
  refuse(column, "UTF-8 text");
  return {};
}

double CsvRow::number_of(std::string_view column, std::string_view value, const NumberRange& range) {
  const std::optional<double> x = parsed(value);
  if (x && range.contains(*x)) return *x;
  refuse(column, range.describe());
  return range.some();
}

std::int64_t CsvRow::integer_of(std::string_view column, std::string_view value, const NumberRange& range) {
  const std::optional<double> x = parsed(value);
  std::string expected = x ? integer_expectation(*x, range) : range.describe("a whole number");
  if (expected.empty()) return static_cast<std::int64_t>(*x);
  refuse(column, std::move(expected));
  return static_cast<std::int64_t>(range.some());
}

double CsvRow::number(std::string_view column, const NumberRange& range, std::optional<double> fallback) {
  const std::string_view value = field(column);
  return value.empty() && fallback ? *fallback : number_of(column, value, range);
}

double CsvRow::date(std::string_view column, std::optional<double> fallback) {
  return on_date_grid(number(column, {}, fallback));
}

std::int64_t CsvRow::integer(std::string_view column, const NumberRange& range, std::optional<std::int64_t> fallback) {
  const std::string_view value = field(column);
  return value.empty() && fallback ? *fallback : integer_of(column, value, range);
}

std::optional<double> CsvRow::maybe_number(std::string_view column, const NumberRange& range) {
  const std::string_view value = field(column);
  return value.empty() ? std::nullopt : std::optional(number_of(column, value, range));
}

std::optional<std::int64_t> CsvRow::maybe_integer(std::string_view column, const NumberRange& range) {
  const std::string_view value = field(column);
  return value.empty() ? std::nullopt : std::optional(integer_of(column, value, range));
}

CsvReader::CsvReader(const std::string& path, const CsvColumns& columns) : source_(std::make_unique<Source>(path)) {
  row_.file_ = path;
  if (!columns.fixed.empty()) {
    row_.fields_.assign(columns.fixed.begin(), columns.fixed.end());
    match_header(columns);
    return;
  }
  if (!read_row())
    throw InputError(Mistake{.file = path, .expected = "a line with the columns' names", .found = "an empty file"});
  if (!row_.mistakes_.empty()) throw InputError(row_.mistakes_);
  match_header(columns);
}

CsvReader::~CsvReader() = default;
CsvReader::CsvReader(CsvReader&&) noexcept = default;
CsvReader& CsvReader::operator=(CsvReader&&) noexcept = default;

void CsvReader::match_header(const CsvColumns& columns) {
  std::vector<std::string_view> header;
  for (const std::string_view name : row_.fields_) header.push_back(trimmed(name));
  field_count_ = header.size();
  if (const std::string_view separator = wrong_separator(header, columns); !separator.empty())
    throw InputError(Mistake{
        .file = row_.file_, .line = row_.line_, .expected = "columns separated by commas", .found = std::string(separator)});

  std::vector<std::string> wanted = columns.required, strangers;
  wanted.insert(wanted.end(), columns.optional.begin(), columns.optional.end());
  const auto is_wanted = [&wanted](std::string_view name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  for (const std::string_view name : header)
    if (!is_wanted(name)) strangers.emplace_back(name);

  Mistakes mistakes;
  const Mistake here{.file = row_.file_, .line = row_.line_};
  const auto add = [&](std::string expected, std::string what, std::string nearest) {
    Mistake mistake = here;
    mistake.expected = std::move(expected);
    mistake.found = std::move(what);
    mistake.nearest = std::move(nearest);
    mistakes.add(std::move(mistake));
  };
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto at = std::find(header.begin(), header.end(), wanted[i]);
    const bool missing = at == header.end(), is_required = i < columns.required.size();
    row_.columns_.push_back({wanted[i], missing ? CsvRow::kAbsent : static_cast<std::size_t>(at - header.begin())});
    if (missing && is_required) {
      const std::string nearest = nearest_name(wanted[i], strangers);
      add(fmt::format("a column \"{}\"", wanted[i]), nearest.empty() ? list_of(header) : shown(nearest), {});
    }
    if (!missing && std::find(at + 1, header.end(), wanted[i]) != header.end())
      add("each column once", shown(wanted[i]) + " again", {});
  }
  // Columns are found by going through their names: those that rows have, which alone are asked for in every row, come first.
  std::stable_partition(row_.columns_.begin(), row_.columns_.end(),
                        [](const CsvRow::Column& column) { return column.position != CsvRow::kAbsent; });
  if (!columns.others_allowed)
    for (const std::string& name : strangers) add({}, "unknown column " + shown(name), nearest_name(name, wanted));
  mistakes.throw_if_any();
}

bool CsvReader::read_row() {
  row_.mistakes_.clear();
  row_.is_whole_ = true;
  row_.fields_.clear();
  const CsvLine line = source_->next_line(row_.fields_);
  row_.line_ = line.number;
  if (!line.exists) return false;
  if (line.bad_quote_field > 0)
    row_.add({}, "a comma or the line's end behind a closing quote", fmt::format("more text in field {}", line.bad_quote_field));
  return true;
}

CsvRow* CsvReader::next() {
  if (!read_row()) return nullptr;
  if (row_.fields_.size() != field_count_)
    row_.add({}, fmt::format("{} fields", field_count_), fmt::format("{}", row_.fields_.size()));
  row_.is_whole_ = row_.mistakes_.empty();
  return &row_;
}

namespace {

bool csv_safe = false;

}  // namespace

void set_csv_safe(bool safe) { csv_safe = safe; }

bool is_unsafe_cell(std::string_view text) {
  return csv_safe && !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos && !parsed(text);
}

}  // namespace rehearse::sim
