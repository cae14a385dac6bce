#include "sim/io/own_folder.hpp"

#include <fmt/format.h>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

std::string OwnFolder::file(std::string_view name) const {
  check(!path_.empty(), fmt::format("{} is to be written by a run without a folder", name));
  check(!name.empty() && name != "." && name != ".." && name.find('/') == name.npos,
        fmt::format("{} is to be written outside the run's folder", name));
  return fmt::format("{}/{}", path_, name);
}

}  // namespace rehearse::sim
