// The data files that the program carries: the catalogue of devices and instances.
#pragma once

#include <span>

#include "sim/base/embedded.hpp"

namespace rehearse::scenarios {

/// In order of name.
std::span<const sim::EmbeddedFile> embedded_files();

/// By its path from the repository's root, as in "sim/cluster/catalogue/devices.json"; it must be there.
inline std::string_view embedded_file(std::string_view name) { return sim::embedded_file(embedded_files(), name); }

}  // namespace rehearse::scenarios
