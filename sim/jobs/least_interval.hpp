// How close to each other periodic checkpoints may be.
#pragma once

namespace rehearse::sim {

/// Seconds of training between two of them, at least: those of the longest stage can still be counted, and no job writes one in
/// every step.
inline constexpr double kLeastCheckpointInterval_s = 1e-3;

}  // namespace rehearse::sim
