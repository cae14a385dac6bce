// The worked example has the numbers that the program writes. README and tutorials: docs/refresh.py.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "policies/learn/isotonic.hpp"
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

/// A row of a table of numbers.
std::string row_of(const std::string& head, const std::vector<std::string>& cells) {
  return fmt::format("| {} | {} |", head, fmt::join(cells, " | "));
}

// The page's fits are those of the regression, its bounds and its money those of the program's predictions.
TEST_CASE("the isotonic fit by hand has the numbers of the program") {
  using namespace rehearse;
  const TemporaryFolder folder;
  const std::string sources = REHEARSE_SOURCE_DIR, page = text_of(sources + "/docs/explain/isotonic-by-hand.md");
  const std::string scenario = sources + "/scenarios/configure/isotonic-by-hand";
  policies::IsotonicSamples times{.dimension = 2}, accuracies{.dimension = 2};
  {
    sim::CsvReader csv(scenario + ".csv", {.required = {"workers", "batch_size", "epochs", "time_s", "accuracy", "model",
                                                        "dataset", "precision", "lr_rule", "instance", "samples"}});
    while (sim::CsvRow* row = csv.next()) {
      const double workers = row->number("workers"), batch = row->number("batch_size"), epochs = row->number("epochs");
      const double time_s = row->number("time_s"), accuracy = row->number("accuracy");
      times.x.insert(times.x.end(), {workers, -batch});
      times.y.push_back(workers * time_s / epochs);
      accuracies.x.insert(accuracies.x.end(), {-batch, epochs});
      accuracies.y.push_back(accuracy);
      CHECK_THAT(page, Catch::Contains(row_of(fmt::format("{}", workers),
                                              {fmt::format("{}", batch), fmt::format("{}", epochs), fmt::format("{}", time_s),
                                               fmt::format("{}", accuracy), fmt::format("{:g}", times.y.back())})));
    }
  }
  CHECK(times.rows() == 12);
  const auto time = policies::IsotonicFit::fit(times), accuracy = policies::IsotonicFit::fit(accuracies);
  const auto at = [](const policies::IsotonicFit& fit, double a, double b) { return fit.lower(std::array{a, b}); };
  CHECK(at(time, 1, -512) == Approx(43));
  CHECK(at(time, 2, -512) == Approx(43));
  CHECK(at(time, 4, -512) == Approx(62));
  CHECK(at(time, 1, -128) == Approx(45));
  CHECK(at(time, 2, -128) == Approx(76));
  CHECK(at(time, 4, -128) == Approx(190));
  CHECK_THAT(page, Catch::Contains("| batch 512 | **43** | **43** | 62 |"));
  const std::vector<std::pair<double, double>> small{{16, 0.864}, {24, 0.889}, {32, 0.901}, {40, 0.904}};
  const std::vector<std::pair<double, double>> large{{16, 0.815}, {24, 0.858}, {32, 0.888}, {40, 0.888}, {48, 0.905}};
  for (const auto& [epochs, fitted] : small) CHECK(at(accuracy, -128, epochs) == Approx(fitted));
  for (const auto& [epochs, fitted] : large) CHECK(at(accuracy, -512, epochs) == Approx(fitted));

  REQUIRE(run_program(folder.path(), {"run", scenario + ".json", "--out", "r"}).status == 0);
  const auto summary = nlohmann::json::parse(text_of(folder.path() + "/r/summary.json"));
  for (const nlohmann::json& policy : summary.at("policies"))
    if (policy.at("policy") != "manual")
      CHECK_THAT(page, Catch::Contains(fmt::format("{:.6f} $", policy.at("cost_usd").at("mean").get<double>())));
  std::map<std::string, std::string> predicted_s;
  {
    sim::CsvReader csv(folder.path() + "/r/decisions.csv", {.required = {"policy", "decision", "workers", "batch_size",
                                                                         "predicted_time_s", "predicted_cost_usd", "feasible"}});
    while (sim::CsvRow* row = csv.next()) {
      if (row->text("policy") != "static-isotonic-shared" || row->text("decision") != "configure") continue;
      predicted_s[fmt::format("{} {}", row->text("workers"), row->text("batch_size"))] = row->text("predicted_time_s");
      if (row->text("feasible") == "true")
        CHECK_THAT(page, Catch::Contains(fmt::format("{:.6f} $", row->number("predicted_cost_usd"))));
    }
  }
  CHECK(predicted_s == std::map<std::string, std::string>{{"2 512", "748"}, {"4 512", "556"}, {"2 128", "972"}});
  for (const auto& [choice, seconds] : predicted_s) CHECK_THAT(page, Catch::Contains("= " + seconds + " |"));
  sim::CsvReader csv(folder.path() + "/r/jobs.csv", {.required = {"policy", "start_s", "end_s", "epochs"}});
  while (sim::CsvRow* row = csv.next())
    CHECK_THAT(page, Catch::Contains(fmt::format("{:.1f} s", row->number("end_s") - row->number("start_s"))));
}

}  // namespace
