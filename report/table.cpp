#include "report/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "report/row_writer.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"

namespace rehearse::report {

namespace {

std::string shown(const Cell& cell, const Column& column) {
  if (const auto* text = std::get_if<std::string>(&cell)) return text->empty() ? "-" : *text;
  const double value = std::get<double>(cell);
  if (column.format.empty() || !std::isfinite(value)) return sim::figure(value, 4);
  return fmt::format(fmt::runtime(column.format), value);
}

std::string json_cell(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return json_string(*text);
  return json_number(std::get<double>(cell));
}

}  // namespace

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  if (value == 0) return "0";
  if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

void write_csv(const std::string& path, const Table& table) {
  RowWriter out(path);
  for (const Column& column : table.columns) out.text(column.name);
  out.end_row();
  for (const auto& row : table.rows) {
    sim::check(row.size() == table.columns.size(), "a row has as many cells as its table has columns");
    for (const Cell& cell : row) {
      if (const auto* text = std::get_if<std::string>(&cell))
        out.text(*text);
      else if (const double value = std::get<double>(cell); std::isfinite(value))
        out.number(value);
      else
        out.empty();
    }
    out.end_row();
  }
  out.close();
}

std::string table_json(const Table& table) {
  std::string text = "[";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    text += r == 0 ? "\n      {" : ",\n      {";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      text += fmt::format("{}{}: {}", c == 0 ? "" : ", ", json_string(table.columns[c].name), json_cell(table.rows[r][c]));
    text += "}";
  }
  return text + "]";
}

std::string table_text(const Table& table, std::size_t width) {
  return table.title.empty() ? std::string() : table.title + "\n" + aligned(table, width);
}

std::string aligned(const Table& table, std::size_t width) {
  std::vector<std::vector<std::string>> rows(1);
  std::vector<bool> left;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].heading.empty()) continue;
    rows.front().push_back(table.columns[c].heading);
    left.push_back(!table.rows.empty() && std::holds_alternative<std::string>(table.rows.front()[c]));
  }
  for (const auto& row : table.rows) {
    rows.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c)
      if (!table.columns[c].heading.empty()) rows.back().push_back(shown(row[c], table.columns[c]));
  }
  return aligned(rows, left, {}, width);
}

