// YAML as the JSON that it stands for: maps, lists and scalars of YAML 1.2's core schema (yaml.org/spec/1.2.2, 10.3). `no` and
// `on` are texts. Anchors, aliases, tags and several documents are refused: nobody needs them to say what he has.
#pragma once

#include <string>
#include <string_view>

#include "sim/io/json.hpp"

namespace rehearse::sim {

inline constexpr std::size_t kMaxYamlBytes = std::size_t{16} << 20;

/// Mistakes in the document name the line of the YAML file, and no column. Throws InputError for what is no YAML.
JsonDocument parse_yaml(std::string_view text, const std::string& file);

/// parse_yaml of a file whose name ends in .yaml or .yml, else read_json_file.
JsonDocument read_document(const std::string& path);

}  // namespace rehearse::sim
