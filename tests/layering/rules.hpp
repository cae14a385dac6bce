// Who may see whom: ONE table, read against every #include of the source.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rehearse::tests {

/// A room of the house: a folder, and the rooms that its files may include from: those it is built on, and what they are built
/// on. A file belongs to the folder in which it lies. Every room may see itself.
struct Room {
  std::string_view path;
  std::vector<std::string_view> sees;
};

/// From the ground up: a room sees only rooms above it in this list, so nothing runs in a circle.
const std::vector<Room>& rooms();

/// A library's headers that only these rooms may include, or single files; everybody else goes through their own interfaces.
struct Fenced {
  std::string_view prefix;
  std::vector<std::string_view> owners;
};

const std::vector<Fenced>& fenced();

/// Every broken rule in a file's text as "path:line: #include ... : rule". `path` is relative to the repository's root.
std::vector<std::string> broken_rules(std::string_view path, std::string_view text);

}  // namespace rehearse::tests
