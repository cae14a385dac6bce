// What the program carries beside its catalogue: the HTML report's page, and the scenarios' schema
// (scenario.schema.json).
#pragma once

#include <span>

#include "sim/base/embedded.hpp"

namespace rehearse::cli {

std::span<const sim::EmbeddedFile> embedded_files();

/// Empty when the program was built without it (cmake/report_page.cmake).
inline std::string_view report_page() { return sim::embedded_file(embedded_files(), "report_page.html"); }

}  // namespace rehearse::cli
