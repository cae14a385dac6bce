#include "sim/nodes/node_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace rehearse::sim {

std::string_view name_of(NodeChange change) {
  switch (change) {
    case NodeChange::failed:
      return "node_failed";
    case NodeChange::repaired:
      return "node_repaired";
    case NodeChange::slow:
      return "node_slow";
    case NodeChange::normal:
      return "node_normal";
    case NodeChange::announced:
      return "maintenance_announced";
    case NodeChange::closed:
      return "maintenance_begins";
    case NodeChange::opened:
      return "maintenance_ends";
    case NodeChange::warned:
      return "spot_warned";
    case NodeChange::revoked:
      return "spot_revoked";
    case NodeChange::replaced:
      return "spot_replaced";
  }
  return "";
}

std::string node_name(const Cluster& cluster, PoolId pool, int node) {
  return fmt::format("{}/{}", cluster.pools[static_cast<std::size_t>(pool)].name, node);
}

bool has_node_events(const Cluster& cluster, const NodeRules& rules) {
  return rules.outages.law != FailureLaw::none || !rules.measured.empty() || rules.slow.between_s != kNever ||
         !rules.maintenance.empty() ||
         std::any_of(cluster.pools.begin(), cluster.pools.end(), [](const Pool& pool) { return pool.spot.has_value(); });
}

double failure_rate(const Cluster& cluster, const NodeRules& rules, PoolId pool) {
  double rate = rules.outages.law == FailureLaw::none ? 0 : 1 / rules.outages.mtbf_s;
  double outages = 0, span_s = 0;
  for (const Outage& outage : rules.measured) {
    outages += outage.pool == pool;
    span_s = std::max(span_s, outage.time_s + outage.down_s);
  }
  const Pool& of = cluster.pools[static_cast<std::size_t>(pool)];
  if (outages > 0) rate += outages / span_s / of.nodes;
  if (of.spot) rate += 1 / of.spot->mean_up_s;
  return rate;
}

double mtbf_s(std::span<const double> rates, const Configuration& configuration, const Layout& layout) {
  double rate = 0;
  for (std::size_t g = 0; g < layout.size(); ++g)
    for (std::size_t i = 0; i < layout[g].size(); ++i)  // parts of one node stand next to each other
      if (i == 0 || layout[g][i].node != layout[g][i - 1].node)
        rate += rates[static_cast<std::size_t>(configuration.groups[g].pool)];
  return rate > 0 ? 1 / rate : kNever;
}

NodeEvents::NodeEvents(const Cluster& cluster, const NodeRules& rules) : rules_(rules) {
  if (rules.outages.law != FailureLaw::none || rules.slow.between_s != kNever) add_streams_of_nodes(cluster);
  add_measured();
  for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
    if (!cluster.pools[p].spot) continue;
    const auto pool = static_cast<PoolId>(p);
    for (int node = 0; node < cluster.pools[p].nodes; ++node) {
      streams_.push_back({.kind = Kind::spot, .pool = pool, .node = node, .first = spot_nodes_.size()});
      spot_nodes_.push_back({.revocations = {cluster, pool, node, rules.seed, rules.repetition}, .now = {}});
    }
  }
  for (std::size_t m = 0; m < rules.maintenance.size(); ++m) {
    const Maintenance& window = rules.maintenance[m];
    streams_.push_back(
        {.kind = Kind::maintenance, .pool = window.pool, .node = window.first_node, .nodes = window.nodes, .first = m});
  }
}

void NodeEvents::add_streams_of_nodes(const Cluster& cluster) {
  for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
    for (int node = 0; node < cluster.pools[p].nodes; ++node) {
      const auto pool = static_cast<PoolId>(p);
      const auto add = [&](Kind kind, std::string_view purpose) {
        const Random random(stream_key(rules_.seed, rules_.repetition, purpose, node_name(cluster, pool, node)));
        streams_.push_back({.kind = kind, .pool = pool, .node = node, .random = random});
      };
      if (rules_.outages.law != FailureLaw::none) add(Kind::outages, "failures");
      if (rules_.slow.between_s != kNever) add(Kind::slow, "stragglers");
    }
  }
}

