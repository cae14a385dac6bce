// The store behind JsonDocument, shared by its sources alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_input.hpp"

namespace rehearse::sim {

/// A value or a key. Nodes stand in document order: a container's are followed by those of its elements (a member's are its key,
/// then its value), so that an index and `next` are all the structure there is.
struct JsonNode {
  struct Slice {
    std::uint32_t begin, size;
  };
  std::uint32_t offset;       ///< of the token's first byte in JsonTree::text
  std::uint32_t kind : 3;     ///< JsonKind
  std::uint32_t decoded : 1;  ///< a string that lies in JsonTree::decoded, because it had escapes
  std::uint32_t next : 28;    ///< index of the node behind this one and all that it holds
  union {
    double number;
    Slice string;
    std::uint32_t size;  ///< elements or members of a container; a boolean's 0 or 1
  };
};
static_assert(sizeof(JsonNode) == 16 && 2 * kMaxJsonValues < (std::size_t{1} << 28));

struct JsonTree {
  /// text from `begin` up to the next source's came from `file`.
  struct Source {
    std::size_t begin;
    std::string file;
    bool has_lines;
    bool has_columns = true;
  };
  std::string text;     ///< of all sources, one behind the other
  std::string decoded;  ///< strings that had escapes, without them
  std::vector<JsonNode> nodes;
  std::vector<Source> sources;

  JsonKind kind(std::uint32_t index) const { return static_cast<JsonKind>(nodes[index].kind); }
  std::string_view string(std::uint32_t index) const {
    const JsonNode& node = nodes[index];
    return std::string_view(node.decoded ? decoded : text).substr(node.string.begin, node.string.size);
  }
  /// A number as it was written.
  std::string_view number_token(std::uint32_t index) const;
  /// A mistake with the file, line and column of a byte of `text`; columns count characters, not bytes.
  Mistake at(std::size_t offset) const;
};

inline constexpr std::string_view kNumberCharacters = "+-.0123456789eE";

/// Throws InputError.
JsonTree parse_json_tree(std::string text, std::string file);

}  // namespace rehearse::sim
