#include "traces/nodes/availability.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "traces/jobs/trace_job.hpp"

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

std::vector<SpotSeries> read_spot_series(const std::string& path, double step_s) {
  constexpr double kMostS = 10 * 365.25 * 86400, kTouchS = 1e-3;
  sim::CsvReader reader(path,
                        {.required = {"start_date", "zone", "gpu", "gpus_per_node", "time_s", "available_nodes", "length_s"}});
  struct Place {
    std::size_t index = 0;
    double end_s = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string, std::int64_t>, Place> places;
  std::vector<SpotSeries> all;
  sim::Mistakes mistakes;
  while (sim::CsvRow* row = reader.next()) {
    for (const char* column : {"start_date", "zone", "gpu"})
      if (!row->has(column)) row->refuse(column, "a name");
    const std::string date(row->text("start_date")), zone(row->text("zone")), gpu(row->text("gpu"));
    const std::int64_t gpus = row->integer("gpus_per_node", sim::between(1, 1e4));
    const double time_s = row->number("time_s", sim::between(0, kMostS)), length_s = row->number("length_s", sim::above(0));
    const std::int64_t nodes = row->integer("available_nodes", sim::between(0, 1e6));
    if (row->mistakes().empty()) {
      const auto [at, is_new] = places.try_emplace({date, zone, gpu, gpus}, Place{all.size()});
      if (is_new) all.push_back({date, zone, gpu, static_cast<int>(gpus), {}});
      if (std::abs(time_s - at->second.end_s) > kTouchS)
        row->refuse("time_s", is_new ? "0 in a series' first row" : "the end of the row before of the same series");
      if (time_s + length_s > kMostS) row->refuse("length_s", "an end within ten years");
      if (row->mistakes().empty()) {
        at->second.end_s = time_s + length_s;
        // Whole steps alone: one that the series ends in is left out.
        all[at->second.index].up.resize(static_cast<std::size_t>(std::floor(at->second.end_s / step_s)), nodes > 0 ? 1 : 0);
      }
    }
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
  }
  mistakes.throw_if_any();
  if (all.empty()) throw sim::InputError(sim::Mistake{.file = path, .expected = "at least one row", .found = "none"});
  return all;
}

}  // namespace rehearse::traces
