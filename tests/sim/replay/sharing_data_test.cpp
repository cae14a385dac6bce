// The slowdowns of docs/explain/model.md, "Devices that jobs share", from what Gavel's authors measured on a V100. Optional data.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/nodes/sharing.hpp"

namespace {

using nlohmann::json;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// "ResNet-18 (batch size 16)" -> "ResNet-18".
std::string model_of(const std::string& job) { return job.substr(0, job.find(" (")); }

}  // namespace

TEST_CASE("default_slowdown is the median of the pairs that were measured", "[data]") {
  const char* root = std::getenv("REHEARSE_DATA");
  std::ifstream in(std::string(root == nullptr ? "" : root) + "/gavel/motivation_oracle_throughputs.json");
  if (root == nullptr || !in) {
    WARN("skipped: REHEARSE_DATA holds no gavel/motivation_oracle_throughputs.json");
    return;
  }
  // Rates alone under "null", beside another job as [its own, the other's]; 0 where the two ran out of memory.
  const json v100 = json::parse(in).at("v100");
  std::vector<double> all;
  std::map<std::pair<std::string, std::string>, std::vector<double>> by_model;
  int out_of_memory = 0;
  for (const auto& [job, row] : v100.items()) {
    for (const auto& [other, rates] : row.items()) {
      if (other == "null") continue;
      const double beside = rates.at(0).get<double>();
      out_of_memory += beside == 0;
      if (beside == 0) continue;
      all.push_back(row.at("null").get<double>() / beside);
      by_model[{model_of(job), model_of(other)}].push_back(all.back());
    }
  }
  CHECK(all.size() == 633);
  CHECK(out_of_memory == 43);
  CHECK(median(all) == Approx(rehearse::sim::kMeasuredSlowdown).margin(5e-4));
  const std::vector<std::string> models{"ResNet-18", "ResNet-50", "LM", "Transformer"};
  for (const std::string& model : models)
    for (const std::string& other : models)
      UNSCOPED_INFO(model << " beside " << other << ": " << median(by_model[{model, other}]));
  // Those of scenarios/cluster/sharing.json.
  CHECK(median(by_model[{"ResNet-18", "ResNet-18"}]) == Approx(1.72).margin(5e-3));
  CHECK(median(by_model[{"LM", "LM"}]) == Approx(1.63).margin(5e-3));
  CHECK(median(by_model[{"ResNet-18", "LM"}]) == Approx(1.39).margin(5e-3));
  CHECK(median(by_model[{"LM", "ResNet-18"}]) == Approx(1.65).margin(5e-3));
}
