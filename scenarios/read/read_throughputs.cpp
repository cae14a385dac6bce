// Measured throughputs: a table beside the models, of types of jobs that nobody models.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/read/loader_parts.hpp"
#include "sim/base/text.hpp"
#include "sim/io/file.hpp"
#include "traces/measurements/throughputs.hpp"

namespace rehearse::scenarios {

namespace {

using traces::ThroughputRow;
using workloads::MeasuredSteps;
using Types = std::map<std::string, std::shared_ptr<MeasuredSteps>>;

struct Table {
  std::string path;
  const Scenario& scenario;
  sim::Mistakes& mistakes;

  void refuse(const ThroughputRow& row, const char* column, std::string expected, std::string found, std::string nearest = {}) {
    mistakes.add({.file = path,
                  .line = row.line,
                  .pointer = column,
                  .expected = std::move(expected),
                  .found = std::move(found),
                  .nearest = std::move(nearest)});
  }

  /// The scenario's pools that the row is of; none of them when it names another cluster's.
  std::vector<int> pools_of(const ThroughputRow& row) const {
    std::vector<int> pools;
    for (std::size_t p = 0; p < scenario.cluster.pools.size(); ++p)
      if (row.pool.empty() || row.pool == scenario.cluster.pools[p].name) pools.push_back(static_cast<int>(p));
    return pools;
  }
};

/// A row that names a pool counts for it more than one that names none: `named` are read first.
void add_alone(const std::vector<ThroughputRow>& rows, bool named, const Table& table, Types& types) {
  for (const ThroughputRow& row : rows) {
    if (!row.partner.empty() || row.pool.empty() == named) continue;
    auto& type = types.try_emplace(row.job_type, std::make_shared<MeasuredSteps>()).first->second;
    for (const int pool : table.pools_of(row))
      type->set({.pool = pool, .workers = row.workers, .batch = row.batch}, row.steps_per_s);
  }
}

/// How a pair slows each other down on a device: what each did alone over what it does beside the other. Two measurements of one
/// job differ by chance, so that a pair can seem to be quicker than each alone; it is not taken to be.
void add_pairs(const std::vector<ThroughputRow>& rows, bool named, Table& table, const Types& types, sim::SharingRules& sharing) {
  std::map<std::tuple<std::string, std::string, int>, bool> seen;
  for (const ThroughputRow& row : rows) {
    if (row.partner.empty() || row.pool.empty() == named) continue;
    if (!types.contains(row.partner)) {
      std::vector<std::string> names;
      for (const auto& [name, type] : types) names.push_back(name);
      table.refuse(row, "partner", "a job_type of the table", "\"" + row.partner + "\"", sim::nearest_name(row.partner, names));
      continue;
    }
    const auto type = types.find(row.job_type);
    for (const int pool : table.pools_of(row)) {
      const double* alone_s =
          type == types.end() ? nullptr : type->second->step_s({.pool = pool, .workers = 1, .batch = row.batch});
      if (alone_s == nullptr)
        table.refuse(row, "partner", "a row of the same job_type, pool, workers and batch without a partner", "none");
      else if (!seen.emplace(std::tuple(row.job_type, row.partner, pool), true).second)
        table.refuse(row, "batch", "one batch of each job_type beside a partner", fmt::format("{} as well", row.batch));
      else
        sharing.set(row.job_type, row.partner, pool, std::max(1.0, 1 / (*alone_s * row.steps_per_s)));
    }
  }
}

}  // namespace

void read_throughputs(sim::ObjectReader& in, const Paths& paths, OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("throughputs");
  if (!value) return;
  const std::string path = paths.resolve(*value, mistakes, "see \"Throughputs\" in docs/guide/traces.md");
  if (path.empty()) return;
  std::vector<ThroughputRow> rows;
  try {
    rows = traces::read_native_throughputs(path);
  } catch (const sim::InputError& error) {
    return add_at(*value, error, mistakes);
  }
  Types types;
  Table table{.path = path, .scenario = scenario, .mistakes = mistakes};
  for (const bool named : {true, false}) add_alone(rows, named, table, types);
  for (const bool named : {false, true}) add_pairs(rows, named, table, types, scenario.sharing);
  for (auto& [name, type] : types) own.job_types.emplace(name, std::move(type));
}

}  // namespace rehearse::scenarios
