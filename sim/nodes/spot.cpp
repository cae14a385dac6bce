#include "sim/nodes/spot.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/errors.hpp"

namespace rehearse::sim {
namespace {

std::uint64_t key_of(const Pool& pool, int node, std::uint64_t seed, std::uint64_t repetition) {
  return stream_key(seed, repetition, "revocations", fmt::format("{}/{}", pool.name, node));
}

}  // namespace

NodeRevocations::NodeRevocations(const Cluster& cluster, PoolId pool, int node, std::uint64_t seed, std::uint64_t repetition)
    : pool_(cluster.pools[static_cast<std::size_t>(pool)]),
      id_(pool),
      node_(node),
      random_(key_of(pool_, node, seed, repetition)) {
  check(pool_.spot.has_value(), "a spot pool has rules");
  above_bid_ = next_above_bid();
  draw();
}

/// The clock of the node's own revocations stands still while it is away.
void NodeRevocations::draw() {
  random_at_s_ = pool_.spot->mean_up_s == kNever ? kNever : back_s_ + random_.exponential(pool_.spot->mean_up_s);
}

std::optional<Revocation> NodeRevocations::next_above_bid() {
  if (!pool_.prices_usd_per_hour) return std::nullopt;
  const auto& steps = pool_.prices_usd_per_hour->steps();
  const auto above = [&](std::size_t step) { return steps[step].value > pool_.spot->bid_usd_per_hour; };
  while (step_ < steps.size() && !above(step_)) ++step_;
  if (step_ == steps.size()) return std::nullopt;
  const double from_s = step_ == 0 ? 0 : steps[step_].time_s;
  while (step_ < steps.size() && above(step_)) ++step_;
  const double to_s = step_ == steps.size() ? kNever : steps[step_].time_s;
  return Revocation{.pool = id_, .node = node_, .time_s = from_s, .down_s = to_s - from_s, .warned_s = pool_.spot->warning_s};
}

std::optional<Revocation> NodeRevocations::next() {
  Revocation revocation{.pool = id_, .node = node_, .warned_s = pool_.spot->warning_s};
  if (above_bid_ && above_bid_->time_s <= random_at_s_) {
    revocation = *above_bid_;
    above_bid_ = next_above_bid();
    // What the node would have met by itself meanwhile does not happen.
  } else if (random_at_s_ != kNever) {
    revocation.time_s = random_at_s_;
    revocation.down_s = pool_.spot->down_s;
    // A price that rises while the node is away keeps it away.
    while (above_bid_ && above_bid_->time_s <= revocation.time_s + revocation.down_s) {
      revocation.down_s = std::max(revocation.down_s, above_bid_->time_s + above_bid_->down_s - revocation.time_s);
      above_bid_ = next_above_bid();
    }
  } else {
    return std::nullopt;
  }
  back_s_ = revocation.time_s + revocation.down_s;
  if (back_s_ == kNever) {
    above_bid_.reset();
    random_at_s_ = kNever;
  } else {
    draw();
  }
  return revocation;
}

}  // namespace rehearse::sim
