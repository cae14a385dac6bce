// Data files that are part of the program itself (cmake/embed.cmake).
#pragma once

#include <span>
#include <string_view>

namespace rehearse::sim {

struct EmbeddedFile {
  std::string_view name;   ///< its path from the repository's root
  std::string_view bytes;  ///< for the program's whole life; not null-terminated
};

/// The bytes of the file of that name. That it is among `files` is a check: names are written in the program, not given.
std::string_view embedded_file(std::span<const EmbeddedFile> files, std::string_view name);

}  // namespace rehearse::sim
