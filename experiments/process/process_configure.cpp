#include "experiments/process/process_configure.hpp"

#include "policies/configure/menu.hpp"
#include "experiments/process/messages.hpp"
#include "sim/base/errors.hpp"
#include "sim/replay/validate.hpp"

namespace rehearse::scenarios {

namespace {

constexpr std::size_t kMostChoices = 10'000;

void write_request(const policies::ConfigureView& view, const sim::StageSeen* seen, bool wants_candidates, JsonLine& out) {
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
  if (!wants_candidates) return;
  out.key("candidates").open('[');
  for (const sim::Configuration& candidate : view.candidates) write(candidate);
  out.close(']');
}

/// Which choices say themselves what they expect.
struct Answer {
  std::vector<sim::Choice> choices;
  std::vector<bool> is_predicted;
};

Answer read_menu(sim::ObjectReader& in, const sim::Cluster& cluster, sim::Mistakes& mistakes) {
  Answer answer;
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
  process_.ask([&](JsonLine& out) { write_request(view, seen, process_.wants("candidates"), out); },
               [&](sim::ObjectReader& in, sim::Mistakes& mistakes) {
                 Answer answer = read_menu(in, view.cluster, mistakes);
                 mistakes.throw_if_any();
                 if (seen != nullptr && answer.choices.empty()) return;  // it keeps what it has
                 // Before anything is estimated: an estimate takes a valid configuration for granted.
                 sim::validate_menu(view.cluster, view.job, {.ranked = answer.choices}, seen == nullptr ? 0 : seen->epochs);
                 for (std::size_t i = 0; i < answer.choices.size(); ++i)
                   if (!answer.is_predicted[i]) answer.choices[i].predicted = view.estimate(answer.choices[i].configuration);
                 menu = policies::judge(view.job, std::move(answer.choices));
               });
  return menu;
}

}  // namespace rehearse::scenarios
