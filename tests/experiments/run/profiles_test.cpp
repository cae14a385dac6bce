// Past runs of one profile say nothing of another's jobs: predictions are the same whatever else is trained beside.
#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "policies/registry/registry.hpp"
#include "experiments/run/run_one.hpp"
#include "sim/base/random.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

std::string case_path(const std::string& name) { return REHEARSE_SOURCE_DIR "/tests/cases/" + name + ".json"; }

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

scenarios::Replayed replayed(const scenarios::Scenario& scenario, std::size_t policy, int repetition,
                             const std::string& folder = {}) {
  const auto silent = [](const sim::ReplayProgress&) {};
  return replay_one(scenario, {.policy = policy, .repetition = repetition, .folder = folder}, silent, sim::run_plain);
}

using Errors = std::map<std::string, std::vector<double>>;  // of each policy, by repetition

/// Median errors of predicted costs, of the jobs whose names begin so.
Errors cost_errors(const std::string& name, const std::string& first_of_name) {
  const auto scenario = scenarios::load_scenario(case_path(name), {});
  std::erase_if(scenario->jobs, [&](const sim::Job& job) { return !job.name.starts_with(first_of_name); });
  REQUIRE(scenario->jobs.size() >= 4);
  Errors errors;
  for (std::size_t policy = 0; policy < scenario->policies.size(); ++policy)
    for (int r = 0; r < scenario->repetitions; ++r)
      errors[scenario->policies[policy].name].push_back(replayed(*scenario, policy, r).outcome.metrics.cost_error_median);
  return errors;
}

/// The median of all lies between the medians of its parts.
void check_as_good_together(const std::string& name, const std::string& one_part, const std::string& other_part) {
  Errors one = cost_errors(name, one_part), other = cost_errors(name, other_part);
  for (const auto& [policy, together] : cost_errors(name, "")) {
    for (std::size_t r = 0; r < together.size(); ++r) {
      const double a = one.at(policy).at(r), b = other.at(policy).at(r);
      INFO(policy << ", repetition " << r << ": " << a << " and " << b << ", together " << together[r]);
      CHECK(together[r] >= std::min(a, b) - 1e-9);
      CHECK(together[r] <= std::max(a, b) + 1e-9);
    }
  }
}

}  // namespace

TEST_CASE("two precisions of one model are predicted as well together as apart") {
  check_as_good_together("precision-mixed", "fp32", "fp16");
}

TEST_CASE("two rules for the learning rate of one model are predicted as well together as apart") {
  check_as_good_together("lr-rule-mixed", "0cifa", "1cifa");
}

namespace {

struct Kind {
  const char *model, *dataset, *precision, *lr_rule;
};
constexpr Kind kKinds[] = {{"resnet18", "cifar10", "fp32", "adascale"},  {"resnet18", "cifar10", "fp16", "adascale"},
                           {"resnet18", "cifar10", "fp32", "fixed"},     {"resnet18", "cifar10", "fp16", "sqrt"},
                           {"resnet18", "imagenet", "fp32", "adascale"}, {"rnnlm", "ptb", "fp32", "adascale"}};

std::string job_text(const std::string& name, const Kind& kind, sim::Random& random) {
  std::ostringstream text;
  text << R"({ "job_id": ")" << name << R"(", "model": ")" << kind.model << R"(", "dataset": ")" << kind.dataset
       << R"(", "precision": ")" << kind.precision << R"(", "lr_rule": ")" << kind.lr_rule << R"(", "deadline_s": )"
       << std::floor(std::exp(random.uniform(std::log(1e3), std::log(1e6))));
  if (random.below(2) == 0)
    text << R"(, "target_accuracy": )" << random.uniform(0.2, 0.8) << " }";
  else
    text << R"(, "epochs": )" << 1 + random.below(20) << " }";
  return text.str();
}

/// What every policy that learns answers about the jobs whose names begin with "own", when they arrive. Later answers hang on
/// what is free.
std::vector<std::string> choices(const TemporaryFolder& folder, const std::string& jobs) {
  const std::string text = R"({ "name": "s", "seed": 5, "history": { "runs": 6 },
    "cluster": { "pools": [ { "name": "a", "instance": "p3.8xlarge", "nodes": 8 }, { "name": "b", "instance": "g4dn.12xlarge", "nodes": 8 } ] },
    "jobs": [)" + jobs + R"(], "infeasible": "best-effort", "policies": [ "manual" ] })";
  const auto scenario = scenarios::load_scenario(folder.write("s.json", text), {});
  scenario->policies.clear();
  for (const policies::ConfigureEntry& entry : policies::configure_strategies())
    if (entry.uses_history) scenario->policies.push_back({.name = entry.name, .configure = {.name = entry.name}});
  std::vector<std::string> found;
  for (std::size_t policy = 0; policy < scenario->policies.size(); ++policy) {
    replayed(*scenario, policy, 0, folder.path());
    for (const std::string& line : lines_of(folder.path() + "/decisions.csv"))
      if (line.find(",0,0,own") != std::string::npos) found.push_back(line);
  }
  return found;
}

}  // namespace

TEST_CASE("adding jobs of another profile changes no prediction, whoever learns") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    sim::Random random(seed);
    const std::size_t own = random.below(std::size(kKinds));
    std::string alone = job_text("own-0", kKinds[own], random);
    for (std::uint64_t i = 1; i <= random.below(3); ++i)
      alone += ",\n" + job_text("own-" + std::to_string(i), kKinds[own], random);
    std::string more = alone;
    for (std::uint64_t i = 0; i < 1 + random.below(3); ++i)
      more += ",\n" + job_text("zother-" + std::to_string(i),
                               kKinds[(own + 1 + random.below(std::size(kKinds) - 1)) % std::size(kKinds)], random);
    const TemporaryFolder folder;
    const std::vector<std::string> before = choices(folder, alone);
    INFO(alone << "\nand\n" << more.substr(alone.size()));
    CHECK(before.size() > policies::configure_strategies().size() / 2);
    CHECK(choices(folder, more) == before);
  }
}
