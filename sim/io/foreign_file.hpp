// Files in other programs' formats, recognised by what they hold, then by name: nothing here reads them.
#pragma once

#include <cstddef>
#include <string_view>

namespace rehearse::sim {

/// As many bytes of a file as its format is recognised by.
inline constexpr std::size_t kHeadBytes = std::size_t{1} << 16;

/// What a file with these first bytes is, and how the user gets a file from it that Rehearse reads; empty when its bytes are
/// text, or binary and neither they nor the name's ending are in the table (ONNX).
std::string_view foreign_file(std::string_view head, std::string_view path);

}  // namespace rehearse::sim
