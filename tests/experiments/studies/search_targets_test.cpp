#include <catch2/catch.hpp>
#include <cmath>

#include "experiments/studies/search_parts.hpp"
#include "tests/experiments/studies/study_files.hpp"

namespace rehearse::tests {

namespace {

using scenarios::ArmFigures;

/// Candidates by number; what they measure is made up beside it.
class Numbered final : public policies::SearchSpace {
 public:
  const std::vector<policies::Gene>& genes() const override { return genes_; }
  std::string name(const policies::Genes& genes) const override { return "c" + std::to_string(genes[0]); }
  policies::Measures measure(const policies::Genes&, double) const override { return {}; }

 private:
  std::vector<policies::Gene> genes_{{.name = "number", .levels = {"0", "1", "2", "3"}}};
};

const scenarios::NamedSpace kSpace{.name = "gpu", .space = std::make_shared<Numbered>(), .all = {}};

scenarios::Found candidate(int number, policies::Measures measures) {
  return {.genes = {number}, .measures = measures, .objectives = {1 - measures.accuracy, measures.latency_s}};
}

/// The rows by target.
std::map<std::string, std::vector<report::Cell>> answers(const std::vector<scenarios::Found>& front, std::size_t knee,
                                                         const std::vector<std::vector<ArmFigures>>& arms = {},
                                                         const scenarios::SearchTargets& asked = {}) {
  scenarios::SpaceOutcome outcome{.space = &kSpace};
  outcome.reference.front = front;
  outcome.reference.knee = knee;
  const report::Table table = targets_table({.methods = {"first", "second", "third"}}, asked, {outcome}, arms);
  std::map<std::string, std::vector<report::Cell>> rows;
  for (const auto& row : table.rows) rows[std::get<std::string>(row[1])] = row;
  return rows;
}

double measured(const std::vector<report::Cell>& row) { return std::get<double>(row[3]); }
std::string met(const std::vector<report::Cell>& row) { return std::get<std::string>(row[4]); }
std::string of(const std::vector<report::Cell>& row) { return std::get<std::string>(row[6]); }
std::string against(const std::vector<report::Cell>& row) { return std::get<std::string>(row[7]); }

const std::vector<scenarios::Found> kFront{
    candidate(0, {.accuracy = 0.90, .latency_s = 0.002, .memory_bytes = 3e9, .training_s = 900}),
    candidate(1, {.accuracy = 0.95, .latency_s = 0.010, .memory_bytes = 6e9, .training_s = 2100}),
    candidate(2, {.accuracy = 0.96, .latency_s = 0.012, .memory_bytes = 8e9, .training_s = 4000}),
    candidate(3, {.accuracy = 0.96, .latency_s = 0.014, .memory_bytes = 10e9, .training_s = 3000})};

}  // namespace

TEST_CASE("targets of a front, met or not") {
  auto rows = answers(kFront, 1);
  REQUIRE(rows.size() == 7);
  CHECK(measured(rows["accuracy"]) == 0.96);
  CHECK(met(rows["accuracy"]) == "yes");
  // Of those with 0.95 or more the quickest; c0 is quicker and not accurate enough. Just 10 ms is within 10 ms.
  CHECK(measured(rows["latency_s"]) == 0.010);
  CHECK(of(rows["latency_s"]) == "c1");
  CHECK(met(rows["latency_s"]) == "yes");
  CHECK(measured(rows["accuracy_within_latency"]) == 0.95);
  CHECK(met(rows["accuracy_within_latency"]) == "yes");
  // Two have 0.96: c2 with the lesser memory, c3 with the shorter training. 1 - 6/8 = 25 %; 1 - 2100/3000 = 30 %.
  CHECK(measured(rows["memory_saved_percent"]) == Approx(25));
  CHECK(against(rows["memory_saved_percent"]) == "c2");
  CHECK(met(rows["memory_saved_percent"]) == "no");
  CHECK(measured(rows["training_time_saved_percent"]) == Approx(30));
  CHECK(against(rows["training_time_saved_percent"]) == "c3");
  CHECK(met(rows["training_time_saved_percent"]) == "no");
  // No arms, no figures of a cluster.
  CHECK(met(rows["utilization_gain_percent"]) == "not measured");
  CHECK(met(rows["search_h"]) == "not measured");
  // Asked less: 25 and 30 will do.
  rows = answers(kFront, 1, {}, {.memory_saved_percent = 25 - 1e-9, .training_time_saved_percent = 30 - 1e-9});
  CHECK(met(rows["memory_saved_percent"]) == "yes");
  CHECK(met(rows["training_time_saved_percent"]) == "yes");
}

TEST_CASE("targets that no candidate meets") {
  // More is asked than there is: the latency is that of the most accurate, c2 of the two.
  auto rows = answers(kFront, 1, {}, {.accuracy = 0.97, .latency_s = 0.001});
  CHECK(met(rows["accuracy"]) == "no");
  CHECK(measured(rows["latency_s"]) == 0.012);
  CHECK(of(rows["latency_s"]) == "c2");
  CHECK(met(rows["latency_s"]) == "no");
  CHECK(met(rows["accuracy_within_latency"]) == "not measured");
  // A table of accuracies and latencies knows neither memory nor training.
  rows = answers({candidate(0, {.accuracy = 0.9, .latency_s = 0.002})}, 0);
  CHECK(met(rows["memory_saved_percent"]) == "not measured");
  CHECK(against(rows["memory_saved_percent"]).empty());
  CHECK(met(rows["training_time_saved_percent"]) == "not measured");
  CHECK(answers({}, 0).empty());
}

TEST_CASE("targets of a search on a cluster") {
  // The first is what the others are held against, and is none of them, quick as it is.
  std::vector<ArmFigures> arms(3);
  arms[0].hours_to_same = 1;
  arms[1].hours_to_same = 30;
  arms[1].utilization_gain_percent = 25;
  arms[2].hours_to_same = 20;
  arms[2].utilization_gain_percent = -5;
  auto rows = answers(kFront, 1, {arms});
  CHECK(measured(rows["search_h"]) == 20);
  CHECK(of(rows["search_h"]) == "third");
  CHECK(against(rows["search_h"]) == "first");
  CHECK(met(rows["search_h"]) == "yes");
  CHECK(measured(rows["utilization_gain_percent"]) == 25);
  CHECK(of(rows["utilization_gain_percent"]) == "second");
  CHECK(met(rows["utilization_gain_percent"]) == "yes");
  // One arm alone is held against nothing.
  rows = answers(kFront, 1, {{arms[0]}});
  CHECK(met(rows["search_h"]) == "not measured");
  CHECK(met(rows["utilization_gain_percent"]) == "not measured");
  rows = answers(kFront, 1, {arms}, {.utilization_gain_percent = 26, .search_h = 19});
  CHECK(met(rows["search_h"]) == "no");
  CHECK(met(rows["utilization_gain_percent"]) == "no");
}

}  // namespace rehearse::tests
