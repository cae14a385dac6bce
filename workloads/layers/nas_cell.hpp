// Cells of NAS-Bench-201 (Dong and Yang, "NAS-Bench-201: Extending the scope of reproducible neural architecture search", ICLR
// 2020, section 2.1): four nodes, and one of five operations on each of the six edges from an earlier to a later one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rehearse::workloads {

/// In this order kNasOpNames, as the benchmark has them.
enum class NasOp : std::uint8_t { none, skip_connect, conv_1x1, conv_3x3, avg_pool_3x3 };
inline constexpr std::array<std::string_view, 5> kNasOpNames{"none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3",
                                                             "avg_pool_3x3"};

/// By edge, in the order in which the benchmark writes them.
using NasCell = std::array<NasOp, 6>;
inline constexpr std::array<std::string_view, 6> kNasEdges{"0-1", "0-2", "1-2", "0-3", "1-3", "2-3"};

inline constexpr std::size_t kNasCells = 15625;  ///< 5^6
/// In [0, kNasCells); different for different cells.
std::size_t nas_cell_index(const NasCell& cell);

/// "|op~0|+|op~0|op~1|+|op~0|op~1|op~2|"; op~i takes node i's output. Nothing for other texts.
std::optional<NasCell> parse_nas_cell(std::string_view text);
std::string to_string(const NasCell& cell);

}  // namespace rehearse::workloads
