// The JSON schema and the loader describe the same scenarios. One scenario that has every object (corpus/good/everything.json) is
// changed key by key: what the loader then expects must be what the schema says. The corpus goes through both: here through the
// loader, in schema/schema_test.js through the schema.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "experiments/load.hpp"
#include "experiments/studies/study.hpp"
#include "policies/registry/registry.hpp"
#include "sim/io/shown.hpp"
#include "tests/scenarios/loading.hpp"
#include "traces/jobs/readers.hpp"

namespace {

using nlohmann::ordered_json;
using rehearse::sim::Mistake;

const std::string kCorpus = REHEARSE_SOURCE_DIR "/tests/scenarios/corpus/";
const std::string kEverything = kCorpus + "good/everything.json";  // but for studies: a scenario has at most one

ordered_json read(const std::string& path) {
  std::ifstream in(path);
  return ordered_json::parse(in);
}

const ordered_json& schema() {
  static const ordered_json whole = read(REHEARSE_SOURCE_DIR "/scenarios/schema/scenario.schema.json");
  return whole;
}

/// One object of the schema: "" is the whole.
const ordered_json& definition(const std::string& name) { return name.empty() ? schema() : schema().at("$defs").at(name); }

std::set<std::string> keys_of(const std::string& name) {
  std::set<std::string> keys;
  for (const auto& [key, value] : definition(name).at("properties").items()) keys.insert(key);
  return keys;
}

struct Place {
  std::string definition;
  std::string pointer;  ///< where the file has one
  std::string file = kEverything;
};

const std::vector<Place> kPlaces{
    {"", ""},
    {"cluster", "/cluster"},
    {"device", "/cluster/devices/0"},
    {"peak_flops", "/cluster/devices/0/peak_flops"},
    {"efficiency", "/cluster/devices/0/efficiency"},
    {"threading", "/cluster/devices/0/threading"},
    {"power", "/cluster/devices/0/power"},
    {"correction", "/cluster/devices/0/corrections/0"},
    {"batch_factor", "/cluster/devices/0/corrections/0/batches/0"},
    {"stack", "/cluster/stacks/0"},
    {"instance", "/cluster/instances/0"},
    {"devices_of_a_kind", "/cluster/instances/0/devices/0"},
    {"inside", "/cluster/instances/0/inside"},
    {"link", "/cluster/instances/0/network"},
    {"pool", "/cluster/pools/0"},
    {"network", "/cluster/network"},
    {"series", "/cluster/carbon_g_per_kwh"},
    {"step", "/cluster/carbon_g_per_kwh/steps/0"},
    {"series", "/cluster/pools/0/prices_usd_per_hour"},
    {"autoscale", "/cluster/pools/0/autoscale"},
    {"spot", "/cluster/pools/0/spot"},
    {"availability", "/cluster/pools/0/spot/availability"},
    {"available", "/cluster/pools/0/spot/availability/steps/0"},
    {"measure", "/measure"},
    {"job", "/jobs/0"},
    {"trace", "/jobs/1"},
    {"generator", "/jobs/2"},
    {"generated_model", "/jobs/2/models/0"},
    {"dataset", "/datasets/0"},
    {"model", "/models/0"},
    {"model", "/models/1"},
    {"model", "/models/2"},
    {"cnn", "/models/0/cnn"},
    {"rnn", "/models/1/rnn"},
    {"mlp", "/models/2/mlp"},
    {"convergence", "/convergence/0"},
    {"noise_knot", "/convergence/0/noise_scale/0"},
    {"phase", "/convergence/0/phases/0"},
    {"policy_object", "/policies/0"},
    {"plain_strategy", "/policies/0/configure"},
    {"plain_strategy", "/policies/0/place"},
    {"plain_strategy", "/policies/0/threads"},
    {"fifo", "/policies/0/queue"},
    {"priority_queue", "/policies/1/queue"},
    {"shortest_queue", "/policies/22/queue"},
    {"shortest_remaining_queue", "/policies/2/queue"},
    {"queue_by_durations", "/policies/12/queue"},
    {"queue_by_truth", "/policies/3/queue"},
    {"remaining_queue_by_truth", "/policies/23/queue"},
    {"backfilling", "/policies/4/queue"},
    {"edf", "/policies/5/queue"},
    {"las", "/policies/6/queue"},
    {"partition", "/policies/0/queue/partitions/0"},
    {"user_shares", "/policies/7/queue"},
    {"finish_time_fairness", "/policies/8/queue"},
    {"gavel", "/policies/9/queue"},
    {"goodput", "/policies/10/queue"},
    {"elastic", "/policies/16/queue"},
    {"matching", "/policies/17/queue"},
    {"packing", "/policies/18/queue"},
    {"elastic_edf", "/policies/13/queue"},
    {"slurm", "/policies/15/queue"},
    {"elastic_admission", "/policies/14/queue"},
    {"process_strategy", "/policies/11/configure"},
    {"process_strategy", "/policies/11/place"},
    {"process_strategy", "/policies/11/threads"},
    {"process_strategy", "/policies/11/queue"},
    {"history_strategy", "/policies/1/configure"},
    {"shared_strategy", "/policies/14/configure"},
    {"guessing_strategy", "/policies/2/configure"},
    {"boosting_strategy", "/policies/3/configure"},
    {"bayesian_strategy", "/policies/4/configure"},
    {"parametric_strategy", "/policies/12/configure"},
    {"active_strategy", "/policies/9/configure"},
    {"learning_strategy", "/policies/10/configure"},
    {"estimating_strategy", "/policies/8/configure"},
    {"node_placement", "/policies/4/place"},
    {"annealed_placement", "/policies/5/place"},
    {"rl_placement", "/policies/6/place"},
    {"learned_placement", "/policies/8/place"},
    {"transferred_placement", "/policies/9/place"},
    {"exact_placement", "/policies/7/place"},
    {"hill_climbing", "/policies/1/threads"},
    {"manual_best_threads", "/policies/2/threads"},
    {"thread_regression", "/policies/3/threads"},
    {"manual", "/manual"},
    {"manual_of_model", "/manual/by_model/vgg16"},
    {"world_errors", "/world"},
    {"switching", "/switching"},
    {"stages", "/stages"},
    {"checkpoint", "/checkpoint"},
    {"failures", "/failures"},
    {"stragglers", "/stragglers"},
    {"sharing", "/sharing"},
    {"interference", "/sharing/interference/0"},
    {"maintenance", "/maintenance/0"},
    {"staged_mpc", "/policies/5/configure"},
    {"staged_rl", "/policies/6/configure"},
    {"staged_oracle", "/policies/7/configure"},
    {"staged_shared", "/policies/19/configure"},
    {"spot_rule", "/policies/20/configure"},
    {"spot_planner", "/policies/21/configure"},
    {"oracle", "/policies/13/configure"},
    {"recipe", "/recipes/0"},
    {"recipe_outcome", "/recipes/0/outcomes/0"},
    {"history", "/history"},
    {"output", "/output"},
    {"learning_curve", "/study", kCorpus + "good/learning-curve.json"},
    {"characterise", "/study", kCorpus + "good/characterise.json"},
    {"frontier", "/study", kCorpus + "good/frontier.json"},
    {"contributions", "/study", kCorpus + "good/contributions.json"},
    {"measured_runs", "/study", kCorpus + "good/measured-runs.json"},
    {"staged", "/study", kCorpus + "good/staged.json"},
    {"spot_study", "/study", kCorpus + "good/spot.json"},
    {"spot_process", "/study/processes/0", kCorpus + "good/spot.json"},
    {"spot_fold", "/study/folds/0", kCorpus + "good/spot.json"},
    {"spot_workers", "/study", kCorpus + "good/spot-workers.json"},
    {"spot_world", "/study/worlds/0", kCorpus + "good/spot-workers.json"},
    {"placement", "/study", kCorpus + "good/placement.json"},
    {"placed_graph", "/study/graphs/0", kCorpus + "good/placement.json"},
    {"placed_machine", "/study/machines/0", kCorpus + "good/placement.json"},
    {"threads_study", "/study", kCorpus + "good/threads.json"},
    {"search", "/study", kCorpus + "bad-semantics/search-without-its-table.json"},
    {"search_space", "/study/space", kCorpus + "bad-semantics/search-without-its-table.json"},
    {"search_targets", "/study/targets", kCorpus + "good/search.json"},
    {"search_workload", "/study/workload", kCorpus + "good/search.json"},
    {"chain_space", "/study/space", kCorpus + "good/search.json"},
    {"cnn_levels", "/study/space/cnn", kCorpus + "good/search.json"},
    {"rnn_levels", "/study/space/rnn", kCorpus + "good/search-rnn.json"},
};

std::vector<Mistake> mistakes_with(const std::string& file, const std::string& pointer, const std::string& value) {
  try {
    rehearse::scenarios::load_scenario(file, {.overrides = {{pointer, value}}});
  } catch (const rehearse::sim::InputError& error) {
    return error.mistakes();
  }
  return {};
}

std::vector<std::string> expectations_at(const std::vector<Mistake>& mistakes, const std::string& pointer) {
  std::vector<std::string> expected;
  for (const Mistake& mistake : mistakes)
    if (mistake.pointer == pointer) expected.push_back(mistake.expected);
  return expected;
}

std::string one_of(const std::vector<std::string>& names) { return fmt::format("one of \"{}\"", fmt::join(names, "\", \"")); }

/// In the loader's words.
std::string expectation(const ordered_json& value) {
  if (value.contains("$ref")) {
    const std::string name = value.at("$ref").get<std::string>().substr(std::string("#/$defs/").size());
    if (name == "text") return "a text in double quotes";
    if (name == "study") return "the name of a study, or an object with its name and parameters";
    if (schema().at("$defs").contains(name + "_name"))
      return "the name of a " + name + " strategy, or an object with its name and parameters";
    return expectation(definition(name));
  }
  if (value.contains("else")) return expectation(value.at("else"));  // what is no text
  if (value.contains("enum")) {
    std::vector<std::string> names;  // beside them may stand what scenarios of earlier versions have
    for (const ordered_json& name : value.at("enum"))
      if (name.is_string()) names.push_back(name);
    return one_of(names);
  }
  if (value.contains("const")) return "true or false";
  const std::string type = value.at("type");
  if (type == "boolean") return "true or false";
  if (type == "array") return "a list";
  if (type == "object") return "an object";
  if (type == "string") return "a text in double quotes";
  REQUIRE((type == "number" || type == "integer"));
  rehearse::sim::NumberRange range;
  if (value.contains("minimum")) range.low = value.at("minimum");
  if (value.contains("exclusiveMinimum")) range = {.low = value.at("exclusiveMinimum"), .low_excluded = true};
  // Below 2^53 is what the loader takes every integer to be.
  const bool is_limit = type == "integer" && value.contains("maximum") && value.at("maximum") >= rehearse::sim::kIntegerLimit - 1;
  if (value.contains("maximum") && !is_limit) range.high = value.at("maximum");
  return range.describe(type == "integer" ? "a whole number" : "a number");
}

TEST_CASE("every object of the schema has a place in everything.json") {
  std::set<std::string> objects{""}, placed;
  for (const auto& [name, value] : schema().at("$defs").items())
    if (value.contains("properties")) objects.insert(name);
  for (const Place& place : kPlaces) placed.insert(place.definition);
  CHECK(objects == placed);
  for (const Place& place : kPlaces) {
    INFO(place.pointer);
    CHECK(read(place.file).at(ordered_json::json_pointer(place.pointer)).is_object());
    CHECK(definition(place.definition).at("additionalProperties") == false);
  }
}

// A key that is near none (it is too long) makes the loader name all that it knows.
TEST_CASE("the loader knows the schema's keys and no others") {
  const std::string unknown(70, 'q');
  for (const Place& place : kPlaces) {
    INFO(place.pointer);
    const std::vector<std::string> expected =
        expectations_at(mistakes_with(place.file, place.pointer + "/" + unknown, "1"), place.pointer + "/" + unknown);
    REQUIRE(expected.size() == 1);
    std::set<std::string> known;
    for (std::size_t from = expected[0].find('"'); from != std::string::npos;) {
      const std::size_t to = expected[0].find('"', from + 1);
      known.insert(expected[0].substr(from + 1, to - from - 1));
      from = expected[0].find('"', to + 1);
    }
    CHECK(known == keys_of(place.definition));
  }
}

TEST_CASE("the loader expects of each key what the schema says") {
  const std::set<std::string> structures{"cnn", "rnn", "mlp"};  // a model has one of them: the others' values are not looked at
  for (const Place& place : kPlaces) {
    const ordered_json whole = read(place.file);
    const ordered_json& here = whole.at(ordered_json::json_pointer(place.pointer));
    for (const auto& [key, value] : definition(place.definition).at("properties").items()) {
      if (structures.contains(key) && place.definition == "model" && !here.contains(key)) continue;
      const std::string pointer = place.pointer + "/" + key;
      INFO(pointer);
      std::string wanted = expectation(value);
      if (key == "by_model") wanted = "an object with models as keys";
      if (key == "quota") wanted = "an object with pools as keys";
      if (key == "weights" || key == "services") wanted = "an object with a number for each name";
      if (place.definition == "trace" && key == "format") wanted = "a text in double quotes";  // its names: below
      const std::vector<std::string> expected = expectations_at(mistakes_with(place.file, pointer, "null"), pointer);
      CHECK_THAT(expected, Catch::VectorContains(wanted));
    }
  }
}

TEST_CASE("the loader requires what the schema requires") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/good");
  std::filesystem::copy(kCorpus + "files", folder.path() + "/files");
  for (const Place& place : kPlaces) {
    const ordered_json everything = read(place.file);
    const ordered_json& object = place.definition.empty() ? schema().at("else") : definition(place.definition);
    const std::vector<std::string> required = object.value("required", std::vector<std::string>());
    for (const std::string& key : keys_of(place.definition)) {
      if (place.definition == "trace" || place.definition == "generator" || place.definition == "search_space")
        if (key == "trace" || key == "generate" || key == "cells") continue;  // without it it is another kind of entry
      ordered_json changed = everything;
      changed.at(ordered_json::json_pointer(place.pointer)).erase(key);
      INFO(place.pointer << " without " << key);
      const std::string said = complaints_about(folder, folder.write("good/s.json", changed.dump()));
      const bool is_required = std::find(required.begin(), required.end(), key) != required.end();
      const bool is_list_of_convergence = key == "noise_scale" || key == "phases";  // said in other words
      CHECK((said.find("expected a key \"" + key + "\"") != std::string::npos) == (is_required && !is_list_of_convergence));
      if (is_required) CHECK(said != "");
    }
  }
}

