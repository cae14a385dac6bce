#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "scenarios/read/loader_parts.hpp"
#include "sim/base/text.hpp"
#include "sim/base/units.hpp"
#include "sim/money/costs.hpp"
#include "traces/jobs/job_list.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/to_job.hpp"
#include "traces/jobs/trace_job.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::scenarios {

namespace {

using sim::between;

/// One evaluation that nothing disturbs is enough.
double default_readings(const Scenario& scenario) { return scenario.world_errors.evaluation_noise > 0 ? 2 : 1; }

traces::TraceOptions names_of(const OwnModels& own, const Scenario& scenario) {
  traces::TraceOptions names{.datasets = dataset_names(own), .pools = pool_names(scenario.cluster)};
  if (scenario.stack) names.precision = scenario.stack->precision;
  names.readings = default_readings(scenario);
  names.job_types = own.job_types;
  for (const std::string& model : model_names(own)) names.models.push_back({model, default_dataset(own, model)});
  for (const workloads::Recipe& recipe : all_recipes(own)) names.recipes.push_back({recipe.name, recipe.lr_rule});
  return names;
}

/// One field of an object into its place in a job.
struct ReadField {
  sim::ObjectReader& in;
  const traces::JobField& field;
  traces::TraceJob& job;
  sim::Mistakes& mistakes;

