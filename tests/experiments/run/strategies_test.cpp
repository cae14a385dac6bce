// Whatever is registered, on whatever cluster and jobs: the replay takes every answer (sim/replay/decisions.hpp), and nothing
// fails by a check. The registries themselves are gone through, so that a new strategy is covered at once.
#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <sstream>

#include "experiments/run/estimate.hpp"
#include "experiments/run/run_one.hpp"
#include "policies/registry/registry.hpp"
#include "sim/base/random.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

template <class T>
const T& one_of(const std::vector<T>& list, sim::Random& random) {
  return list[random.below(list.size())];
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ",\n  ") + text;
  return all;
}

/// A CPU of few cores, on which planners of threads have little to choose from.
std::string random_cpu(sim::Random& random) {
  const auto n = [&](std::vector<int> list) { return std::to_string(one_of(list, random)); };
  return R"({ "name": "small-cpu", "kind": "cpu", "cores": )" + n({1, 1, 2, 3, 8}) + R"(, "sockets": )" + n({1, 1, 2}) +
         R"(, "threads_per_core": )" + n({1, 1, 2}) + R"(, "peak_flops": { "fp32": 1e11 } })";
}

std::vector<std::string> random_pools(sim::Random& random) {
  const std::vector<std::string> instances{"own", "p2.xlarge", "p2.8xlarge", "p3.2xlarge", "p3.8xlarge", "g4dn.12xlarge"};
  std::vector<std::string> pools;
  for (std::size_t i = 0; i < 1 + random.below(3); ++i)
    pools.push_back(R"({ "name": "p)" + std::to_string(i) + R"(", "instance": ")" + one_of(instances, random) +
                    R"(", "nodes": )" + std::to_string(1 + random.below(3)) + " }");
  return pools;
}

std::string random_work(const std::string& model, sim::Random& random) {
  std::ostringstream text;
  switch (random.below(5)) {
    case 0:
      text << R"("gpus": )" << 1 + random.below(3) << R"(, "duration_s": )" << 60 + random.below(5000);
      return text.str();
    case 1:
      text << R"("steps": )" << 1 + random.below(1000) << R"(, "batch_size": )" << 1 + random.below(300);
      break;
    case 2:
      text << R"("epochs": )" << 1 + random.below(20);
      break;
    default:  // floors that are never reached among them
      text << R"("target_accuracy": )" << (random.below(3) == 0 ? 1 : random.uniform(0.1, 0.9));
      if (random.below(2) == 0) text << R"(, "epochs": )" << 1 + random.below(30);
      if (random.below(2) == 0) text << R"(, "stop": "budget")";
  }
  text << R"(, "model": ")" << model << '"';
  if (random.below(3) == 0) text << R"(, "precision": "fp16")";
  if (random.below(3) == 0) text << R"(, "lr_rule": ")" << one_of<std::string>({"linear-warmup", "sqrt", "fixed"}, random) << '"';
  switch (random.below(5)) {
    case 0:
      text << R"(, "gpus": )" << 1 + random.below(12);  // also more than there are
      break;
    case 1:
      text << R"(, "gpu_fraction": )" << random.uniform(0.1, 0.9);
      break;
    default:
      break;
  }
  if (random.below(2) == 0)
    text << R"(, "objective": ")" << one_of<std::string>({"min-cost", "max-accuracy", "min-time"}, random) << '"';
  if (random.below(4) == 0) text << R"(, "cost_limit_usd": )" << std::exp(random.uniform(-3, 4));
  if (random.below(4) == 0) text << R"(, "on_deadline": "stop")";
  return text.str();
}

std::vector<std::string> random_jobs(sim::Random& random) {
  const std::vector<std::string> models{"resnet18\", \"dataset\": \"cifar10", "rnnlm", "deepspeech2"};
  std::vector<std::string> jobs;
  for (std::size_t i = 0; i < 1 + random.below(4); ++i) {
    std::ostringstream text;
    text << R"({ "submit_s": )" << random.below(3) * 100 << R"(, "deadline_s": )"
         << std::floor(std::exp(random.uniform(std::log(100.0), std::log(1e6)))) << R"(, "user": "u)" << random.below(2) << "\", "
         << random_work(one_of(models, random), random) << " }";
    jobs.push_back(text.str());
  }
  return jobs;
}

std::string random_scenario(sim::Random& random) {
  return R"({ "name": "random", "history": { "runs": 4 }, "seed": )" + std::to_string(random.below(1000)) +
         R"(, "cluster": {
  "devices": [ )" +
         random_cpu(random) + R"( ],
  "instances": [ { "name": "own", "devices": [ { "device": "small-cpu" } ], "memory_bytes": 3e10, "price_usd_per_hour": 0.2 } ],
  "pools": [ )" +
         joined(random_pools(random)) + R"( ] },
  "jobs": [ )" +
         joined(random_jobs(random)) + R"( ],
  "infeasible": "best-effort", "policies": [ "manual" ] })";
}