namespace {

// Select Graphic Rendition (ECMA-48): bold green, red, yellow; and back.
constexpr std::string_view kBest = "\x1b[1;32m", kFailed = "\x1b[31m", kBroken = "\x1b[33m", kPlain = "\x1b[0m";

/// Blanks between columns: two, or one where the table then needs no second block.
std::size_t gap_of(const std::vector<std::size_t>& widths, std::size_t most) {
  const std::size_t columns = std::accumulate(widths.begin(), widths.end(), std::size_t{0}), gaps = widths.size() - 1;
  return columns + 2 * gaps > most && columns + gaps <= most ? 1 : 2;
}

/// The columns by which the rows are told apart, each from the left that parts some of those still alike; the first alone where
/// these would leave no room beside them, or where some rows stay alike.
std::vector<std::size_t> key_columns(const std::vector<std::vector<std::string>>& rows, const std::vector<std::size_t>& widths,
                                     std::size_t gap, std::size_t most) {
  constexpr double kMostOfWidth = 0.75;
  std::vector<std::vector<std::string>> keys;
  for (const auto& row : rows)
    if (row.size() == widths.size()) keys.emplace_back();
  std::vector<std::size_t> key;
  std::size_t used = 0, parts = std::min<std::size_t>(1, keys.size());
  for (std::size_t c = 0; c < widths.size() && (key.empty() || parts < keys.size()); ++c) {
    std::vector<std::vector<std::string>> finer = keys;
    std::size_t r = 0;
    for (const auto& row : rows)
      if (row.size() == widths.size()) finer[r++].push_back(row[c]);
    const std::size_t found = std::set<std::vector<std::string>>(finer.begin(), finer.end()).size();
    if (!key.empty() && found == parts) continue;
    key.push_back(c);
    used += widths[c] + gap;
    keys = std::move(finer);
    parts = found;
  }
  if (parts < keys.size() || static_cast<double>(used) > kMostOfWidth * static_cast<double>(most)) key.resize(1);
  return key;
}

/// The columns of each block: those of the key, and as many of the others as fit beside them, at least one, in their order.
std::vector<std::vector<std::size_t>> blocks_of(const std::vector<std::size_t>& widths, const std::vector<std::size_t>& key,
                                                std::size_t gap, std::size_t most) {
  std::size_t key_width = (key.size() - 1) * gap;
  for (const std::size_t c : key) key_width += widths[c];
  std::vector<std::vector<std::size_t>> blocks{key};
  std::size_t used = key_width;
  for (std::size_t c = 0; c < widths.size(); ++c) {
    if (std::find(key.begin(), key.end(), c) != key.end()) continue;
    if (used + gap + widths[c] > most && blocks.back().size() > key.size()) {
      blocks.push_back(key);
      used = key_width;
    }
    blocks.back().push_back(c);
    used += gap + widths[c];
  }
  for (std::vector<std::size_t>& block : blocks) std::sort(block.begin(), block.end());
  return blocks;
}

/// A line that is too wide because of its last cell, which begins there, in several: words of it go on below the cell.
std::vector<std::string> lines_of(std::string line, std::size_t last_cell, std::size_t most) {
  constexpr std::size_t kLeastWords = 20;
  std::vector<std::string> lines;
  while (line.size() > most && last_cell + kLeastWords <= most) {
    std::size_t end = line.rfind(' ', most);
    if (end == line.npos || end <= last_cell) end = line.find(' ', most);  // of a word alone that is too wide
    if (end == line.npos) break;
    lines.push_back(line.substr(0, line.find_last_not_of(' ', end) + 1));
    line = std::string(last_cell, ' ') + line.substr(end + 1);
  }
  lines.push_back(std::move(line));
  return lines;
}

}  // namespace

std::string painted(std::string_view text, Tone tone) {
  const std::string_view colour = tone == Tone::best ? kBest : tone == Tone::failed ? kFailed : kBroken;
  return tone == Tone::plain ? std::string(text) : fmt::format("{}{}{}", colour, text, kPlain);
}

const std::vector<std::string_view>& colour_sequences() {
  static const std::vector<std::string_view> all{kBest, kFailed, kBroken, kPlain};
  return all;
}

std::string aligned(const std::vector<std::vector<std::string>>& given, const std::vector<bool>& left,
                    const std::vector<Tone>& tones, std::size_t width) {
  const std::size_t columns = given.front().size();
  std::vector<std::vector<std::string>> rows;
  for (const auto& row : given) {
    rows.emplace_back();
    for (const std::string& cell : row) rows.back().push_back(sim::printable(cell, sim::kWholeText));
  }
  std::vector<std::size_t> widths(columns, 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; row.size() == columns && c < columns; ++c) widths[c] = std::max(widths[c], row[c].size());
  std::string text;
  const std::size_t gap = gap_of(widths, width);
  const std::vector<std::vector<std::size_t>> blocks = blocks_of(widths, key_columns(rows, widths, gap, width), gap, width);
  for (const std::vector<std::size_t>& block : blocks) {
    const bool is_first = &block == &blocks.front();
    if (!is_first) text += "\n";
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (rows[r].size() < columns && !is_first) continue;
      std::string line;
      std::size_t last_cell = 0;
      for (const std::size_t c : block) {
        if (c >= rows[r].size()) break;
        last_cell = line.size();
        line += left[c] ? fmt::format("{:<{}}", rows[r][c], widths[c]) : fmt::format("{:>{}}", rows[r][c], widths[c]);
        line.append(gap, ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      for (const std::string& part : lines_of(std::move(line), last_cell, width))
        text += painted(part, tones.empty() ? Tone::plain : tones[r]) + "\n";
      if (r > 0) continue;
      std::size_t total = 0;
      for (const std::size_t c : block) total += widths[c] + gap;
      text += std::string(std::min(total - gap, width), '-') + "\n";
    }
  }
  return text;
}

}  // namespace rehearse::report
