#include "sim/base/units.hpp"

#include <fmt/format.h>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

void refuse_whole(double value, std::string_view what, double most) {
  throw InputError(
      {.pointer = std::string(what), .expected = fmt::format("less than {:.4g}", most), .found = fmt::format("{:.6g}", value)});
}

}  // namespace rehearse::sim
