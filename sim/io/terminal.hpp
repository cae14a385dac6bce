// The terminal behind a file.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>

namespace rehearse::sim {

/// Its width: what the environment's COLUMNS says, else the terminal itself. Nothing where there is no terminal, or none that
/// says.
std::optional<std::size_t> terminal_columns(std::FILE* file);

}  // namespace rehearse::sim