/// Numbers from the least to a little above it: searches are then short.
std::map<std::string, policies::ParameterValue> random_parameters(const std::vector<policies::ParameterDeclaration>& declared,
                                                                  sim::Random& random) {
  std::map<std::string, policies::ParameterValue> given;
  for (const policies::ParameterDeclaration& parameter : declared) {
    if (const double* usual = std::get_if<double>(&parameter.fallback); usual != nullptr && std::isfinite(parameter.low)) {
      if (parameter.name.ends_with("_s")) continue;  // rounds of a second make long replays
      const double value = std::lerp(parameter.low, std::min(*usual, parameter.low + 10), random.uniform());
      given[parameter.name] = parameter.whole ? std::round(value) : value;
    } else if (std::holds_alternative<bool>(parameter.fallback)) {
      given[parameter.name] = random.below(2) == 0;
    } else if (!parameter.choices.empty()) {
      given[parameter.name] = one_of(parameter.choices, random);
    }
  }
  return given;
}

/// The entry at `index`, round and round.
template <class Entry>
policies::StrategyChoice choice_of(const std::vector<Entry>& entries, std::size_t index, sim::Random& random) {
  const Entry& entry = entries[index % entries.size()];
  policies::StrategyChoice choice{.name = entry.name, .parameters = random_parameters(entry.parameters, random)};
  // It refuses to answer what so many evaluations cannot prove, on eight GPUs from seven groups on.
  if (entry.name == "exact") choice.parameters = {{"groups", static_cast<double>(1 + random.below(5))}};
  return choice;
}

std::string text_of(const policies::PolicySpec& spec) {
  std::ostringstream text;
  for (const policies::StrategyChoice* choice : {&spec.configure, &spec.place, &spec.threads, &spec.queue}) {
    text << choice->name << " (";
    for (const auto& [name, value] : choice->parameters) {
      text << ' ' << name << ' ';
      if (const double* number = std::get_if<double>(&value)) text << *number;
      if (const bool* flag = std::get_if<bool>(&value)) text << *flag;
      if (const std::string* word = std::get_if<std::string>(&value)) text << *word;
    }
    text << " ) ";
  }
  return text.str();
}

constexpr std::size_t kPolicies = 3;  // that each case is replayed with

/// What went wrong; empty when nothing did.
std::string complaint(const scenarios::Scenario& scenario) {
  try {
    replay_one(
        scenario, {}, [](const sim::ReplayProgress&) {}, sim::run_plain);
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("the replay takes every answer of every registered strategy") {
  const auto& configure = policies::configure_strategies();
  const auto& place = policies::place_strategies();
  const auto& threads = policies::threads_strategies();
  const auto& queue = policies::queue_strategies();
  const TemporaryFolder folder;
  rc::prop("on any cluster and jobs, in any company", [&] {
    sim::Random random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()));
    const std::string text = random_scenario(random);
    RC_LOG() << text << '\n';
    const auto scenario = scenarios::load_scenario(folder.write("s.json", text), {});
    // A hundred cases take each strategy of a list of twenty as often as twenty times.
    const std::size_t c = random.below(1000), p = random.below(1000), t = random.below(1000), q = random.below(1000);
    for (std::size_t i = 0; i < kPolicies; ++i) {
      scenario->policies = {{.name = "any",
                             .configure = choice_of(configure, c + i, random),
                             .place = choice_of(place, p + i, random),
                             .threads = choice_of(threads, t + i, random),
                             .queue = choice_of(queue, q + i, random)}};
      RC_LOG() << text_of(scenario->policies.front()) << '\n';
      RC_ASSERT(complaint(*scenario) == "");
    }
  });
}

TEST_CASE("small cases on which strategies once failed by their own answer") {
  for (const char* name : {"budget-manual-does-not-fit", "budget-one-gpu-does-not-fit", "one-core-cpu"}) {
    const auto scenario = scenarios::load_scenario(std::string(REHEARSE_SOURCE_DIR "/tests/cases/") + name + ".json", {});
    for (std::size_t policy = 0; policy < scenario->policies.size(); ++policy) {
      INFO(name << ", " << scenario->policies[policy].name);
      CHECK_NOTHROW(replay_one(
          *scenario, {.policy = policy}, [](const sim::ReplayProgress&) {}, sim::run_plain));
    }
  }
}

// A name that the registry no longer has would silently be estimated as any other.
TEST_CASE("the estimate of a run speaks of strategies that there are") {
  const scenarios::EstimatedStrategies known = scenarios::estimated_strategies();
  CHECK(known.queue.size() > 5);
  CHECK(known.configure.size() > 10);
  for (const std::string& name : known.queue) {
    INFO(name);
    CHECK(policies::find_strategy(policies::queue_strategies(), name) != nullptr);
  }
  for (const std::string& name : known.configure) {
    INFO(name);
    CHECK(policies::find_strategy(policies::configure_strategies(), name) != nullptr);
  }
}
