#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <map>

#include "experiments/studies/workload_grid.hpp"

namespace {

using namespace rehearse;
using namespace rehearse::scenarios;

/// Time and money; nothing where it does not fit.
struct Cell {
  double time_s, cost_usd;
  bool fits = true;
};

ChoiceGrid grid_of(const std::vector<std::vector<Cell>>& rows) {
  ChoiceGrid grid{.resources = rows.size(), .batches = rows.front().size(), .cells = {}};
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t b = 0; b < rows[r].size(); ++b) {
      grid.cells.emplace_back();
      if (!rows[r][b].fits) continue;
      sim::Choice choice;
      choice.configuration.groups = {
          {.pool = 0, .workers = static_cast<int>(r) + 1, .batch_per_worker = static_cast<int>(b) + 1}};
      choice.predicted = {.time_s = rows[r][b].time_s, .cost_usd = rows[r][b].cost_usd};
      grid.cells.back() = choice;
    }
  }
  return grid;
}

std::map<std::string_view, Decision> by_way(const sim::Job& job, const ChoiceGrid& grid, const GridPlace& manual) {
  std::map<std::string_view, Decision> found;
  for (const Decision& decision : decide_each_way(job, grid, manual)) found[decision.way] = decision;
  return found;
}

// Deadline 10 s. Manual: first resources, first batch, $10.
//                 batch 0      batch 1      batch 2
//   resources 0   9 s $10      8 s $8       12 s $5 (late)
//   resources 1   11 s $6 (l.) 9 s $7       6 s $4
// Resources alone: at batch 0 the others are late: $10. Batch alone: $8.
// Resources, then batch: stays at resources 0, then batch 1: $8. Batch, then resources: batch 1, then resources 1: $7.
// Jointly $4: choosing apart costs 100 % and 75 % more.
TEST_CASE("what choosing apart costs, worked by hand") {
  const sim::Job job{.deadline_s = 10};
  const ChoiceGrid grid = grid_of({{{9, 10}, {8, 8}, {12, 5}}, {{11, 6}, {9, 7}, {6, 4}}});
  auto found = by_way(job, grid, {0, 0});
  CHECK(found.at("manual").outcome.cost_usd == 10);
  CHECK(found.at("resources alone").outcome.cost_usd == 10);
  CHECK(found.at("batch alone").outcome.cost_usd == 8);
  CHECK(found.at("resources, then batch").place == GridPlace{0, 1});
  CHECK(found.at("batch, then resources").place == GridPlace{1, 1});
  CHECK(found.at("batch, then resources").outcome.cost_usd == 7);
  CHECK(found.at("jointly").place == GridPlace{1, 2});
  CHECK(found.at("jointly").outcome.cost_usd == 4);
  // With 12 s nobody is late: resources first go to resources 1 at batch 0 for $6, then to batch 2 for $4, as jointly.
  found = by_way({.deadline_s = 12}, grid, {0, 0});
  CHECK(found.at("resources alone").outcome.cost_usd == 6);
  CHECK(found.at("resources, then batch").outcome.cost_usd == 4);
  CHECK(found.at("batch, then resources").place == GridPlace{1, 2});
}

// Deadline 5 s: nothing keeps it. The least late is 6 s; from manual, one knob gets to 8 s or stays at 9 s.
TEST_CASE("where nothing keeps the limits, the least violation is taken and marked") {
  const ChoiceGrid grid = grid_of({{{9, 10}, {8, 8}, {12, 5}}, {{11, 6}, {9, 7}, {6, 4}}});
  const auto found = by_way({.deadline_s = 5}, grid, {0, 0});
  CHECK(found.at("jointly").outcome.time_s == 6);
  CHECK(found.at("batch alone").outcome.time_s == 8);
  CHECK(found.at("resources alone").outcome.time_s == 9);
  for (const auto& [way, decision] : found) CHECK_FALSE(decision.outcome.feasible);
}

// Manual does not fit, nor does anything else at its batch; at its resources batch 1 does.
TEST_CASE("ways that find nothing that fits are left out, and a first step that finds nothing stays") {
  const sim::Job job{.deadline_s = 10};
  const auto found = by_way(job, grid_of({{{1, 1, false}, {8, 8}}, {{1, 1, false}, {7, 7}}}), {0, 0});
  CHECK_FALSE(found.contains("manual"));
  CHECK_FALSE(found.contains("resources alone"));
  CHECK(found.at("resources, then batch").outcome.cost_usd == 8);
  CHECK(found.at("batch, then resources").outcome.cost_usd == 7);
  CHECK(decide_each_way(job, grid_of({{{1, 1, false}}}), {0, 0}).empty());
}

TEST_CASE("jointly is never worse than apart, and a second step never worse than the first") {
  rc::check([] {
    std::vector<std::vector<Cell>> rows(static_cast<std::size_t>(*rc::gen::inRange(1, 5)));
    const int batches = *rc::gen::inRange(1, 5);
    for (auto& row : rows)
      for (int b = 0; b < batches; ++b)
        row.push_back({static_cast<double>(*rc::gen::inRange(1, 20)), static_cast<double>(*rc::gen::inRange(1, 20)),
                       *rc::gen::inRange(0, 5) > 0});
    const GridPlace manual{static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(rows.size()))),
                           static_cast<std::size_t>(*rc::gen::inRange(0, batches))};
    const auto found = by_way({.deadline_s = 10}, grid_of(rows), manual);
    const auto no_worse = [&](const char* better, const char* worse) {
      if (!found.contains(worse)) return true;
      const sim::Prediction &a = found.at(better).outcome, &b = found.at(worse).outcome;
      return a.feasible ? !b.feasible || a.cost_usd <= b.cost_usd : !b.feasible && a.time_s <= b.time_s;
    };
    for (const auto& [way, decision] : found) RC_ASSERT(no_worse("jointly", std::string(way).c_str()));
    RC_ASSERT(no_worse("resources alone", "manual"));
    RC_ASSERT(no_worse("batch alone", "manual"));
    if (found.contains("resources alone")) RC_ASSERT(no_worse("resources, then batch", "resources alone"));
    if (found.contains("batch alone")) RC_ASSERT(no_worse("batch, then resources", "batch alone"));
  });
}

}  // namespace
