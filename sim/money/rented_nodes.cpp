#include "sim/money/rented_nodes.hpp"

#include <algorithm>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace rehearse::sim {

RentedNodes::RentedNodes(const Pool& pool, double usd_per_node_s, double minimum_s)
    : prices_(pool.prices_usd_per_hour ? &*pool.prices_usd_per_hour : nullptr),
      usd_per_node_s_(usd_per_node_s),
      minimum_s_(minimum_s),
      nodes_(static_cast<std::size_t>(pool.nodes)) {}

double RentedNodes::usd(double from_s, double to_s) const {
  if (to_s <= from_s) return 0;
  return prices_ != nullptr ? prices_->integral(from_s, to_s) / kSecondsPerHour : usd_per_node_s_ * (to_s - from_s);
}

RentedNodes::Node& RentedNodes::advanced(double now_s, int index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  if (node.held > 0) node.usd_per_device += usd(std::max(node.since_s, node.paid_until_s), now_s) / node.held;
  node.since_s = now_s;
  return node;
}

NodeRent RentedNodes::take(double now_s, PoolId pool, int index, double devices) {
  Node& node = advanced(now_s, index);
  if (node.held == 0) {
    ++rented_;
    if (now_s >= node.paid_until_s) node.rented_since_s = now_s;  // else the rental that is paid for goes on
    node.billed_from_s = std::max(now_s, node.paid_until_s);
  }
  node.held += devices;
  return {.pool = pool, .node = index, .devices = devices, .usd_per_device = node.usd_per_device};
}

double RentedNodes::settle(double now_s, NodeRent& rent) {
  const Node& node = advanced(now_s, rent.node);
  const double since = rent.usd_per_device;
  rent.usd_per_device = node.usd_per_device;
  return rent.devices * (node.usd_per_device - since);
}

double RentedNodes::give_back(double now_s, NodeRent& rent) {
  double charged = settle(now_s, rent);
  Node& node = nodes_[static_cast<std::size_t>(rent.node)];
  node.held -= rent.devices;
  check(node.held >= 0, "a rented node's devices are given back twice", now_s);
  if (node.held > 0) return charged;
  const double end_s = std::max(now_s, node.rented_since_s + minimum_s_);
  charged += usd(std::max(now_s, node.paid_until_s), end_s);
  ended_usd_ += usd(node.billed_from_s, end_s);
  node.paid_until_s = std::max(node.paid_until_s, end_s);
  --rented_;
  return charged;
}

}  // namespace rehearse::sim
