// What the README and the worked quickstart show is what the program prints.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/io/csv.hpp"
#include "tests/cli/program.hpp"

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// What of the quickstart's output is the same on every machine: all but the last column of the table's second block, a time.
std::vector<std::string> steady_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text.substr(text.find("quickstart: two kinds")));
  std::size_t width = std::string::npos;
  for (std::string line; std::getline(in, line) && !has(line, "Results: ");) {
    if (has(line, "policy took")) width = line.find("policy took");
    if (line.empty()) width = std::string::npos;
    lines.push_back(line.substr(0, width));
  }
  return lines;
}

TEST_CASE("the README shows what the quickstart prints") {
  const TemporaryFolder folder;
  const std::string sources = REHEARSE_SOURCE_DIR;
  const Ended ended = run_program(folder.path(), {"run", sources + "/scenarios/quickstart.json", "--out", "q"});
  REQUIRE(ended.status == 0);
  CHECK(steady_lines(text_of(sources + "/README.md")) == steady_lines(ended.out));
}

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

/// What stands between the two lines of a fence, after `mark`.
std::string fenced(const std::string& text, std::string_view mark, const std::string& fence) {
  const std::size_t from = text.find(fence + "\n", text.find(mark)) + fence.size() + 1;
  return text.substr(from, text.find("\n```", from) + 1 - from);
}

TEST_CASE("the README's first own scenario prints what the README says") {
  const TemporaryFolder folder;
  const std::string readme = text_of(REHEARSE_SOURCE_DIR "/README.md");
  folder.write("my-first.json", fenced(readme, "Save this as `my-first.json`", "```json"));
  const Ended ended = run_program(folder.path(), {"run", "my-first.json"});
  REQUIRE(ended.status == 0);
  const std::string shown = fenced(readme, "The second command prints", "```");
  REQUIRE(has(shown, "static-isotonic "));
  std::istringstream lines(shown);
  std::size_t from = 0;  // in the same order
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    const std::size_t found = ended.out.find(line + "\n", from);
    REQUIRE(found != std::string::npos);
    from = found + line.size();
  }
}

}  // namespace
