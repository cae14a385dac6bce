#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>

#include "report/row_writer.hpp"
#include "scenarios/read/axes.hpp"
#include "scenarios/read/loader_parts.hpp"
#include "scenarios/read/study_kinds.hpp"
#include "sim/base/text.hpp"
#include "sim/io/file.hpp"
#include "sim/io/shown.hpp"
#include "traces/jobs/job_list.hpp"

namespace rehearse::scenarios {

namespace {

using sim::at_least;
using sim::between;

const std::vector<std::string> kInfeasible{"best-effort", "reject"};
const std::vector<std::string> kNetworkSolvers{"fast", "simgrid"};
const std::vector<std::string> kRecords{"none", "first", "all"};

const std::vector<std::string> kWorlds{"calibrated", "datasheet", "other-form"};

workloads::WorldErrors world_called(std::string_view name) {
  using workloads::WorldErrors;
  return name == kWorlds[0]   ? WorldErrors::calibrated()
         : name == kWorlds[1] ? WorldErrors::datasheet()
                              : WorldErrors::other_form();
}

void read_world(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("world");
  if (!value) return;
  if (value->is_string()) {
    const std::string_view name = sim::read_text(*value, mistakes);
    if (known_name(*value, name, kWorlds, "world", mistakes)) scenario.world_errors = world_called(name);
    return;
  }
  sim::ObjectReader world(*value, mistakes);
  const bool has_preset = world.has("preset");
  workloads::WorldErrors e = world_called(kWorlds[world.choice("preset", kWorlds, 0)]);
  const double model_error = world.number("model_error", between(0, 2), has_preset ? e.model_error : 0.10);
  if (has_preset)
    e.scale(model_error / e.model_error);
  else
    e = workloads::WorldErrors::scaled(model_error);
  e.sync_error = world.number("sync_error", between(0, 2), e.sync_error);
  e.noise_scale_error = world.number("noise_scale_error", between(0, 5), e.noise_scale_error);
  e.ceiling_error = world.number("ceiling_error", between(0, 1), e.ceiling_error);
  e.examples_error = world.number("examples_error", between(0, 2), e.examples_error);
  e.step_noise = world.number("step_noise", between(0, 1), e.step_noise);
  e.evaluation_noise = world.number("evaluation_noise", between(0, 100), e.evaluation_noise);
  e.workers_error = world.number("workers_error", between(0, 0.5), e.workers_error);
  e.batch_error = world.number("batch_error", between(0, 0.5), e.batch_error);
  e.memory_error = world.number("memory_error", between(0, 2), e.memory_error);
  world.finish();
  scenario.world_errors = e;
}

/// What published schedulers say that stopping a job and starting it again takes, all in all.
struct SwitchingPreset {
  const char* name;
  double start_s;
};
constexpr std::array<SwitchingPreset, 3> kSwitchingPresets{{
    {"tiresias", 62},  // measured on its testbed: 13,724 s of 221 preemptions (NSDI 2019, section 5.2.4)
    {"lucid", 40},     // its simulator, jobs of 8 GPUs at most (ASPLOS 2023)
    {"pollux", 30},    // its simulator (OSDI 2021)
}};

void take_preset(sim::ObjectReader& switching, sim::CostRules& costs) {
  if (!switching.has(kSwitchingPreset)) return;
  std::vector<std::string> names;
  for (const SwitchingPreset& preset : kSwitchingPresets) names.emplace_back(preset.name);
  costs.start_s = kSwitchingPresets[static_cast<std::size_t>(switching.choice(kSwitchingPreset, names, 0))].start_s;
  costs.checkpoint_s = 0;
  costs.rigid_jobs_switch = true;
}

void read_switching(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
  read_billing(in, sim::Billing::allocated, scenario.costs, mistakes);
  scenario.infeasible = in.choice("infeasible", kInfeasible, 0) == 1 ? sim::Infeasible::reject : sim::Infeasible::best_effort;
  scenario.network_solver = static_cast<sim::NetworkSolver>(in.choice("network_solver", kNetworkSolvers, 0));
  const auto value = in.child("switching");
  if (!value) return;
  sim::ObjectReader switching(*value, mistakes);
  take_preset(switching, scenario.costs);
  scenario.costs.preload_bytes_per_s =
      switching.number("preload_bytes_per_s", between(1e3, 1e15), scenario.costs.preload_bytes_per_s);
  scenario.costs.collect_s = switching.number("collect_s", between(0, 1e6), scenario.costs.collect_s);
  scenario.costs.start_s = switching.number("start_s", between(0, 1e6), scenario.costs.start_s);
  scenario.costs.checkpoint_s = switching.number("checkpoint_s", between(0, 1e6), scenario.costs.checkpoint_s);
  scenario.costs.restore_bytes_per_s =
      switching.number("restore_bytes_per_s", between(1e3, 1e15), scenario.costs.restore_bytes_per_s);
  scenario.costs.warmup_epochs = switching.number("warmup_epochs", between(0, 100), scenario.costs.warmup_epochs);
  scenario.costs.parameter_server_usd_per_hour =
      switching.number("parameter_server_usd_per_hour", between(0, 1e6), scenario.costs.parameter_server_usd_per_hour);
  scenario.costs.rigid_jobs_switch = switching.boolean(kRigidJobsSwitch, scenario.costs.rigid_jobs_switch);
  switching.finish();
}

const std::vector<std::string> kStagesBy{"epochs", "accuracy"};

void read_stages(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("stages");
  if (!value) return;
  sim::ObjectReader stages(*value, mistakes);
  scenario.stages.count = static_cast<int>(stages.integer("count", between(1, 20), scenario.stages.count));
  scenario.stages.by = static_cast<policies::StagesBy>(stages.choice("by", kStagesBy, 0));
  stages.finish();
}

/// Scenarios of before there was a choice say true for all repetitions, false for none.
Record read_record(sim::ObjectReader& in, std::string_view key, Record fallback) {
  const auto value = in.child(key);
  if (value && value->is_boolean()) return in.boolean(key) ? Record::all : Record::none;
  return static_cast<Record>(in.choice(key, kRecords, static_cast<std::size_t>(fallback)));
}

void read_output(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
  OutputSettings& out = scenario.output;
  if (in.has("checkpoint") || in.has("failures") || in.has("stragglers") || in.has("maintenance")) out.life = Record::first;
  const auto value = in.child("output");
  if (!value) return;
  sim::ObjectReader output(*value, mistakes);
  const std::pair<std::string_view, Record*> records[] = {
      {"jobs", &out.jobs},     {"decisions", &out.decisions},     {"events", &out.events},
      {"stages", &out.stages}, {"curves", &out.curves},           {"predictions", &out.predictions},
      {"nodes", &out.nodes},   {"utilization", &out.utilization}, {"life", &out.life}};
  for (const auto& [key, record] : records) *record = read_record(output, key, *record);
  out.report = output.boolean("report", out.report);
  if (output.boolean("timeline", false))
    output.child("timeline")->refuse("false: this version writes no timeline.json", mistakes);
  output.integer("max_timeline_jobs", at_least(0), 0);
  output.finish();
}

void read_measure(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("measure");
  if (!value) return;
  sim::ObjectReader measure(*value, mistakes);
  report::MeasureWindow& window = scenario.measure.emplace();
  window.warmup_s = measure.number("warmup_s", between(0, 0x1p33), window.warmup_s);
  window.until_s = measure.maybe_number("until_s", sim::above(0)).value_or(window.until_s);
  measure.finish();
  if (window.until_s <= window.warmup_s) measure.child("until_s").value_or(*value).refuse("a date after warmup_s", mistakes);
}

/// Says so when a pool beats another in speed and cost for every model: savings over a dominated pool mean nothing.
void warn_of_dominated_pools(Scenario& scenario) {
  const workloads::Belief belief(scenario.cluster, scenario.profile_models);
  const std::size_t pools = scenario.cluster.pools.size();
  const auto sample_s = [&](const sim::Profile& profile, std::size_t pool) {
    const workloads::ProfileModel& model = scenario.profile_models.of(profile);
    const sim::Device& device = sim::worker_device(scenario.cluster, static_cast<int>(pool));
    const double batch =
        std::min(model.publication_batch, static_cast<double>(model.memory.largest_batch(device, profile.precision)));
    if (batch < 1) return sim::kNever;
    const workloads::Conditions conditions{.batch = batch, .precision = profile.precision, .threads = device.cores};
    return model.step.compute_time(device, corrected(conditions, device, model.model, model.dataset)).total_s() / batch;
  };
  if (scenario.profiles.profiles().empty()) return;
  for (std::size_t better = 0; better < pools; ++better) {
    for (std::size_t worse = 0; worse < pools; ++worse) {
      if (better == worse) continue;
      const auto beats = [&](const sim::Profile& profile) {
        const double a = sample_s(profile, better), b = sample_s(profile, worse);
        return a < b && a * sim::worker_usd_per_s(scenario.cluster, static_cast<int>(better)) <
                            b * sim::worker_usd_per_s(scenario.cluster, static_cast<int>(worse));
      };
      if (std::all_of(scenario.profiles.profiles().begin(), scenario.profiles.profiles().end(), beats))
        scenario.warnings.push_back(fmt::format(
            "pool \"{}\" is faster and cheaper than pool \"{}\" for every model: savings over the latter mean nothing",
            scenario.cluster.pools[better].name, scenario.cluster.pools[worse].name));
    }
  }
}

/// Of what was read by readers that leave none of their own: graphs, networks.
void add_fingerprints(const std::map<std::string, std::string>& named_files, Scenario& scenario) {
  for (const auto& [as_written, path] : named_files) {
    std::error_code none;
    if (!scenario.sha256_of_file.contains(as_written) && std::filesystem::is_regular_file(path, none))
      scenario.sha256_of_file[as_written] = sim::sha256_of_file(path);
  }
}

/// A resolved scenario names the files that it was run with.
void warn_of_changed_files(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto recorded = in.child("sha256");
  if (!recorded) return;
  if (!recorded->is_object()) recorded->refuse("an object", mistakes);
  for (const sim::JsonMember member : recorded->members()) {
    const std::string path(member.key.text()), hash(sim::read_text(member.value, mistakes));
    const auto now = scenario.sha256_of_file.find(path);
    if (now != scenario.sha256_of_file.end() && now->second != hash)
      scenario.warnings.push_back(fmt::format("\"{}\" has changed since this scenario was resolved", path));
  }
}

/// Ends all references into the document.
std::string resolved_text(sim::JsonDocument& document, const Scenario& scenario) {
  std::string fingerprints;
  for (const auto& [path, hash] : scenario.sha256_of_file)
    fingerprints += fmt::format("{}{}: \"{}\"", fingerprints.empty() ? "" : ", ", report::json_string(path), hash);
  if (!fingerprints.empty()) document.set("/sha256", "{" + fingerprints + "}");
  return document.dump();
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

std::string stem_of(const std::string& path) {
  std::string name = path.substr(folder_of(path).size());
  if (name.size() > 5 && name.ends_with(".json")) name.resize(name.size() - 5);
  return name;
}

void read_head(sim::ObjectReader& in, const std::string& path, Scenario& scenario, sim::Mistakes& mistakes) {
  in.maybe_text("$schema");
  scenario.name = in.text("name", stem_of(path));
  scenario.file = path.substr(folder_of(path).size());
  scenario.path = path;
  refuse_as_file_name(in.child("name").value_or(in.value()), scenario.name, "a name", mistakes);
  scenario.description = in.has("description") ? in.text("description") : std::string();
  scenario.seed = static_cast<std::uint64_t>(in.integer("seed", at_least(0), 0));
  scenario.policy_seed =
      static_cast<std::uint64_t>(in.integer("policy_seed", at_least(0), static_cast<std::int64_t>(scenario.seed)));
  scenario.repetitions = static_cast<int>(in.integer("repetitions", between(1, 10'000), 1));
}

}  // namespace

bool known_name(sim::JsonValue value, std::string_view name, const std::vector<std::string>& names, const std::string& what,
                sim::Mistakes& mistakes) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  const bool vowel = std::string_view("aeiou").find(what.front()) != std::string_view::npos;
  sim::Mistake mistake = value.mistake((vowel ? "the name of an " : "the name of a ") + what);
  mistake.found = "\"" + std::string(name) + "\"";
  mistake.nearest = sim::nearest_name(name, names);
  mistakes.add(std::move(mistake));
  return false;
}

std::optional<std::size_t> known_choice(sim::JsonValue value, std::span<const std::string> names, sim::Mistakes& mistakes) {
  const std::size_t before = mistakes.size();
  const std::size_t index = sim::read_choice(value, names, mistakes);
  return mistakes.size() == before ? std::optional(index) : std::nullopt;
}

void refuse_as_file_name(sim::JsonValue value, std::string_view name, const std::string& what, sim::Mistakes& mistakes) {
  const auto refuse = [&](std::string expected, std::string found) {
    mistakes.add_from([&] {
      sim::Mistake mistake = value.mistake(std::move(expected));
      mistake.found = std::move(found);
      return mistake;
    });
  };
  if (name.find_first_of(std::string_view("/\0", 2)) != name.npos || name == "." || name == "..")
    refuse(what + " without slashes", sim::shown(name));
  else if (name.size() > kLongestFileNamePart)
    refuse(fmt::format("{} of at most {} bytes, as files are named by it", what, kLongestFileNamePart),
           fmt::format("one of {}", name.size()));
}

void refuse_again(sim::JsonValue value, std::string_view name, std::string expected, sim::Mistakes& mistakes) {
  mistakes.add_from([&] {
    sim::Mistake mistake = value.mistake(std::move(expected));
    mistake.found = sim::shown(name) + " again";
    return mistake;
  });
}

void add_at(sim::JsonValue value, const sim::InputError& error, sim::Mistakes& mistakes) {
  for (const sim::Mistake& wrong : error.mistakes()) {
    if (wrong.line > 0) {
      mistakes.add(wrong);
      continue;
    }
    sim::Mistake placed = value.mistake(wrong.expected);
    if (!wrong.pointer.empty()) placed.pointer += (wrong.pointer.front() == '/' ? "" : "/") + wrong.pointer;
    placed.found = wrong.found + (wrong.file.empty() ? "" : ": " + wrong.file);
    placed.nearest = wrong.nearest;
    mistakes.add(std::move(placed));
  }
}

std::string Paths::resolve(sim::JsonValue value, sim::Mistakes& mistakes, std::string_view how_to_get) const {
  std::string path(sim::read_text(value, mistakes));
  constexpr std::string_view kData = "${REHEARSE_DATA}";
  if (path.starts_with(kData)) {
    const char* data = std::getenv("REHEARSE_DATA");
    if (data == nullptr || *data == '\0') {
      std::string expected =
          "the environment variable REHEARSE_DATA to name the folder of the optional data (README, \"Optional data\")";
      if (!how_to_get.empty()) expected += fmt::format(", or --set {}=FILE; to get the file, {}", value.pointer(), how_to_get);
      value.refuse(std::move(expected), mistakes);
      return {};
    }
    if (resolved != nullptr) (*resolved)[path] = data + path.substr(kData.size());
    return data + path.substr(kData.size());
  }
  const bool as_it_is = path.empty() || path.front() == '/' || value.mistake("").file == "--set";
  std::string found = as_it_is ? path : folder + path;
  if (sim::is_pipe_or_device(found)) {
    value.refuse("a regular file: a pipe gives its bytes once, a device may have no end", mistakes);
    return {};
  }
  if (resolved != nullptr && !path.empty()) (*resolved)[path] = found;
  return found;
}

std::vector<sim::Job> Scenario::jobs_of(int repetition) const {
  std::vector<sim::Job> all = resampling.blocks ? resampled(jobs, resampling.block_s, seed, repetition) : jobs;
  if (generators.empty()) return all;
  const workloads::Belief belief(cluster, profile_models);
  for (const workloads::GeneratorSettings& generator : generators) {
    std::vector<sim::Job> made = generate_jobs(generator, belief, seed, repetition);
    all.insert(all.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
  }
  traces::sort_by_date(all);
  return all;
}

std::unique_ptr<Scenario> read_scenario(const std::string& path, const LoadOptions& options, const Extensions& extensions) {
  sim::JsonDocument document = sim::read_json_file(path);
  for (const Override& change : options.overrides) document.set(change.pointer, change.value);
  refuse_sweeps(document.root());
  return read_scenario(std::move(document), path, options, extensions);
}

std::unique_ptr<Scenario> read_scenario(sim::JsonDocument document, const std::string& path, const LoadOptions& options,
                                        const Extensions& extensions) {
  auto scenario = std::make_unique<Scenario>();
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  std::map<std::string, std::string> named_files;
  const Paths paths{.folder = folder_of(path), .resolved = &named_files};
  read_head(in, path, *scenario, mistakes);
  read_world(in, *scenario, mistakes);
  read_switching(in, *scenario, mistakes);
  const Needs needs = read_study_name(in, extensions, *scenario, mistakes);
  if (needs.cluster || in.has("cluster")) read_cluster(in, paths, options, *scenario, mistakes);
  read_life(in, paths, *scenario, mistakes);
  OwnModels own = read_own_models(in, mistakes);
  read_sharing(in, own, *scenario, mistakes);
  read_throughputs(in, paths, own, *scenario, mistakes);
  if (needs.jobs || in.has("jobs")) read_jobs(in, paths, own, *scenario, mistakes);
  if (needs.policies || in.has("policies") || in.has("baseline")) read_policies(in, paths, extensions, *scenario, mistakes);
  read_manual(in, own, *scenario, mistakes);
  read_history(in, paths, own, *scenario, mistakes);
  read_stages(in, *scenario, mistakes);
  read_output(in, *scenario, mistakes);
  read_measure(in, *scenario, mistakes);
  read_resampling(in, *scenario, mistakes);
  read_study(in, paths, extensions, *scenario, mistakes);
  if (mistakes.empty()) add_fingerprints(named_files, *scenario);
  warn_of_changed_files(in, *scenario, mistakes);
  warn_of_free_preemption(in, *scenario);
  if (mistakes.empty()) warn_of_crowded_pool(*scenario);
  if (mistakes.empty()) warn_of_tight_time_limits(*scenario);
  in.finish();
  mistakes.throw_if_any();
  scenario->resolved = resolved_text(document, *scenario);
  add_profile_models(own, scenario->profiles, scenario->profile_models);
  warn_of_dominated_pools(*scenario);
  foresee(*scenario);
  return scenario;
}

}  // namespace rehearse::scenarios