template <class Entry>
void check_strategies(const std::string& decision, const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    INFO(decision << " " << entry.name);
    for (const std::string& name : rehearse::policies::names_of(entry)) names.push_back(name);
    std::set<std::string> parameters{"name"};
    if (decision == "queue") parameters.insert("partitions");
    for (const auto& parameter : entry.parameters) parameters.insert(parameter.name);
    int branches = 0;
    for (const ordered_json& branch : schema().at("$defs").at(decision).at("/then/else/allOf"_json_pointer)) {
      const std::vector<std::string> covered = branch.at("/if/properties/name/enum"_json_pointer);
      const bool is_of_a_variant = branch.contains("/if/properties/learner/const"_json_pointer);
      if (is_of_a_variant || std::find(covered.begin(), covered.end(), entry.name) == covered.end()) continue;
      ++branches;
      CHECK(keys_of(branch.at("then").at("$ref").get<std::string>().substr(std::string("#/$defs/").size())) == parameters);
    }
    CHECK(branches == 1);
  }
  CHECK(schema().at("$defs").at(decision + "_name").at("enum").get<std::vector<std::string>>() == names);
}

TEST_CASE("the schema has every registered strategy with its parameters") {
  check_strategies("configure", rehearse::policies::configure_strategies());
  check_strategies("place", rehearse::policies::place_strategies());
  check_strategies("threads", rehearse::policies::threads_strategies());
  check_strategies("queue", rehearse::policies::queue_strategies());
}

