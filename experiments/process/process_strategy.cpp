#include "experiments/process/process_strategy.hpp"

#include <unistd.h>

#include <filesystem>

#include "experiments/process/messages.hpp"
#include "policies/configure/menu.hpp"
#include "policies/threads/recommended.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/step/cpu_step.hpp"
#include "workloads/steps/placed_step.hpp"

namespace rehearse::scenarios {

namespace {

constexpr std::size_t kMostChoices = 10'000;

void write_request(const policies::ConfigureView& view, const sim::StageSeen* seen, const PolicyProcess& process, JsonLine& out) {
  const auto write = [&](const sim::Configuration& configuration) {
    sim::Choice choice{.configuration = configuration, .predicted = view.estimate(configuration)};
    choice.predicted.feasible = choice.predicted.feasible && policies::keeps_limits(view.job, choice.predicted);
    write_choice(choice, view.cluster, out);
  };
  out.key("now_s").number(view.now_s).key("job");
  write_job(view.job, view.cluster, out);
  out.key("manual");
  write(view.manual);
  if (seen != nullptr) {
    out.key("seen");
    write_seen(*seen, view.cluster, out);
  }
  if (view.sight != nullptr && process.wants("now")) {
    out.key("now");
    write_now(*view.sight, view.cluster, &view.job, out);
  }
  if (!process.wants("candidates")) return;
  out.key("candidates").open('[');
  for (const sim::Configuration& candidate : view.candidates) write(candidate);
  out.close(']');
}

/// Which choices say themselves what they expect.
struct Answer {
  std::vector<sim::Choice> choices;
  std::vector<bool> is_predicted;
  sim::Pause pause;
};

Answer read_menu(sim::ObjectReader& in, const sim::Cluster& cluster, double now_s, sim::Mistakes& mistakes) {
  Answer answer;
  if (const auto wait = in.child("wait")) answer.pause = read_pause(*wait, cluster, now_s, mistakes);
  const auto menu = in.required("menu", "a list of choices");
  if (menu && menu->size() > kMostChoices) {
    menu->refuse(fmt::format("at most {} choices", kMostChoices), mistakes);
    return answer;
  }
  for (const sim::JsonValue value : in.list("menu")) {
    sim::ObjectReader one(value, mistakes);
    sim::Choice choice;
    if (const auto c = one.required("configuration", "an object"))
      choice.configuration = read_configuration(*c, cluster, mistakes);
    const auto predicted = one.child("predicted");
    if (predicted) choice.predicted = read_prediction(*predicted, mistakes);
    if (const auto until = one.maybe_number("until_epochs", sim::between(1, sim::kMostEpochs))) choice.until_epochs = *until;
    one.finish();
    answer.choices.push_back(std::move(choice));
    answer.is_predicted.push_back(predicted.has_value());
  }
  return answer;
}

constexpr const char* kProcess = "process";
constexpr sim::NumberRange kTimeouts{.low = 0.001, .high = 86'400};

/// Fingerprints of the scripts, models and tables that the process was started with.
void add_fingerprints(sim::JsonValue words, const std::string& folder, Scenario& scenario) {
  for (const sim::JsonValue word : words.elements()) {
    const std::string name(word.text());
    const std::string path = std::filesystem::path(folder) / name;  // the name alone where it is absolute
    std::error_code none;
    if (!std::filesystem::is_regular_file(path, none)) continue;
    if (access(path.c_str(), R_OK) != 0) continue;  // a program may be one that can be run and not read
    scenario.sha256_of_file[name] = sim::sha256_of_file(path);
  }
}

}  // namespace

sim::Menu ProcessConfigure::configure(const policies::ConfigureView& view, const workloads::Belief&) {
  return ask(view, nullptr);
}

sim::Menu ProcessConfigure::configure_again(const policies::ConfigureView& view, std::span<const sim::StageSeen> seen,
                                            const workloads::Belief&) {
  return ask(view, &seen.back());
}

sim::Menu ProcessConfigure::ask(const policies::ConfigureView& view, const sim::StageSeen* seen) {
  sim::Menu menu;
  process_.ask([&](JsonLine& out) { write_request(view, seen, process_, out); },
               [&](sim::ObjectReader& in, sim::Mistakes& mistakes) {
                 Answer answer = read_menu(in, view.cluster, view.now_s, mistakes);
                 mistakes.throw_if_any();
                 if (seen != nullptr && answer.choices.empty()) {  // it keeps what it has, or pauses
                   menu.pause = answer.pause;
                   return;
                 }
                 // Before anything is estimated: an estimate takes a valid configuration for granted.
                 sim::validate_menu(view.cluster, view.job, {.ranked = answer.choices}, seen == nullptr ? 0 : seen->epochs);
                 for (std::size_t i = 0; i < answer.choices.size(); ++i)
                   if (!answer.is_predicted[i]) answer.choices[i].predicted = view.estimate(answer.choices[i].configuration);
                 menu = policies::judge(view.job, std::move(answer.choices));
                 menu.pause = answer.pause;
               });
  return menu;
}

sim::StepPlan ProcessPlace::place(const sim::PlaceView& view) {
  if (!policies::has_something_to_place(view)) return {.replicas = view.workers_on_node};
  const sim::Group& group = view.configuration->groups[static_cast<std::size_t>(view.group)];
  const double batch = static_cast<double>(group.batch_per_worker) * view.workers_on_node;
  const std::tuple key{view.graph, group.pool, view.workers_on_node, batch, view.configuration->power_limit_w};
  const auto known = known_.find(key);
  return known != known_.end() ? known->second : known_.emplace(key, asked(view, group, batch)).first->second;
}

sim::StepPlan ProcessPlace::asked(const sim::PlaceView& view, const sim::Group& group, double batch) {
  const workloads::ReplicaSetting setting = policies::replica_of(view, batch, belief_);
  const sim::StepGraph timed = workloads::replica_graph(setting);
  sim::StepPlan plan{.replicas = view.workers_on_node};
  process_.ask(
      [&](JsonLine& out) {
        graphs_.write(*view.graph, out);
        out.key("pool").text(belief_.cluster().pools[static_cast<std::size_t>(group.pool)].name);
        out.key("gpus").number(view.workers_on_node).key("batch").number(batch);
        out.key("op_seconds").open('[');
        for (int op = 0; op < timed.ops(); ++op) out.number(sim::seconds_of(timed.duration(op, 0)));
        out.close(']');
      },
      [&](sim::ObjectReader& in, sim::Mistakes& mistakes) {
        if (!in.has("device_of_op")) return;
        plan.replicas = 1;
        for (const sim::JsonValue device : in.list("device_of_op"))
          plan.device_of_op.push_back(
              static_cast<int>(sim::read_integer(device, sim::between(0, view.workers_on_node - 1), mistakes)));
        if (plan.device_of_op.empty()) in.child("device_of_op")->refuse("a device for each operation", mistakes);
        mistakes.throw_if_any();
        sim::validate_step_plan(*view.graph, view.workers_on_node, plan);
      });
  return plan;
}

sim::ThreadPlan ProcessThreads::plan(const sim::OpGraph& graph, const sim::Device& cpu, double batch) {
  const std::tuple key{&graph, &cpu, batch};
  const auto known = known_.find(key);
  return known != known_.end() ? known->second : known_.emplace(key, asked(graph, cpu, batch)).first->second;
}

sim::ThreadPlan ProcessThreads::asked(const sim::OpGraph& graph, const sim::Device& cpu, double batch) {
  sim::ThreadPlan plan = policies::RecommendedThreads().plan(graph, cpu, batch);
  const sim::NumberRange threads = sim::between(1, cpu.cores * cpu.threads_per_core);
  process_.ask(
      [&](JsonLine& out) {
        graphs_.write(graph, out);
        out.key("device").text(cpu.name).key("cores").number(cpu.cores).key("sockets").number(cpu.sockets);
        out.key("threads_per_core").number(cpu.threads_per_core).key("batch").number(batch);
      },
      [&](sim::ObjectReader& in, sim::Mistakes& mistakes) {
        plan.inter_op = static_cast<int>(in.integer("inter_op", threads, plan.inter_op));
        plan.intra_op = static_cast<int>(in.integer("intra_op", threads, plan.intra_op));
        if (in.has("threads_of_op")) {
          sim::CpuPlan schedule{.dispatch = sim::Dispatch::list};
          for (const sim::JsonValue of_one : in.list("threads_of_op"))
            schedule.threads.push_back(static_cast<int>(sim::read_integer(of_one, sim::between(1, cpu.cores), mistakes)));
          plan.schedule = std::make_shared<const sim::CpuPlan>(std::move(schedule));
        }
        mistakes.throw_if_any();
        sim::validate_thread_plan(graph, cpu, plan);
      });
  return plan;
}

std::unique_ptr<policies::Configure> ProcessStrategy::configure(const policies::OutsideInputs& inputs) const {
  return std::make_unique<ProcessConfigure>(settings_, inputs);
}

std::unique_ptr<sim::Place> ProcessStrategy::place(const policies::OutsideInputs& inputs) const {
  return std::make_unique<ProcessPlace>(settings_, inputs);
}

std::unique_ptr<sim::Threads> ProcessStrategy::threads(const policies::OutsideInputs& inputs) const {
  return std::make_unique<ProcessThreads>(settings_, inputs);
}

std::unique_ptr<sim::Queue> ProcessStrategy::queue(const policies::OutsideInputs& inputs) const {
  return std::make_unique<ProcessQueue>(settings_, inputs);
}

policies::StrategyChoice read_process(sim::JsonValue strategy, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  sim::ObjectReader in(strategy, mistakes);
  ProcessSettings settings;
  const sim::JsonValue words = *in.child(kProcess);
  if (words.is_array() && words.size() == 0) words.refuse("a program and its arguments", mistakes);
  const std::size_t before = mistakes.size();
  for (const sim::JsonValue word : in.list(kProcess)) {
    settings.command.words.emplace_back(sim::read_text(word, mistakes));
    if (settings.command.words.back().find('\0') != std::string::npos) word.refuse("a text without NUL", mistakes);
  }
  settings.command.folder = words.mistake("").file == "--set" ? std::string() : paths.folder;
  settings.timeout_s = in.number("timeout_s", kTimeouts, settings.timeout_s);
  settings.command.sandbox = in.boolean("sandbox", false);
  in.finish();
  if (mistakes.size() == before && words.size() > 0) add_fingerprints(words, settings.command.folder, scenario);
  policies::StrategyChoice choice{.name = kProcess, .parameters = {}};
  choice.outside = std::make_shared<ProcessStrategy>(std::move(settings));
  return choice;
}

}  // namespace rehearse::scenarios
