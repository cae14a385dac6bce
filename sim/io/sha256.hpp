// Fingerprints of the files that a run read, for its resolved scenario.
#pragma once

#include <string>
#include <string_view>

namespace rehearse::sim {

/// SHA-256 (FIPS 180-4) of a file's bytes, 64 lower-case hexadecimal digits. Throws InputError when the file cannot be read.
std::string sha256_of_file(const std::string& path);
/// Of a text's bytes.
std::string sha256_of_text(std::string_view text);

}  // namespace rehearse::sim
