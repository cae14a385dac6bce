// Whether a file is still what was written: by its size and SHA-256, which another file has, or by a sum in itself.
#pragma once

#include <cstdint>
#include <string>

namespace rehearse::sim {

struct FileSum {
  std::uint64_t bytes = 0;
  std::string sha256 = {};  ///< 64 hexadecimal digits; empty: not known

  bool is_known() const { return !sha256.empty(); }
};

/// Throws InputError when the file cannot be read.
FileSum sum_of_file(const std::string& path);
/// As members of a JSON object: "bytes": 12, "sha256": "...".
std::string json_members(const FileSum& sum);

/// The size is looked at first. Throws InputError where the file is another or missing; `repair` says what to do, in a clause.
void check_file(const std::string& path, const FileSum& expected, const std::string& repair);

/// A JSON object of several lines, with the SHA-256 of its text as its last member, "sha256".
std::string sealed(std::string object);
/// The object without that member. One that has none, as an earlier version or another program has written it, is returned as it
/// is. Throws InputError, named `file`, where the text is not what was sealed.
std::string unsealed(std::string object, const std::string& file, const std::string& repair);

}  // namespace rehearse::sim
