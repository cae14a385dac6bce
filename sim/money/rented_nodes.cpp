#include "sim/money/rented_nodes.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace rehearse::sim {

RentedNodes::RentedNodes(const Pool& pool, double usd_per_node_s, double minimum_s, bool as_one)
    : prices_(pool.prices_usd_per_hour ? &*pool.prices_usd_per_hour : nullptr),
      usd_per_node_s_(usd_per_node_s),
      minimum_s_(minimum_s),
      nodes_in_one_(as_one ? pool.nodes : 1),
      nodes_(as_one ? 1 : static_cast<std::size_t>(pool.nodes)) {}

double RentedNodes::usd(double from_s, double to_s) const {
  if (to_s <= from_s) return 0;
  return nodes_in_one_ *
         (prices_ != nullptr ? prices_->integral(from_s, to_s) / kSecondsPerHour : usd_per_node_s_ * (to_s - from_s));
}

RentedNodes::Node& RentedNodes::advanced(double now_s, int index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  if (node.held > 0) {
    const double more_usd = usd(std::max(node.since_s, node.paid_until_s), now_s) / node.held;
    (node.jobs == 1 ? node.per_device.alone_usd : node.per_device.shared_usd) += more_usd;
  }
  node.since_s = now_s;
  return node;
}

NodeRent RentedNodes::take(double now_s, PoolId pool, int index, double devices) {
  Node& node = advanced(now_s, index);
  if (node.held == 0) {
    ++rented_;
    // Until then it is paid for; who takes it at the very date at which it was let go keeps it from being given back.
    if (now_s > node.paid_until_s) node.rented_since_s = now_s;
    node.billed_from_s = std::max(now_s, node.paid_until_s);
  }
  node.held += devices;
  ++node.jobs;
  return {.pool = pool, .node = index, .devices = devices, .per_device = node.per_device};
}

RentCharge RentedNodes::settle(double now_s, NodeRent& rent) {
  const Node& node = advanced(now_s, rent.node);
  const RentCharge since = std::exchange(rent.per_device, node.per_device);
  return {.alone_usd = rent.devices * (node.per_device.alone_usd - since.alone_usd),
          .shared_usd = rent.devices * (node.per_device.shared_usd - since.shared_usd)};
}

RentCharge RentedNodes::give_back(double now_s, NodeRent& rent) {
  RentCharge charged = settle(now_s, rent);
  Node& node = nodes_[static_cast<std::size_t>(rent.node)];
  node.held -= rent.devices;
  --node.jobs;
  check(node.held >= 0, "a rented node's devices are given back twice", now_s);
  if (node.held > 0) return charged;
  const double end_s = std::max(now_s, node.rented_since_s + minimum_s_);
  charged.alone_usd += usd(std::max(now_s, node.paid_until_s), end_s);
  ended_usd_ += usd(node.billed_from_s, end_s);
  node.paid_until_s = std::max(node.paid_until_s, end_s);
  --rented_;
  return charged;
}

}  // namespace rehearse::sim
