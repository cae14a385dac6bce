#include "scenarios/studies/placement.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/scenarios/studies/study_files.hpp"

namespace rehearse::tests {

namespace {

const std::string kScenario = R"({ "seed": 3, "study": { "name": "placement", "evaluations": 60,
    "graphs": [ { "model": "dcgan", "batch": 16, "groups": 6 }, { "name": "large", "model": "vgg16", "batch": 64, "groups": 4 } ],
    "machines": [ { "name": "two", "pool": "mine" }, { "name": "host", "pool": "mine", "gpus": 0 } ],
    "methods": [ "single-cpu", "single-gpu", "heft", "random-search", "annealing", { "name": "rl-refined", "samples": 4 } ] },
  "cluster": { "devices": [ { "name": "small", "kind": "gpu", "peak_flops": {"fp32": 1e13}, "memory_bytes": 4e9 },
                            { "name": "host", "kind": "cpu", "peak_flops": {"fp32": 1e12}, "cores": 8 } ],
    "instances": [ { "name": "node", "cpu": "host", "devices": [ { "device": "small", "count": 2 } ], "memory_bytes": 6.4e10,
                     "price_usd_per_hour": 1 } ],
    "pools": [ { "name": "mine", "instance": "node", "nodes": 1 } ] } })";

}  // namespace

TEST_CASE("the study of placement") {
  const TemporaryFolder folder, other;
  const StudyRun run = run_text(folder, kScenario, 1);
  CHECK_FALSE(run.failed);
  const report::Table& table = run.table("placement");
  REQUIRE(table.rows.size() == 2 * 2 * 6);
  std::map<std::string, double> step_s;
  for (const auto& row : table.rows) {
    const std::string method = text(table, row, "method"), where = text(table, row, "machine");
    const std::string key = text(table, row, "graph") + " " + where + " " + method;
    INFO(key);
    // Without a GPU single-gpu has no answer; everything else is no faster than the bound, and fits exactly if nothing is
    // missing.
    CHECK((text(table, row, "fits") == "") == (method == "single-gpu" && where == "host"));
    step_s[key] = number(table, row, "step_s");
    if (std::isnan(step_s[key])) continue;
    CHECK(number(table, row, "over_bound") == Approx(step_s[key] / number(table, row, "lower_bound_s")));
    CHECK(number(table, row, "over_bound") >= 1);
    CHECK((text(table, row, "fits") == "true") == (number(table, row, "missing_bytes") == 0));
    const bool searches = method == "random-search" || method == "annealing" || method == "rl-refined";
    if (searches) CHECK(number(table, row, "evaluations") == 60);
    if (method.starts_with("single") || where == "host") CHECK(number(table, row, "transferred_bytes") == 0);
  }
  // Annealing begins with the single devices; one device is all that the host has.
  CHECK(step_s["dcgan two annealing"] <= std::min(step_s["dcgan two single-cpu"], step_s["dcgan two single-gpu"]));
  CHECK(step_s["dcgan host heft"] == step_s["dcgan host single-cpu"]);

  // Each improvement is one, and the last is the answer.
  const report::Table& search = run.table("placement-search");
  std::map<std::string, std::pair<bool, double>> last;
  for (const auto& row : search.rows) {
    const std::string key = text(search, row, "graph") + " " + text(search, row, "machine") + " " + text(search, row, "method");
    const std::pair now{text(search, row, "fits") != "true", number(search, row, "step_s")};
    INFO(key);
    if (last.contains(key) && last[key].first == now.first && !now.first) CHECK(now.second < last[key].second);
    last[key] = now;
  }
  CHECK(last.size() == 2 * 2 * 3);
  for (const auto& [key, point] : last) CHECK(point.second == Approx(step_s[key]).epsilon(1e-9));

  // Whatever the number of processes.
  CHECK(run_text(other, kScenario, 3).files.at("placement.csv") == run.files.at("placement.csv"));
}

TEST_CASE("a step that does not fit says which operation asked which device for what") {
  // VGG-16 has 138e6 parameters: with gradients and momentum 1.66e9 bytes; activations of 256 images do not fit beside them in
  // 0.94 x 4e9 - 0.6e9 bytes.
  const TemporaryFolder folder;
  std::string scenario = with(kScenario, R"("batch": 64)", R"("batch": 256)");
  const StudyRun run = run_text(folder, scenario);
  const report::Table& table = run.table("placement");
  for (const auto& row : table.rows)
    if (text(table, row, "graph") == "large" && text(table, row, "method") == "single-gpu" &&
        text(table, row, "machine") == "two") {
      CHECK(text(table, row, "fits") == "false");
      CHECK(number(table, row, "missing_bytes") > 0);
    }
  const auto named = [&](const std::string& note) {
    return note.starts_with("large on two, single-gpu: ") && note.ends_with("GB are free");
  };
  CHECK(std::count_if(run.summary.notes.begin(), run.summary.notes.end(), named) == 1);
}

TEST_CASE("mistakes in the study of placement") {
  const TemporaryFolder folder;
  const auto says = [&](std::string_view what, std::string_view instead, const std::string& expected) {
    INFO(instead);
    CHECK_THAT(complaints(folder, with(kScenario, what, instead)), Catch::Contains(expected));
  };
  says(R"("model": "dcgan")", R"("model": "dcgam")", R"(did you mean "dcgan"?)");
  says(R"("batch": 16)", R"("batch": 0)", "/study/graphs/0/batch: expected a number from 1 to 1000000, found 0");
  says(R"("groups": 6)", R"("groups": 0)", "/study/graphs/0/groups: expected a whole number from 1 to 4096, found 0");
  says(R"("groups": 6)", R"("group": 6)", "/study/graphs/0/group");
  says(R"("name": "large", )", R"("name": "dcgan", )", "/study/graphs/1: expected a name that is given once");
  says(R"("pool": "mine" })", R"("pool": "mime" })", R"(did you mean "mine"?)");
  says(R"("gpus": 0)", R"("gpus": 3)", "/study/machines/1");
  says(R"("heft")", R"("hefd")", R"(did you mean "heft"?)");
  says(R"("heft")", R"("annealing")", "a name that is given once");
  says(R"("samples": 4)", R"("samples": 1)", "/study/methods/5/samples");
  says(R"("samples": 4)", R"("sample": 4)", "/study/methods/5/sample");
  says(R"("evaluations": 60)", R"("evaluations": 0)", "/study/evaluations: expected a whole number from 1 to");
  says(R"("cpu": "host", )", "", "CPU");
}

}  // namespace rehearse::tests
