#include "sim/base/version.hpp"

namespace rehearse::sim {

std::string_view program_version() { return REHEARSE_VERSION; }

}  // namespace rehearse::sim
