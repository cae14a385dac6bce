#include "scenarios/studies/search_spaces.hpp"

#include "policies/search/cell_space.hpp"
#include "sim/read/sha256.hpp"
#include "traces/architectures/cell_table.hpp"
#include "workloads/nas_cell.hpp"

namespace rehearse::scenarios {

namespace {

using policies::Goal;

constexpr std::string_view kHowToGet =
    "put the accuracies of NAS-Bench-201 beside the latencies of github.com/HayeonLee/HELP, data/nasbench201/latency";

std::vector<policies::Genes> every_candidate(const std::vector<policies::Gene>& genes) {
  std::vector<policies::Genes> all{{}};
  for (const policies::Gene& gene : genes) {
    std::vector<policies::Genes> longer;
    for (const policies::Genes& begun : all)
      for (int level = 0; level < static_cast<int>(gene.levels.size()); ++level) {
        longer.push_back(begun);
        longer.back().push_back(level);
      }
    all = std::move(longer);
  }
  return all;
}

/// A column "titan_rtx_256_ms" is of device "titan_rtx_256".
std::vector<NamedSpace> read_cells(sim::ObjectReader& in, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  const sim::JsonValue file = *in.child("cells");
  traces::CellColumns columns{.accuracy = in.text("accuracy", std::string("acc_c10_200ep")), .latency = {}};
  std::vector<std::string> devices;
  for (const sim::JsonValue value : in.list("devices")) {
    devices.emplace_back(sim::read_text(value, mistakes));
    columns.latency.push_back(devices.back() + "_ms");
  }
  if (devices.empty()) in.value().refuse("\"devices\": columns of latencies, without their ending _ms", mistakes);
  in.finish();
  const std::string path = paths.resolve(file, mistakes, kHowToGet);
  if (path.empty() || devices.empty() || columns.accuracy.empty()) return {};
  std::vector<NamedSpace> spaces;
  try {
    traces::CellTable table = traces::read_cell_table(path, columns);
    traces::ImportReport report{.file = path, .sha256 = sim::sha256_of_file(path)};
    report.rows = report.jobs = static_cast<std::int64_t>(workloads::kNasCells);
    add_input(report, file.text(), scenario);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      auto space = std::make_unique<policies::CellSpace>(table.accuracy, std::move(table.latency_s[d]));
      std::vector<policies::Genes> all = every_candidate(space->genes());
      spaces.push_back(
          {.name = devices[d], .space = std::move(space), .all = std::move(all), .goals = {Goal::accuracy, Goal::latency}});
    }
  } catch (const sim::InputError& error) {
    add_at(file, error, mistakes);
  }
  return spaces;
}

}  // namespace

std::vector<NamedSpace> read_search_spaces(sim::JsonValue value, const Paths& paths, Scenario& scenario,
                                           sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  if (in.child("cells")) return read_cells(in, paths, scenario, mistakes);
  value.refuse("\"cells\": a table of measured cells", mistakes);
  return {};
}

}  // namespace rehearse::scenarios
