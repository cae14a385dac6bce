// On a table of measured runs of several tasks.
#pragma once

#include <cstdint>

namespace rehearse::policies {

/// Whether runs of a task tell of the others'.
enum class TaskTransfer : std::uint8_t {
  held_out,  ///< as far as its runs, before they were seen, were foretold better with the others' than without
  together,
  apart,
};

}  // namespace rehearse::policies