TEST_CASE("the schema has every study") {
  std::vector<std::string> names;
  for (const auto& study : rehearse::scenarios::studies()) names.push_back(study.name);
  CHECK(schema().at("$defs").at("study_name").at("enum").get<std::vector<std::string>>() == names);
  for (const std::string& name : names) {
    INFO(name);
    int branches = 0;
    for (const ordered_json& branch : definition("study").at("then").at("allOf")) {
      const std::vector<std::string> covered = branch.at("/if/properties/name/enum"_json_pointer);
      branches += static_cast<int>(std::count(covered.begin(), covered.end(), name));
    }
    CHECK(branches == 1);
  }
}

TEST_CASE("the schema has every format of traces") {
  std::vector<std::string> names;
  for (const auto& format : rehearse::traces::trace_readers()) names.emplace_back(format.name);
  CHECK(definition("trace").at("properties").at("format").at("enum").get<std::vector<std::string>>() == names);
}

TEST_CASE("the loader accepts the good files of the corpus and refuses the bad ones") {
  const TemporaryFolder folder;
  int files = 0;
  for (const std::string kind : {"good", "bad", "bad-semantics"}) {
    for (const auto& entry : std::filesystem::directory_iterator(kCorpus + kind)) {
      INFO(entry.path());
      ++files;
      const std::string said = complaints_about(folder, entry.path());
      if (kind == "good")
        CHECK(said == "");
      else
        CHECK(said.starts_with(entry.path().string() + ":"));
    }
  }
  CHECK(files > 90);
}

}  // namespace