  void operator()(double traces::TraceJob::*number) const {
    if (!in.has(field.name)) return;
    job.*number = field.whole ? static_cast<double>(in.integer(field.name, field.range)) : in.number(field.name, field.range);
  }
  void operator()(std::string traces::TraceJob::*text) const {
    if (!in.has(field.name)) return;
    job.*text = field.choices != nullptr ? field.choices()[in.choice(field.name, field.choices())] : in.text(field.name);
  }
  void operator()(std::vector<std::string> traces::TraceJob::*names) const {
    for (const sim::JsonValue name : in.list(field.name)) (job.*names).emplace_back(sim::read_text(name, mistakes));
  }
};

/// The pools that a list names, in the form that CSV has: with semicolons between them, a speed behind a colon.
std::string read_pools(sim::ObjectReader& in, const traces::TraceOptions& names, sim::Mistakes& mistakes) {
  std::vector<std::string> parts;
  std::set<std::string> seen;
  for (const sim::JsonValue entry : in.list("pool")) {
    std::string name;
    double speed = 1;
    sim::JsonValue at = entry;
    if (entry.is_object()) {
      sim::ObjectReader one(entry, mistakes);
      name = one.text("name");
      speed = one.number("speed", traces::kSpeeds, 1.0);
      at = one.child("name").value_or(entry);
      one.finish();
    } else {
      name = sim::read_text(entry, mistakes);
    }
    if (name.empty() || !known_name(at, name, names.pools, "pool", mistakes)) continue;
    if (!seen.insert(name).second) at.refuse("a pool that is named once", mistakes);
    parts.push_back(speed == 1 ? name : fmt::format("{}:{}", name, speed));
  }
  if (in.child("pool")->size() == 0) in.child("pool")->refuse("at least one pool", mistakes);
  return fmt::format("{}", fmt::join(parts, ";"));
}

void read_job(sim::JsonValue value, std::size_t index, const traces::TraceOptions& names, Scenario& scenario,
              sim::Mistakes& mistakes) {
  const std::size_t before = mistakes.size();
  sim::ObjectReader in(value, mistakes);
  traces::TraceJob job;
  const auto pool = in.child("pool");
  const bool lists_pools = pool && pool->is_array();
  for (const traces::JobField& field : traces::job_fields())
    if (field.is_in(traces::kJson) && !(lists_pools && field.names == traces::NameOf::pool))
      std::visit(ReadField{in, field, job, mistakes}, field.member);
  if (lists_pools) job.pool = read_pools(in, names, mistakes);
  in.finish();
  if (job.job_id.empty()) job.job_id = fmt::format("job-{}", index + 1);
  job.submit_s = traces::is_given(job.submit_s) ? sim::on_date_grid(job.submit_s) : 0;
  const traces::LookedUp found = traces::look_up(job, names);
  for (const traces::JobField* field : traces::not_found(job, found)) {
    if (lists_pools && field->names == traces::NameOf::pool) continue;  // each was looked up by itself
    const sim::JsonValue name = *in.child(field->name);
    known_name(name, name.text(), traces::known_names(field->names, names), std::string(field->name), mistakes);
  }
  if (mistakes.size() > before) return;
  if (const auto missing = traces::not_measured(job, found))
    in.child(missing->column).value_or(value).refuse(missing->expected, mistakes);
  std::vector<traces::JobMistake> wrongs = traces::job_mistakes(job);
  if (const auto wrong = traces::pool_mistake(job, found)) wrongs.push_back(*wrong);
  if (const auto wrong = traces::nodes_mistake(job)) wrongs.push_back(*wrong);
  for (const traces::JobMistake& wrong : wrongs) {
    const auto given = in.child(wrong.column);
    sim::Mistake mistake = given.value_or(value).mistake(std::string(wrong.expected));
    if (!given) {
      mistake.pointer += "/" + std::string(wrong.column);
      mistake.found = "none";
    }
    mistakes.add(std::move(mistake));
  }
  if (mistakes.size() == before) scenario.jobs.push_back(traces::to_job(job, found, names, scenario.profiles));
}

/// Drops the jobs of a trace whose floor nobody can tell, and accounts for them; a mistake when none is left, or with `stops`.
void drop_unmodelled(sim::JsonValue trace, const OwnModels& own, std::vector<sim::Job>& jobs, report::InputReport& report,
                     bool stops, sim::Mistakes& mistakes) {
  const auto unmodelled = [&](const sim::Job& job) {
    return job.has_target() && find_convergence(own, job.profile->model, job.profile->dataset) == nullptr;
  };
  const auto first = std::find_if(jobs.begin(), jobs.end(), unmodelled);
  if (first == jobs.end()) return;
  report::InputReport::Reason reason{
      .reason = fmt::format("target_accuracy: the accuracy of {} on {} is not modelled (see \"convergence\"), first job \"{}\"",
                            first->profile->model, first->profile->dataset, first->name)};
  reason.rows = std::erase_if(jobs, unmodelled);
  report.jobs -= reason.rows;
  report.dropped.push_back(std::move(reason));
  if (stops)
    trace.refuse("a trace with jobs whose accuracy is modelled, all of them", mistakes);
  else if (jobs.empty())
    trace.refuse("a trace with a job whose accuracy is modelled", mistakes);
}

traces::ClusterLimits limits_of(const sim::Cluster& cluster) {
  traces::ClusterLimits limits;
  for (std::size_t p = 0; p < cluster.pools.size(); ++p) {
    const sim::Instance* instance = instance_or_null(cluster, static_cast<sim::PoolId>(p));
    if (instance == nullptr) continue;
    const int of_node = sim::workers_per_node(cluster, static_cast<sim::PoolId>(p));
    limits.node_gpus = std::max(limits.node_gpus, of_node);
    limits.pool_gpus.push_back(of_node * cluster.pools[p].nodes);
    limits.pool_nodes.push_back(cluster.pools[p].nodes);
    for (const sim::DeviceCount& gpu : instance->gpus)
      limits.gpu_types.push_back(cluster.devices[static_cast<std::size_t>(gpu.device)].name);
  }
  return limits;
}

void read_trace_entry(sim::JsonValue value, const Paths& paths, const OwnModels& own, const traces::TraceOptions& names,
                      Scenario& scenario, sim::Mistakes& mistakes) {
  static const std::vector<std::string> kOnContradiction{"drop", "stop"};
  sim::ObjectReader in(value, mistakes);
  std::vector<std::string> formats;
  for (const traces::TraceReaderEntry& format : traces::trace_readers()) formats.emplace_back(format.name);
  const std::string format = in.text("format", std::string("native"));
  const bool known = !in.has("format") || known_name(*in.child("format"), format, formats, "trace format", mistakes);
  std::string_view how_to_get;
  for (const traces::TraceReaderEntry& one : traces::trace_readers())
    if (one.name == format) how_to_get = one.source;
  const std::string path = paths.resolve(*in.child("trace"), mistakes, how_to_get);
  traces::TraceOptions options = names;
  if (mistakes.empty()) options.cluster = limits_of(scenario.cluster);
  options.keep_origin = in.boolean("keep_origin", false);
  /// "stop": not one row may be left out or changed.
  const bool stops = in.choice("on_contradiction", kOnContradiction, 0) == 1;
  in.finish();
  if (path.empty() || !known) return;
  try {
    traces::JobList list = traces::read_trace(format, path, options, scenario.profiles);
    if (stops) traces::refuse_any(list.report);
    add_input(list.report, in.child("trace")->text(), scenario);
    drop_unmodelled(*in.child("trace"), own, list.jobs, scenario.inputs.back(), stops, mistakes);
    if (scenario.jobs.empty()) {
      scenario.jobs = std::move(list.jobs);
      scenario.origin_s = list.origin_s;
    } else {
      scenario.jobs.insert(scenario.jobs.end(), std::make_move_iterator(list.jobs.begin()),
                           std::make_move_iterator(list.jobs.end()));
    }
  } catch (const sim::InputError& error) {
    add_at(*in.child("trace"), error, mistakes);
  }
}

/// Two numbers, the lower first.
std::pair<double, double> read_span(sim::ObjectReader& in, std::string_view key, const sim::NumberRange& range,
                                    std::pair<double, double> fallback, sim::Mistakes& mistakes) {
  const auto value = in.child(key);
  if (!value) return fallback;
  std::vector<double> numbers;
  for (const sim::JsonValue number : sim::read_list(*value, mistakes))
    numbers.push_back(sim::read_number(number, range, mistakes));
  if (numbers.size() == 2 && numbers[0] <= numbers[1]) return {numbers[0], numbers[1]};
  value->refuse("a list of two numbers, the smaller first", mistakes);
  return fallback;
}

void read_generator(sim::JsonValue value, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes) {
  static const std::vector<std::string> kGenerators{"mixed-cnn-rnn"};
  sim::ObjectReader in(value, mistakes);
  in.choice("generate", kGenerators);
  workloads::GeneratorSettings settings;
  settings.name = in.text("name", scenario.generators.empty() ? "mixed" : fmt::format("mixed{}", scenario.generators.size() + 1));
  settings.count = static_cast<int>(in.integer("count", between(1, 1e7)));
  settings.first_submit_s = sim::on_date_grid(in.number("first_submit_s", traces::kDates, 0.0));
  settings.arrivals_per_hour =
      in.number("arrivals_per_hour", {.low = 0, .high = 1e9, .low_excluded = true}, settings.arrivals_per_hour);
  settings.readings = default_readings(scenario);
  settings.gpu_fraction = in.number("gpu_fraction", traces::kGpuFractions, 1.0);
  std::tie(settings.deadline_factor_low, settings.deadline_factor_high) =
      read_span(in, "deadline_factor", {.low = 0, .high = 1e6, .low_excluded = true},
                {settings.deadline_factor_low, settings.deadline_factor_high}, mistakes);
  std::tie(settings.accuracy_slack_low, settings.accuracy_slack_high) =
      read_span(in, "accuracy_slack", between(0, 1), {settings.accuracy_slack_low, settings.accuracy_slack_high}, mistakes);
  const auto add = [&](const std::string& model, const std::string& dataset, bool recurrent) {
    (recurrent ? settings.recurrent : settings.convolutional).push_back(scenario.profiles.intern(model, dataset));
  };
  if (!in.has("models"))
    for (const workloads::GeneratedPair& pair : workloads::mixed_cnn_rnn())
      add(std::string(pair.model), std::string(pair.dataset), pair.recurrent);
  for (const sim::JsonValue entry : in.list("models")) {
    sim::ObjectReader one(entry, mistakes);
    const std::string model = one.text("model");
    const std::string dataset =
        one.text("dataset", default_dataset(own, model).empty() ? std::string("-") : default_dataset(own, model));
    const bool recurrent = one.boolean("recurrent", false);
    one.finish();
    if (model.empty() || !known_name(*one.child("model"), model, model_names(own), "model", mistakes)) continue;
    if (find_convergence(own, model, dataset) == nullptr)
      entry.refuse(
          fmt::format("a model whose accuracy is modelled; of {} on {} nothing is known (see \"convergence\")", model, dataset),
          mistakes);
    else
      add(model, dataset, recurrent);
  }
  in.finish();
  if (in.has("models") && in.child("models")->is_array() && in.child("models")->size() == 0)
    in.child("models")->refuse("at least one model", mistakes);
  // Twice the mean, and 40 gaps more: a sum of exponential gaps stays below it in all but e^-40 of all runs.
  const double last_s = settings.first_submit_s + (2.0 * settings.count + 40) * sim::kSecondsPerHour / settings.arrivals_per_hour;
  if (last_s > traces::kLastDate_s)
    value.refuse(fmt::format("a count and arrivals_per_hour that end before {:.0f} s", traces::kLastDate_s), mistakes);
  scenario.generators.push_back(std::move(settings));
}

/// An entry of the list of jobs, and which of the scenario's jobs it gave: [begin, end), before they are sorted.
struct Entry {
  sim::JsonValue value;
  std::size_t begin = 0, end = 0;
  std::size_t generators = 0;  ///< of the scenario, up to and with this entry
};

/// Whether the generator names a job so: its own name and the job's number (workloads/generate/generator.hpp).
bool gives_name(const workloads::GeneratorSettings& generator, std::string_view name) {
  if (!name.starts_with(generator.name + "-")) return false;
  const std::string_view digits = name.substr(generator.name.size() + 1);
  int number = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && rest == digits.data() + digits.size() && number >= 1 && number <= generator.count &&
         digits == fmt::format("{:04}", number);
}

void check_names(const Scenario& scenario, const std::vector<Entry>& entries, sim::Mistakes& mistakes) {
  constexpr const char* kOnce = "a job_id that is given once";
  std::set<std::string_view> names;
  std::size_t generators = 0;
  for (const Entry& entry : entries) {
    for (std::size_t j = entry.begin; j < entry.end; ++j) {
      const std::string& name = scenario.jobs[j].name;
      const bool generated = std::any_of(scenario.generators.begin(), scenario.generators.end(),
                                         [&](const auto& generator) { return gives_name(generator, name); });
      if (!names.insert(name).second || generated) refuse_again(entry.value, name, kOnce, mistakes);
    }
    for (; generators < entry.generators; ++generators)
      for (std::size_t before = 0; before < generators; ++before)
        if (scenario.generators[before].name == scenario.generators[generators].name)
          refuse_again(entry.value, scenario.generators[generators].name, "a generator's name that is given once", mistakes);
  }
}

/// A floor needs a model of accuracy; a job of Work::train needs samples to train on, which every dataset has.
void check_accuracy_is_modelled(const Scenario& scenario, const std::vector<Entry>& entries, const OwnModels& own,
                                sim::Mistakes& mistakes) {
  for (const Entry& entry : entries) {
    for (std::size_t j = entry.begin; j < entry.end; ++j) {
      const sim::Job& job = scenario.jobs[j];
      if (!job.has_target() || find_convergence(own, job.profile->model, job.profile->dataset) != nullptr) continue;
      entry.value.refuse(
          fmt::format("no target_accuracy for job \"{}\": the accuracy of {} on {} is not modelled (see \"convergence\")",
                      job.name, job.profile->model, job.profile->dataset),
          mistakes);
    }
  }
}

void read_entry(sim::JsonValue value, std::size_t index, const Paths& paths, const OwnModels& own,
                const traces::TraceOptions& names, Scenario& scenario, sim::Mistakes& mistakes) {
  bool trace = false, generate = false;
  for (const sim::JsonMember member : value.members()) {
    trace = trace || member.key.text() == "trace";
    generate = generate || member.key.text() == "generate";
  }
  if (trace)
    read_trace_entry(value, paths, own, names, scenario, mistakes);
  else if (generate)
    read_generator(value, own, scenario, mistakes);
  else
    read_job(value, index, names, scenario, mistakes);
}

}  // namespace

