#include "traces/jobs/outages.hpp"

#include <fmt/format.h>

#include <charconv>

#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "traces/jobs/job_rules.hpp"

namespace rehearse::traces {

namespace {

/// Sets pool and node; false when there is no such node.
bool find_node(std::string_view name, const sim::Cluster& cluster, sim::Outage& outage) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view digits = name.substr(slash + 1);
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), outage.node);
  if (error != std::errc{} || rest != digits.data() + digits.size()) return false;
  for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
    if (cluster.pools[p].name != name.substr(0, slash)) continue;
    outage.pool = static_cast<int>(p);
    return outage.node >= 0 && outage.node < cluster.pools[p].nodes;
  }
  return false;
}

}  // namespace

std::vector<sim::Outage> read_outages(const std::string& path, const sim::Cluster& cluster) {
  sim::CsvReader reader(path, {.required = {"node", "time_s", "down_s"}, .others_allowed = false});
  sim::Mistakes mistakes;
  std::vector<sim::Outage> outages;
  while (sim::CsvRow* row = reader.next()) {
    sim::Outage outage;
    const std::string_view name = row->text("node");
    if (row->mistakes().empty() && !find_node(name, cluster, outage))
      row->refuse("node", "a node of the cluster, POOL/INDEX with an index from 0");
    outage.time_s = row->number("time_s", kDates);
    outage.down_s = row->number("down_s", kDurations);
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
    outages.push_back(outage);
  }
  if (outages.empty()) mistakes.add({.file = path, .line = 1, .expected = "at least one failure", .found = "none"});
  mistakes.throw_if_any();
  return outages;
}

}  // namespace rehearse::traces
