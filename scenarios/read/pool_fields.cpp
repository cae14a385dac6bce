#include "scenarios/read/pool_fields.hpp"

#include <vector>

#include "traces/jobs/trace_job.hpp"

namespace rehearse::scenarios {

namespace {

constexpr sim::NumberRange kSomeSeconds{.low = 1, .high = traces::kLastDate_s};

constexpr PoolField kFields[] = {
    {.name = "name", .type = "text", .meaning = "given once"},
    {.name = "instance", .type = "text", .values = "name", .meaning = "`./rehearse list instances`"},
    {.name = "nodes",
     .number = &sim::Pool::nodes,
     .range = {.low = 1, .high = 1e6},
     .meaning = "at most 10,000,000 devices in a pool"},
    {.name = "pricing", .choices = pricings, .fallback = "`on-demand`", .meaning = "`spot` needs an instance with a spot price"},
    {.name = "prices_usd_per_hour",
     .type = "series",
     .values = "[series](#series)",
     .fallback = "the instance's price",
     .meaning = "of a node, over time. Policies reckon with its value at 0"},
    {.name = "spot",
     .type = "spot",
     .fallback = "nodes are never taken away",
     .meaning = "for `\"pricing\": \"spot\"`: when the cloud [takes nodes away](../explain/model.md#revocation-of-spot-nodes)"},
    {.part = "spot",
     .name = "bid_usd_per_hour",
     .number = &sim::Spot::bid_usd_per_hour,
     .range = {.low = 0, .high = 1e6},
     .fallback = "the on-demand price",
     .meaning = "all nodes are away while `prices_usd_per_hour` is above it"},
    {.part = "spot",
     .name = "mean_up_s",
     .number = &sim::Spot::mean_up_s,
     .range = kSomeSeconds,
     .fallback = "never",
     .meaning = "each node is also taken away by itself, after an exponential time of this mean"},
    {.part = "spot",
     .name = "down_s",
     .number = &sim::Spot::down_s,
     .range = kSomeSeconds,
     .fallback = "300",
     .meaning = "until another takes its place"},
    {.part = "spot",
     .name = "warning_s",
     .number = &sim::Spot::warning_s,
     .range = {.low = 0, .high = 1e6},
     .fallback = "120",
     .meaning = "before a node goes; jobs save their work if a checkpoint takes no longer"},
    {.part = "spot",
     .name = "availability",
     .type = "availability",
     .fallback = "all of the pool's nodes",
     .meaning = "how many of them the cloud has, over time: [a recording](#availability)"},
    {.name = "autoscale",
     .type = "autoscale",
     .fallback = "all nodes are always there",
     .meaning = "nodes [come with jobs](../explain/model.md#autoscaled-pools), at most `nodes` of them"},
    {.part = "autoscale",
     .name = "min_nodes",
     .number = &sim::Autoscale::min_nodes,
     .range = {.low = 0, .high = 1e6},
     .fallback = "0",
     .meaning = "the pool's first nodes, always there; at most its `nodes`"},
    {.part = "autoscale",
     .name = "boot_s",
     .number = &sim::Autoscale::boot_s,
     .range = {.low = 0, .high = 1e6},
     .fallback = "120",
     .meaning = "until a node that is rented can start a job"},
    {.part = "autoscale",
     .name = "idle_s",
     .number = &sim::Autoscale::idle_s,
     .range = {.low = 0, .high = 1e9},
     .fallback = "300; 0 under `\"billing\": \"node\"`",
     .meaning = "until a node that no job holds is let go"},
};

}  // namespace

bool PoolField::whole() const {
  return std::holds_alternative<int sim::Pool::*>(number) || std::holds_alternative<int sim::Spot::*>(number) ||
         std::holds_alternative<int sim::Autoscale::*>(number);
}

std::span<const PoolField> pool_fields() { return kFields; }

std::span<const std::string> pricings() {
  static const std::vector<std::string> names{"on-demand", "spot"};
  return names;
}

}  // namespace rehearse::scenarios
