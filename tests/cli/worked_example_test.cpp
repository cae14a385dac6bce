// The worked example has the numbers that the program writes. README and tutorials: docs/refresh.py.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/io/csv.hpp"
#include "tests/cli/program.hpp"

namespace {

TEST_CASE("the worked quickstart has the numbers of its run") {
  const TemporaryFolder folder;
  const std::string sources = REHEARSE_SOURCE_DIR, page = text_of(sources + "/docs/explain/worked-example.md");
  REQUIRE(run_program(folder.path(), {"run", sources + "/scenarios/quickstart.json", "--out", "q"}).status == 0);
  rehearse::sim::CsvReader csv(folder.path() + "/q/jobs.csv", {.required = {"policy", "submit_s", "start_s", "end_s", "pool",
                                                                            "workers", "batch_size", "epochs", "cost_usd"}});
  std::map<std::string, std::map<double, std::string>> cells;  // of the page's row of each policy, in the order of submission
  while (rehearse::sim::CsvRow* row = csv.next())
    cells[std::string(row->text("policy"))][row->number("submit_s")] = fmt::format(
        "{} {}, {}: {} epochs, {:.1f} s, {:.6f}", row->text("workers"), row->text("pool") == "t4" ? "T4" : "V100",
        row->text("batch_size"), row->text("epochs"), row->number("end_s") - row->number("start_s"), row->number("cost_usd"));
  const auto mean = [](const nlohmann::json& policy, const char* field) { return policy.at(field).at("mean").get<double>(); };
  const auto summary = nlohmann::json::parse(text_of(folder.path() + "/q/summary.json"));
  for (const nlohmann::json& policy : summary.at("policies")) {
    std::string row = "| " + policy.at("policy").get<std::string>();
    for (const auto& [submit_s, cell] : cells[policy.at("policy")]) row += " | " + cell;
    CHECK_THAT(page, Catch::Contains(row + " |\n"));
    CHECK_THAT(page, Catch::Contains(fmt::format("= {:.6f}", mean(policy, "cost_usd") - mean(policy, "profiling_cost_usd"))));
    CHECK_THAT(page, Catch::Contains(fmt::format("{:.1f}", mean(policy, "saving_percent"))));
  }
  const nlohmann::json &manual = summary.at("policies").at(0), &learner = summary.at("policies").at(3);
  for (const char* field : {"idle_cost_usd", "utilization_fraction", "regret_mean_usd", "makespan_s"})
    CHECK_THAT(page, Catch::Contains(fmt::format("{:.6f}", mean(manual, field))));
  for (const char* field : {"energy_kwh", "idle_energy_kwh"})
    CHECK_THAT(page, Catch::Contains(fmt::format("{:.4f} kWh", mean(manual, field))));
  CHECK_THAT(page, Catch::Contains(fmt::format("{:.3f} s", mean(manual, "jct_mean_s"))));
  CHECK_THAT(page, Catch::Contains(fmt::format("= {:.6f}", mean(learner, "profiling_cost_usd"))));
  CHECK_THAT(page, Catch::Contains(fmt::format("= {:.1f} %", 100 * mean(learner, "cost_error_median"))));
}

}  // namespace
