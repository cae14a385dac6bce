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

}  // namespace

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
