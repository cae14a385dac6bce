#include "workloads/layers/nas_cell.hpp"

#include <algorithm>

namespace rehearse::workloads {

namespace {

/// What stands before the operation of each edge, and after the last one.
constexpr std::array<std::string_view, 7> kBefore{"|", "~0|+|", "~0|", "~1|+|", "~0|", "~1|", "~2|"};

}  // namespace

std::size_t nas_cell_index(const NasCell& cell) {
  std::size_t index = 0;
  for (const NasOp op : cell) index = index * kNasOpNames.size() + static_cast<std::size_t>(op);
  return index;
}

std::optional<NasCell> parse_nas_cell(std::string_view text) {
  NasCell cell{};
  for (std::size_t edge = 0; edge < cell.size(); ++edge) {
    if (!text.starts_with(kBefore[edge])) return std::nullopt;
    text.remove_prefix(kBefore[edge].size());
    const auto op = std::find(kNasOpNames.begin(), kNasOpNames.end(), text.substr(0, text.find('~')));
    if (op == kNasOpNames.end()) return std::nullopt;
    cell[edge] = static_cast<NasOp>(op - kNasOpNames.begin());
    text.remove_prefix(op->size());
  }
  return text == kBefore.back() ? std::optional(cell) : std::nullopt;
}

std::string to_string(const NasCell& cell) {
  std::string text;
  for (std::size_t edge = 0; edge < cell.size(); ++edge)
    text.append(kBefore[edge]).append(kNasOpNames[static_cast<std::size_t>(cell[edge])]);
  return text.append(kBefore.back());
}

}  // namespace rehearse::workloads
