// The agents that scenarios name: read with the scenario, refused with their place.
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <vector>

#include "experiments/load.hpp"
#include "experiments/run/process_pool.hpp"
#include "experiments/run/run.hpp"
#include "experiments/train/agent_training.hpp"
#include "policies/staged/staged_agent.hpp"
#include "policies/staged/staged_shared.hpp"
#include "scenarios/read/agent_file.hpp"
#include "scenarios/read/embedded.hpp"
#include "tests/scenarios/loading.hpp"

using namespace rehearse;

namespace {

constexpr const char* kScenario = R"({ "seed": 1,
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "generate": "mixed-cnn-rnn", "count": 3, "accuracy_slack": [0.1, 0.3],
              "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
  "policies": [ { "name": "rl", "configure": { "name": "staged-rl", "agent": "agent.json" } } ] })";

std::string shipped() { return std::string(scenarios::embedded_file(scenarios::agent_of("staged-rl"))); }

}  // namespace

TEST_CASE("the agent that ships fits its network and says how it was trained") {
  const policies::NetworkState state = scenarios::parse_agent(shipped(), "shipped", policies::StagedAgent::blueprint());
  CHECK(state.origin.kind == "staged-rl");
  CHECK(state.origin.command.starts_with("rehearse train staged-rl scenarios/staged/train-staged-rl.json"));
}

TEST_CASE("a scenario's agent is read, and a bad one refused") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& agent) {
    folder.write("agent.json", agent);
    return complaints(folder, kScenario);
  };
  CHECK(said(shipped()) == "");
  CHECK_THAT(said(shipped().substr(0, 400)), Catch::Contains("agent.json"));
  CHECK_THAT(said(with(shipped(), "\"rehearse_network\": 1", "\"rehearse_network\": 2")),
             Catch::Contains("version 1, the one that this program reads, found 2"));
  CHECK_THAT(said(with(shipped(), "\"shape\": [29, 32]", "\"shape\": [27, 32]")), Catch::Contains("[29, 32]"));
  CHECK_THAT(said(with(shipped(), "\"shape\": [29, 32], \"numbers\": [", "\"shape\": [29, 32], \"numbers\": [NaN, ")),
             Catch::Contains("agent.json"));
  CHECK_THAT(said(with(shipped(), "\"staged-rl\"", "\"schedule-rl\"")), Catch::Contains("staged-rl"));
  CHECK_THAT(complaints(folder, with(kScenario, "agent.json", "none.json")), Catch::Contains("no such file"));
}

TEST_CASE("an agent is tuned to the job at hand") {
  const TemporaryFolder folder;
  folder.write("agent.json", shipped());
  const auto trained = [&](const std::string& jobs, const std::string& name) {
    const std::string text = with(kScenario, R"({ "generate": "mixed-cnn-rnn", "count": 3, "accuracy_slack": [0.1, 0.3],
              "models": [ { "model": "resnet18", "dataset": "cifar10" } ] })",
                                  jobs);
    const auto scenario = scenarios::load_scenario(folder.write(name + ".json", text), {});
    const std::string out = folder.path() + "/" + name + "-agent.json";
    scenarios::train_staged_rl(*scenario,
                               {.out = out, .resume = folder.path() + "/agent.json", .iterations = 1, .command = "train"});
    return scenarios::read_agent_file(out, policies::StagedAgent::blueprint());
  };
  const auto tuned =
      trained(R"({ "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.8, "deadline_s": 20000 })", "mine");
  CHECK(tuned.origin.kind == "staged-rl");
  CHECK_THROWS_AS(trained(R"({ "gpus": 1, "duration_s": 100 })", "rigid"), sim::InputError);
}

TEST_CASE("training leaves an agent and its curve; the same seed the same bytes; it goes on from a file") {
  const TemporaryFolder folder;
  folder.write("agent.json", shipped());
  const auto scenario = scenarios::load_scenario(folder.write("s.json", kScenario), {});
  const auto trained = [&](const std::string& name, const std::string& resume) {
    const std::string out = folder.path() + "/" + name + ".json";
    const scenarios::TrainResult result =
        scenarios::train_staged_rl(*scenario, {.out = out, .resume = resume, .iterations = 1, .command = "train"});
    CHECK(result.iterations == 1);
    CHECK(!result.interrupted);
    return scenarios::agent_text(scenarios::read_agent_file(out, policies::StagedAgent::blueprint()));
  };
  const std::string first = trained("a", "");
  CHECK(first == trained("b", ""));
  CHECK(trained("c", folder.path() + "/agent.json") != first);
}

