#include "sim/base/embedded.hpp"

#include <string>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

std::string_view embedded_file(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files)
    if (file.name == name) return file.bytes;
  fail_check("no embedded file is called " + std::string(name));
}

}  // namespace rehearse::sim