void NodeEvents::add_measured() {
  std::vector<Outage> sorted = rules_.measured;
  std::sort(sorted.begin(), sorted.end(), [](const Outage& a, const Outage& b) {
    return std::tie(a.pool, a.node, a.time_s, a.down_s) < std::tie(b.pool, b.node, b.time_s, b.down_s);
  });
  for (const Outage& outage : sorted) {
    const bool same_node = !measured_.empty() && measured_.back().pool == outage.pool && measured_.back().node == outage.node;
    if (same_node && outage.time_s <= measured_.back().time_s + measured_.back().down_s) {
      Outage& before = measured_.back();
      before.down_s = std::max(before.down_s, outage.time_s + outage.down_s - before.time_s);
      continue;
    }
    if (!same_node)
      streams_.push_back({.kind = Kind::measured, .pool = outage.pool, .node = outage.node, .first = measured_.size()});
    measured_.push_back(outage);
    streams_.back().end = measured_.size();
  }
}

/// Weibull's law by inversion; its mean is scale x Gamma(1 + 1/shape).
double NodeEvents::time_up(Random& random) const {
  const Outages& o = rules_.outages;
  if (o.law == FailureLaw::exponential) return random.exponential(o.mtbf_s);
  return o.mtbf_s / std::tgamma(1 + 1 / o.shape) * std::pow(random.exponential(1), 1 / o.shape);
}

double NodeEvents::time_down(Random& random) const {
  const Outages& o = rules_.outages;
  return o.repair == RepairLaw::fixed ? o.repair_s : random.exponential(o.repair_s);
}

NodeEvent NodeEvents::next_outage(Stream& stream) const {
  const bool fails = stream.count % 2 == 0;
  const double seconds = fails ? time_up(stream.random) : time_down(stream.random);
  return {.date_s = on_date_grid(stream.last_s + seconds), .change = fails ? NodeChange::failed : NodeChange::repaired};
}

NodeEvent NodeEvents::next_spell(Stream& stream) const {
  const bool slow = stream.count % 2 == 0;
  const double seconds = stream.random.exponential(slow ? rules_.slow.between_s : rules_.slow.lasts_s);
  return {.date_s = on_date_grid(stream.last_s + seconds), .change = slow ? NodeChange::slow : NodeChange::normal};
}

NodeEvent NodeEvents::next_measured(const Stream& stream) const {
  const std::size_t index = stream.first + stream.count / 2;
  if (index == stream.end) return {};
  const Outage& outage = measured_[index];
  if (stream.count % 2 == 0) return {.date_s = on_date_grid(outage.time_s), .change = NodeChange::failed};
  return {.date_s = on_date_grid(outage.time_s + outage.down_s), .change = NodeChange::repaired};
}

NodeEvent NodeEvents::next_maintenance(const Stream& stream) const {
  const Maintenance& window = rules_.maintenance[stream.first];
  const std::uint64_t round = stream.count / 3;
  if (round > 0 && window.every_s == kNever) return {};
  const double start_s = window.start_s + (round > 0 ? static_cast<double>(round) * window.every_s : 0);
  switch (stream.count % 3) {
    case 0:
      return {.date_s = on_date_grid(std::max(0.0, start_s - window.announced_s)), .change = NodeChange::announced};
    case 1:
      return {.date_s = on_date_grid(start_s), .change = NodeChange::closed};
    default:
      return {.date_s = on_date_grid(start_s + window.duration_s), .change = NodeChange::opened};
  }
}

NodeEvent NodeEvents::next_revocation(const Stream& stream) {
  SpotNode& node = spot_nodes_[stream.first];
  switch (stream.count % 3) {
    case 0: {
      const auto next = node.revocations.next();
      if (!next) return {};
      node.now = *next;
      return {.date_s = on_date_grid(std::max(stream.last_s, node.now.time_s - node.now.warned_s)), .change = NodeChange::warned};
    }
    case 1:
      return {.date_s = on_date_grid(node.now.time_s), .change = NodeChange::revoked};
    default:
      if (node.now.down_s == kNever) return {};
      return {.date_s = on_date_grid(node.now.time_s + node.now.down_s), .change = NodeChange::replaced};
  }
}

