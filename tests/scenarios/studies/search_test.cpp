#include "scenarios/studies/search.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <set>

#include "scenarios/studies/search_outcome.hpp"
#include "tests/scenarios/studies/study_files.hpp"

namespace rehearse::tests {

namespace {

const std::string kCells = R"({ "seed": 1, "repetitions": 10, "study": { "name": "search",
    "space": { "cells": "${REHEARSE_DATA}/nasbench201_latency/nb201_acc_latency.csv",
               "devices": [ "titan_rtx_256", "gold_6226", "1080ti_256" ] },
    "objectives": [ "accuracy", "latency" ], "methods": [ "random-search", "nsga2" ], "evaluations": 781, "accuracy_above": 0.9 } })";

/// Small, so that its candidates can all be tried.
const std::string kChains = R"({ "seed": 3, "repetitions": 2, "study": { "name": "search",
    "space": { "cnn": { "layers": [ 3, 6, 9 ], "filters": [ 8, 16 ], "kernel": [ 3 ], "image": [ 16, 32 ] },
               "pools": [ "fast" ], "workers": [ 1, 2 ], "batch": [ 64, 128 ], "epochs": 30 },
    "objectives": [ "accuracy", "latency", "energy" ],
    "methods": [ "random-search", "nsga2", { "name": "nsga2-halving", "population": 8 } ], "evaluations": 48 },
  "cluster": { "pools": [ { "name": "fast", "instance": "p3.8xlarge", "nodes": 1 },
                          { "name": "slow", "instance": "p2.xlarge", "nodes": 1 } ] } })";

}  // namespace

TEST_CASE("a search among chains of layers") {
  const TemporaryFolder folder, other;
  const StudyRun run = run_text(folder, kChains, 1);
  // 48 candidates: random search has them all, and their front is the reference.
  const report::Table& table = run.table("search");
  REQUIRE(table.rows.size() == 2 * 3);
  for (const auto& row : table.rows) {
    INFO(text(table, row, "space") << " " << text(table, row, "method"));
    const double volume = number(table, row, "hypervolume");
    if (text(table, row, "method") == "random-search") CHECK((volume == 1 && number(table, row, "front_found_fraction") == 1));
    CHECK((volume > 0.5 && volume <= 1));
    CHECK(number(table, row, "gpu_hours") > 0);
  }
  const report::Table& front = run.table("search-front");
  for (const auto& a : front.rows)
    for (const auto& b : front.rows) {
      if (text(front, a, "space") != text(front, b, "space")) continue;
      const bool dominated = number(front, a, "accuracy") > number(front, b, "accuracy") &&
                             number(front, a, "latency_s") < number(front, b, "latency_s") &&
                             number(front, a, "energy_j") < number(front, b, "energy_j");
      CHECK_FALSE(dominated);
    }
  CHECK(run_text(other, kChains, 3).files == run.files);
}

TEST_CASE("evaluations go from process to process") {
  using policies::Measures;
  const std::vector<policies::Evaluation> all{
      {.trial = {{1, 0, 12}, 1.0 / 3}, .measures = {.accuracy = 0.1, .latency_s = 1e-7, .fits = false}, .evaluations = 0.1 + 0.2},
      {.trial = {{}, 1},
       .measures = {.memory_bytes = 1e11, .gpu_hours = 3},
       .share_before = 0.5,
       .gpu_hours = Measures::kUnknown}};
  const std::string text = scenarios::to_text(all);
  const auto back = scenarios::evaluations_of(text);
  REQUIRE(back.size() == 2);
  CHECK(back[0].trial == all[0].trial);
  CHECK(back[0].evaluations == all[0].evaluations);
  CHECK(std::isnan(back[0].measures.cost_usd));
  CHECK(scenarios::to_text(back) == text);
}

TEST_CASE("searches on the cells of NAS-Bench-201") {
  if (std::getenv("REHEARSE_DATA") == nullptr) {
    std::cout << "skipped: REHEARSE_DATA is not set\n";
    return;
  }
  const TemporaryFolder folder, other;
  const StudyRun run = run_text(folder, kCells, 2);
  // The exact fronts, which an exhaustive search with another program has found: on the third device two cells are equal.
  std::map<std::string, std::set<std::pair<double, double>>> distinct;
  std::map<std::string, int> points, knees;
  const report::Table& front = run.table("search-front");
  for (const auto& row : front.rows) {
    const std::string& space = text(front, row, "space");
    ++points[space];
    knees[space] += text(front, row, "knee") == "true" ? 1 : 0;
    distinct[space].emplace(number(front, row, "accuracy"), number(front, row, "latency_s"));
  }
  CHECK(points == std::map<std::string, int>{{"titan_rtx_256", 42}, {"gold_6226", 36}, {"1080ti_256", 38}});
  CHECK(distinct["titan_rtx_256"].size() == 42);
  CHECK(distinct["gold_6226"].size() == 36);
  CHECK(distinct["1080ti_256"].size() == 37);
  CHECK(knees == std::map<std::string, int>{{"titan_rtx_256", 1}, {"gold_6226", 1}, {"1080ti_256", 1}});
  const report::Table& table = run.table("search");
  REQUIRE(table.rows.size() == 6);
  for (const auto& row : table.rows) {
    INFO(text(table, row, "space") << " " << text(table, row, "method"));
    CHECK(number(table, row, "evaluations") == 781);  // a twentieth of 15,625
    if (text(table, row, "method") == "random-search") {
      CHECK(number(table, row, "hypervolume") > 0.90);
      CHECK(number(table, row, "hypervolume") < 0.93);
      continue;
    }
    CHECK(number(table, row, "hypervolume") >= 0.97);
    CHECK(number(table, row, "reached_95_fraction") >= 0.9);
    CHECK(number(table, row, "evaluations_to_95") < 781);
    CHECK(number(table, row, "over_random_ci95_low") > 0);
  }
  // Another device, another front: what leaves and enters is listed.
  const report::Table& changes = run.table("search-changes");
  int enter = 0, leave = 0;
  for (const auto& row : changes.rows)
    if (text(changes, row, "from_space") == "titan_rtx_256" && text(changes, row, "to_space") == "gold_6226")
      ++(text(changes, row, "change") == "enters" ? enter : leave);
  CHECK(42 - leave + enter == 36);
  CHECK(leave > 0);
  CHECK(run_text(other, kCells, 1).files == run.files);
}

}  // namespace rehearse::tests
