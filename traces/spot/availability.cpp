#include "traces/spot/availability.hpp"

#include <cmath>
#include <map>
#include <tuple>

#include "sim/io/csv.hpp"

namespace rehearse::traces {

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