NodeEvent NodeEvents::next(std::size_t stream) {
  Stream& s = streams_[stream];
  const auto draw = [&]() -> NodeEvent {
    switch (s.kind) {
      case Kind::outages:
        return next_outage(s);
      case Kind::slow:
        return next_spell(s);
      case Kind::measured:
        return next_measured(s);
      case Kind::maintenance:
        return next_maintenance(s);
      case Kind::spot:
        return next_revocation(s);
    }
    return {};
  };
  NodeEvent event = draw();
  event.pool = s.pool;
  event.first_node = s.node;
  event.nodes = s.nodes;
  s.last_s = event.date_s;
  ++s.count;
  return event;
}

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
  missing_ = next_missing();
  away_ = next_away();
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

/// The last nodes of the pool are those that the cloud does not have.
std::optional<Revocation> NodeRevocations::next_missing() {
  if (!pool_.spot->availability) return std::nullopt;
  const RecordedCapacity& of = *pool_.spot->availability;
  const auto& steps = of.nodes.steps();
  const bool repeats = of.repeat_s != kNever;
  const auto missing = [&](std::size_t step) { return steps[step % steps.size()].value <= node_; };
  // Dates of the run; the first step counts from the series' beginning, or from the end of the lap before.
  const auto begin_s = [&](std::size_t step) {
    const std::size_t lap = step / steps.size();
    const double lap_s = lap == 0 ? 0 : static_cast<double>(lap) * of.repeat_s;
    return (step % steps.size() == 0 ? lap_s : lap_s + steps[step % steps.size()].time_s) - of.offset_s;
  };
  const auto exists = [&](std::size_t step) { return repeats || step < steps.size(); };
  while (exists(nodes_step_ + 1) && begin_s(nodes_step_ + 1) <= 0) ++nodes_step_;  // before date 0
  std::size_t looked = 0;
  while (exists(nodes_step_) && !missing(nodes_step_)) {
    if (++looked > steps.size()) return std::nullopt;  // a whole lap: never
    ++nodes_step_;
  }
  if (!exists(nodes_step_)) return std::nullopt;
  const double from_s = std::max(0.0, begin_s(nodes_step_));
  for (looked = 0; exists(nodes_step_) && missing(nodes_step_) && looked <= steps.size(); ++looked) ++nodes_step_;
  const double to_s = exists(nodes_step_) && looked <= steps.size() ? begin_s(nodes_step_) : kNever;
  return Revocation{.pool = id_, .node = node_, .time_s = from_s, .down_s = to_s - from_s, .warned_s = pool_.spot->warning_s};
}

/// What both the price and the availability take away, as one absence where they meet.
std::optional<Revocation> NodeRevocations::next_away() {
  std::optional<Revocation> first;
  const auto take = [&](std::optional<Revocation>& from, auto next) {
    if (!from) return false;
    if (first && from->time_s > first->time_s + first->down_s) return false;
    if (first)
      first->down_s = std::max(first->down_s, from->time_s + from->down_s - first->time_s);
    else
      first = from;
    from = from->down_s == kNever ? std::nullopt : next();
    return true;
  };
  const auto take_price = [&] { return take(above_bid_, [this] { return next_above_bid(); }); };
  const auto take_missing = [&] { return take(missing_, [this] { return next_missing(); }); };
  const bool price_first = above_bid_ && (!missing_ || above_bid_->time_s <= missing_->time_s);
  if (!(price_first ? take_price() : take_missing())) return std::nullopt;
  while (first->down_s != kNever && (take_price() || take_missing())) {
  }
  return first;
}

std::optional<Revocation> NodeRevocations::next() {
  Revocation revocation{.pool = id_, .node = node_, .warned_s = pool_.spot->warning_s};
  if (away_ && away_->time_s <= random_at_s_) {
    revocation = *away_;
    away_ = next_away();
    // What the node would have met by itself meanwhile does not happen.
  } else if (random_at_s_ != kNever) {
    revocation.time_s = random_at_s_;
    revocation.down_s = pool_.spot->down_s;
    // A price that rises while the node is away keeps it away.
    while (away_ && away_->time_s <= revocation.time_s + revocation.down_s) {
      revocation.down_s = std::max(revocation.down_s, away_->time_s + away_->down_s - revocation.time_s);
      away_ = next_away();
    }
  } else {
    return std::nullopt;
  }
  back_s_ = revocation.time_s + revocation.down_s;
  if (back_s_ == kNever) {
    away_.reset();
    random_at_s_ = kNever;
  } else {
    draw();
  }
  return revocation;
}

}  // namespace rehearse::sim