void read_jobs(sim::ObjectReader& in, const Paths& paths, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto list = in.required("jobs", "a list of jobs");
  if (!list) return;
  if (list->is_array() && list->size() == 0) list->refuse("at least one job", mistakes);
  const std::size_t before = mistakes.size();
  const traces::TraceOptions names = names_of(own, scenario);
  std::vector<Entry> entries;
  for (const sim::JsonValue value : sim::read_list(*list, mistakes)) {
    const std::size_t begin = scenario.jobs.size();
    read_entry(value, entries.size(), paths, own, names, scenario, mistakes);
    entries.push_back({.value = value, .begin = begin, .end = scenario.jobs.size(), .generators = scenario.generators.size()});
  }
  // A trace alone has unique names: its reader sees to it.
  if (entries.size() > 1) check_names(scenario, entries, mistakes);
  check_accuracy_is_modelled(scenario, entries, own, mistakes);
  if (!in.has("infeasible"))  // who says what becomes of such jobs knows of them
    for (const Entry& entry : entries) check_floors(scenario, entry.begin, entry.end, entry.value, own, mistakes);
  // A job with a mistake is none of the list's: those that wait for it are right.
  if (mistakes.size() > before) return;
  check_dependencies(scenario, [&](std::size_t job, std::string expected) {
    const auto entry = std::find_if(entries.begin(), entries.end(), [job](const Entry& e) { return job < e.end; });
    entry->value.refuse(std::move(expected), mistakes);
  });
  mark_awaited(scenario.jobs);
  if (entries.size() > 1) traces::sort_by_date(scenario.jobs);  // a trace alone is sorted
}

}  // namespace rehearse::scenarios
