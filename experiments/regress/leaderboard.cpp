#include "experiments/regress/leaderboard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "experiments/load.hpp"
#include "experiments/process/sandbox.hpp"
#include "experiments/run/run.hpp"
#include "report/regression.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"

namespace rehearse::scenarios {

namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 24;  ///< of a file of the suite

/// A policy's file; each of its processes in a sandbox, if wanted.
std::string sandboxed(const std::string& file, bool sandbox) {
  std::string text = sim::read_file(file, kMostBytes);
  if (!sandbox) return text;
  sim::JsonDocument policy = sim::parse_json(text, file);
  std::vector<std::string> processes;
  for (const sim::JsonMember decision : policy.root().members())
    for (const sim::JsonMember key : decision.value.members())
      if (key.key.text() == "process") processes.emplace_back(decision.key.text());
  for (const std::string& decision : processes) policy.set("/" + decision + "/sandbox", "true");
  return policy.dump();
}

/// Throws sim::InputError where a process is among the policies and cannot be shut off.
void require_sandbox(const LeaderboardOptions& options) {
  if (!options.sandbox) return;
  for (const std::string& file : options.policies) {
    if (sandboxed(file, true) == sim::read_json_file(file).dump()) continue;
    if (const std::string reason = no_sandbox_reason(); !reason.empty())
      throw sim::InputError({.file = file,
                             .expected =
                                 "a system on which a policy's process can be shut off from network and files (user namespaces); "
                                 "--no-sandbox runs it with your rights",
                             .found = "a process that " + reason});
    return;
  }
}

/// The track's scenario in one half of its worlds.
std::unique_ptr<Scenario> half_of(const LeaderboardSuite& suite, const LeaderboardSuite::Track& track,
                                  const LeaderboardOptions& options, bool is_drawn) {
  const std::string path = fmt::format("{}/{}.json", suite.folder, track.scenario);
  sim::JsonDocument document = sim::read_json_file(path);
  for (const std::string& file : options.policies) document.set("/policies/-", sandboxed(file, options.sandbox));
  document.set("/repetitions", std::to_string(std::max(2, (options.worlds > 0 ? options.worlds : suite.worlds) / 2)));
  if (is_drawn) document.set("/seed", std::to_string(*options.seed));
  return load_scenario(std::move(document), path, {});
}

/// Of each policy, its costs or why there are none.
std::vector<report::PolicyValues> costs_in(Scenario& scenario, const LeaderboardSuite::Track& track,
                                           const LeaderboardOptions& options, const std::string& half) {
  const std::string out = fmt::format("{}/{}-{}", options.out, track.scenario, half);
  run_scenario(scenario, {.out = out, .replace = true, .processes = options.processes, .progress = true});
  return report::read_results(out, {track.metric}).policies;
}

/// Where the suite's policies have one way to choose resources and this one has another, what is compared is not the queue.
std::string configured_otherwise(const Scenario& scenario, std::size_t own_from, std::size_t own) {
  const std::string& usual = scenario.policies.front().configure.name;
  const std::string& its = scenario.policies[own].configure.name;
  for (std::size_t p = 0; p < own_from; ++p)
    if (scenario.policies[p].configure.name != usual) return {};
  return its == usual ? "" : fmt::format("\"configure\" is {}, the suite's is {}", its, usual);
}

}  // namespace

LeaderboardSuite read_leaderboard(const std::string& folder) {
  LeaderboardSuite suite{.folder = folder, .version = {}, .tracks = {}, .sha256 = {}};
  const std::string path = folder + "/suite.json";
  const sim::JsonDocument document = sim::read_json_file(path);
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  suite.version = in.text("version");
  suite.worlds = static_cast<int>(in.integer("worlds", sim::between(4, 100000), 32));
  for (const sim::JsonValue value : in.list("tracks")) {
    sim::ObjectReader track(value, mistakes);
    suite.tracks.push_back({track.text("scenario"), track.text("metric", std::string("effective_cost_usd"))});
    track.finish();
    if (suite.tracks.back().scenario.find('/') != std::string::npos) value.refuse("a name without slashes", mistakes);
  }
  in.finish();
  mistakes.throw_if_any();
  std::string all = sim::sha256_of_file(path);
  for (const LeaderboardSuite::Track& track : suite.tracks)
    all += sim::sha256_of_file(fmt::format("{}/{}.json", folder, track.scenario));
  suite.sha256 = sim::sha256_of_text(all);
  return suite;
}

std::vector<TrackResult> score(const LeaderboardSuite& suite, const LeaderboardOptions& options) {
  require_sandbox(options);
  std::error_code ignored;  // the run says what is wrong with the folder
  std::filesystem::create_directories(options.out, ignored);
  std::vector<TrackResult> results;
  for (const LeaderboardSuite::Track& track : suite.tracks) {
    const std::unique_ptr<Scenario> scenario = half_of(suite, track, options, false);
    if (options.seed == scenario->seed)
      throw sim::InputError({.file = "--seed",
                             .expected = fmt::format("another seed than that of the public worlds ({})", scenario->seed),
                             .found = std::to_string(*options.seed)});
    const auto known = costs_in(*scenario, track, options, "public");
    std::vector<report::PolicyValues> drawn;
    if (options.seed) drawn = costs_in(*half_of(suite, track, options, true), track, options, "drawn");
    const std::size_t own_from = known.size() - std::min(known.size(), options.policies.size());
    std::vector<report::LeaderboardPolicy> policies;
    for (std::size_t p = 0; p < known.size(); ++p) {
      report::LeaderboardPolicy& policy = policies.emplace_back();
      policy.name = known[p].policy;
      policy.is_yardstick = is_yardstick(scenario->policies[p]);
      if (p >= own_from) policy.remark = configured_otherwise(*scenario, own_from, p);
      if (!known[p].ok) policy.failure = known[p].reason;
      if (options.seed && !drawn[p].ok) policy.failure = drawn[p].reason;
      if (!policy.failure.empty()) continue;
      policy.public_costs = known[p].metrics.at(track.metric);
      if (options.seed) policy.drawn_costs = drawn[p].metrics.at(track.metric);
    }
    results.push_back({track, scenario->reference, rank(policies, scenario->reference)});
  }
  return results;
}

}  // namespace rehearse::scenarios