TEST_CASE("the agent of jobs that share a cluster ships, and the same seed trains the same bytes") {
  const auto shipped_shared = scenarios::embedded_file(scenarios::agent_of("staged-shared"));
  const policies::NetworkState state =
      scenarios::parse_agent(std::string(shipped_shared), "shipped", policies::SharedAgent::blueprint());
  CHECK(state.origin.command.starts_with("rehearse train staged-shared scenarios/staged/train-shared.json"));

  const TemporaryFolder folder;
  const std::string rl = R"({ "name": "rl", "configure": { "name": "staged-rl", "agent": "agent.json" } })";
  const std::string text = with(kScenario, rl, R"({ "name": "shared", "configure": "staged-shared", "queue": "goodput" })");
  const auto scenario = scenarios::load_scenario(folder.write("s.json", text), {});
  const auto trained = [&](scenarios::Scenario& on, const std::string& name) {
    const std::string out = folder.path() + "/" + name + ".json";
    const scenarios::TrainResult result = scenarios::train_staged_shared(on, {.out = out, .iterations = 1, .command = "train"});
    CHECK(result.iterations == 1);
    CHECK(result.cost_ratio <= 1);
    return scenarios::agent_text(scenarios::read_agent_file(out, policies::SharedAgent::blueprint()));
  };
  CHECK(trained(*scenario, "a") == trained(*scenario, "b"));
  const auto other = scenarios::load_scenario(folder.write("rl.json", with(kScenario, rl, "\"manual\"")), {});
  CHECK_THROWS_AS(trained(*other, "c"), sim::InputError);
}

TEST_CASE("a training of jobs that share a cluster says of how many replays one has ended") {
  const TemporaryFolder folder;
  const std::string rl = R"({ "name": "rl", "configure": { "name": "staged-rl", "agent": "agent.json" } })";
  const std::string text = with(kScenario, rl, R"({ "name": "shared", "configure": "staged-shared", "queue": "goodput" })");
  const auto scenario = scenarios::load_scenario(folder.write("s.json", text), {});
  folder.write("agent.json", std::string(rehearse::scenarios::embedded_file(scenarios::agent_of("staged-shared"))));
  const auto replays = [&](int iterations, const std::string& resume) {
    std::size_t ended = 0, all = 0;
    scenarios::train_staged_shared(*scenario, {.out = folder.path() + "/out.json",
                                               .resume = resume,
                                               .iterations = iterations,
                                               .command = "train",
                                               .on_replay = [&](std::size_t done, std::size_t of) {
                                                 CHECK(done == ended + 1);
                                                 ended = done;
                                                 all = of;
                                               }});
    CHECK(ended == all);
    return all;
  };
  // Twelve by which an agent is judged: the untrained one, the first where it is another, one after every fifth and the last
  // iteration of sixty.
  CHECK(replays(0, "") == 12);
  CHECK(replays(1, "") == 12 + 60 + 12);
  CHECK(replays(6, "") == 12 + 360 + 2 * 12);
  CHECK(replays(5, folder.path() + "/agent.json") == 2 * 12 + 300 + 12);
}

TEST_CASE("an interrupt ends the training of jobs that share a cluster after a replay, not after an iteration") {
  const TemporaryFolder folder;
  const std::string text = with(kScenario, R"({ "name": "rl", "configure": { "name": "staged-rl", "agent": "agent.json" } })",
                                R"({ "name": "shared", "configure": "staged-shared", "queue": "goodput" })");
  const auto scenario = scenarios::load_scenario(folder.write("s.json", text), {});
  const scenarios::HeldInterrupts held;
  std::raise(SIGINT);
  const std::string out = folder.path() + "/agent.json";
  CHECK_THROWS_AS(scenarios::train_staged_shared(*scenario, {.out = out, .iterations = 1, .command = "train"}),
                  scenarios::Interrupted);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);  // the scenario
  CHECK(scenario->seed == 1);
}

TEST_CASE("of a training that is interrupted within an iteration those that were done count") {
  const scenarios::HeldInterrupts held;
  int begun = 0;
  std::vector<int> judged;
  const scenarios::TrainResult result = scenarios::iterated(
      {.iterations = 9}, held,
      [&] {
        if (++begun == 3) throw scenarios::Interrupted();
      },
      [&](const scenarios::TrainResult& so_far) { judged.push_back(so_far.iterations); });
  CHECK(result.interrupted);
  CHECK(result.iterations == 2);
  CHECK(judged == std::vector<int>{1, 2});
}
