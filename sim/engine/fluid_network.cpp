#include <algorithm>
#include <cmath>
#include <functional>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/engine/flow_network.hpp"

namespace rehearse::sim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> bytes_a_tick(const std::vector<double>& bytes_per_s) {
  std::vector<double> result;
  for (const double bandwidth : bytes_per_s) result.push_back(bandwidth * kStepGrid);
  return result;
}

}  // namespace

FluidNetwork::FluidNetwork(const Ways& ways)
    : rates_(bytes_a_tick(ways.bandwidths_bytes_per_s)), ways_(ways.links.size()), position_(ways.links.size()) {
  for (const std::vector<std::int32_t>& links : ways.links) rates_.add_group(links);
}

void FluidNetwork::run(FlowClient& client) {
  clear();
  for (Tick date = settle(client.next_date()); date != kNeverTick; date = settle(client.next_date())) {
    for (const FlowStart& flow : client.at(date, ended_)) start(flow);
    share();
  }
}

void FluidNetwork::clear() {
  rates_.clear();
  for (const std::int32_t way : active_) ways_[way].flows.clear();
  active_.clear();
  ends_.clear();
  now_ = 0;
}

void FluidNetwork::advance(Way& way) const {
  way.served += way.rate * (now_ - way.updated);
  way.updated = now_;
}

void FluidNetwork::start(const FlowStart& flow) {
  const std::int32_t index = flow.way;
  Way& way = ways_[index];
  if (way.flows.empty()) {
    way.rate = way.served = 0;
    way.updated = now_;
    position_[index] = static_cast<std::int32_t>(active_.size());
    active_.push_back(index);
    ends_.push_back(kInfinity);
  } else {
    advance(way);
  }
  way.flows.push_back({way.served + static_cast<double>(flow.bytes), flow.flow});
  std::push_heap(way.flows.begin(), way.flows.end(), std::greater<>());
  rates_.set_flows(index, static_cast<int>(way.flows.size()));
}

void FluidNetwork::share() {
  for (const std::int32_t index : rates_.solve()) {
    Way& way = ways_[index];
    const double rate = rates_.rate(index);
    if (rate != way.rate) {
      advance(way);
      way.rate = rate;
    }
    ends_[position_[index]] = way.updated + (way.flows.front().served - way.served) / rate;
  }
}

double FluidNetwork::first_end() const {
  double first = kInfinity;
  for (const double end : ends_) first = std::min(first, end);
  return first;
}

void FluidNetwork::end_flows(double until) {
  for (std::size_t i = active_.size(); i-- > 0;) {
    if (ends_[i] > until) continue;
    const std::int32_t index = active_[i];
    Way& way = ways_[index];
    advance(way);
    const double served = way.served + way.rate * (until - now_);
    do {  // the first is due, whatever rounding makes of it here
      ended_.push_back(way.flows.front().flow);
      std::pop_heap(way.flows.begin(), way.flows.end(), std::greater<>());
      way.flows.pop_back();
    } while (!way.flows.empty() && way.flows.front().served <= served);
    rates_.set_flows(index, static_cast<int>(way.flows.size()));
    if (!way.flows.empty()) continue;
    active_[i] = active_.back();
    ends_[i] = ends_.back();
    position_[active_[i]] = static_cast<std::int32_t>(i);
    active_.pop_back();
    ends_.pop_back();
  }
}

Tick FluidNetwork::settle(Tick own) {
  ended_.clear();
  Tick date = own;
  for (double end = first_end(); end < kInfinity && end <= static_cast<double>(date) + kSeenEarly; end = first_end()) {
    const auto seen = whole_ticks(std::ceil(end - kSeenEarly));
    const bool first = ended_.empty() && seen < own;
    if (first) date = seen;
    const auto at = static_cast<double>(date);
    const bool alone = first || end < at;
    now_ = alone ? end : std::max(now_, at);
    end_flows(alone ? end + kSameTime : at + kSeenEarly);
    share();
  }
  check(date != kNeverTick || active_.empty(), "flows that never end");
  now_ = std::max(now_, static_cast<double>(date));
  return date;
}

}  // namespace rehearse::sim
