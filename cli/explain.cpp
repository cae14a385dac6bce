// Why a job got what it got: the candidates of each policy with their predictions, what spoke against them, what happened then.
#include "experiments/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "experiments/run/results_place.hpp"
#include "policies/configure/menu.hpp"
#include "policies/registry/registry.hpp"
#include "report/table.hpp"
#include "sim/base/text.hpp"
#include "sim/base/units.hpp"
#include "sim/base/version.hpp"

namespace rehearse::cli {

namespace {

using scenarios::JobStory;
using scenarios::Scenario;
using sim::Choice;
using sim::Prediction;

std::string accuracy_words(double accuracy) { return std::isnan(accuracy) ? "-" : fmt::format("{:.4f}", accuracy); }

std::string limits_words(const sim::Job& job) {
  std::vector<std::string> limits;
  if (job.has_deadline()) limits.push_back("deadline " + sim::time_words(job.deadline_s));
  if (job.has_target()) limits.push_back("accuracy at least " + sim::figure(job.target_accuracy, 4));
  if (job.has_cost_limit()) limits.push_back("at most " + sim::money_words(job.cost_limit_usd));
  return limits.empty() ? "no limits" : fmt::format("{}", fmt::join(limits, ", "));
}

const char* objective_words(sim::Objective objective) {
  return objective == sim::Objective::min_cost   ? "the least money"
         : objective == sim::Objective::min_time ? "the least time"
                                                 : "the highest accuracy";
}

std::string resources_words(const sim::Configuration& c, const sim::Cluster& cluster) {
  std::string text;
  for (const sim::Group& group : c.groups)
    text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", group.workers,
                        cluster.pools[static_cast<std::size_t>(group.pool)].name);
  if (c.power_limit_w > 0) text += fmt::format(" at {} W", sim::figure(c.power_limit_w));
  return text;
}

/// The money that a limit is held against.
double held_usd(const Prediction& p) { return std::isnan(p.safe_cost_usd) ? p.cost_usd : p.safe_cost_usd; }

/// Which limits the prediction breaks, and by how much.
std::vector<std::string> broken_limits(const sim::Job& job, const Prediction& p) {
  std::vector<std::string> broken;
  if (job.has_deadline() && !(p.time_s <= job.deadline_s))
    broken.push_back(std::isnan(p.time_s) ? "time unknown" : sim::time_words(p.time_s - job.deadline_s) + " late");
  if (job.has_target() && !(p.accuracy >= job.target_accuracy))
    broken.push_back(std::isnan(p.accuracy) ? "accuracy unknown"
                                            : fmt::format("accuracy {:.4f} short", job.target_accuracy - p.accuracy));
  if (job.has_cost_limit() && !(held_usd(p) <= job.cost_limit_usd))
    broken.push_back(std::isnan(held_usd(p)) ? "money unknown" : sim::money_words(held_usd(p) - job.cost_limit_usd) + " over");
  return broken;
}

/// Of strategies that predict from past runs both what is expected and what limits are held against: `time_s` is the latter.
bool has_both_kinds(const Scenario& scenario, const std::string& policy, const Prediction& p) {
  for (const policies::PolicySpec& spec : scenario.policies) {
    if (spec.name != policy) continue;
    const policies::ConfigureEntry* entry = policies::find_strategy(policies::configure_strategies(), spec.configure.name);
    return entry != nullptr && entry->uses_history && !std::isnan(p.safe_cost_usd);
  }
  return false;
}

/// The money that the table shows for it: what choices are ranked by is shown where it is money and not the expected.
double shown_usd(const Prediction& p, bool by_ranked) {
  return by_ranked && !std::isnan(p.ranked_cost_usd) ? p.ranked_cost_usd : p.cost_usd;
}

/// How far the candidate is behind another by what the job is for, and in what is shown.
std::string behind(const sim::Job& job, const Prediction& p, const Prediction& other, bool by_ranked) {
  const auto more = [](double mine, double theirs, const char* what) {
    if (!(theirs > 0) || std::isnan(mine)) return std::string("not better");
    const double part = mine / theirs - 1;
    if (std::abs(part) < 5e-4) return std::string("level");
    return fmt::format("{} {}", sim::percent_words(std::abs(part)), part > 0 ? what : "less");
  };
  if (job.objective == sim::Objective::min_time) return more(p.time_s, other.time_s, "more time");
  if (job.objective == sim::Objective::max_accuracy) return fmt::format("accuracy {:.4f} lower", other.accuracy - p.accuracy);
  return more(shown_usd(p, by_ranked), shown_usd(other, by_ranked), "more money");
}

std::string standing(const JobStory& story, std::size_t rank, std::size_t chosen, bool by_ranked) {
  const Prediction& p = story.menu.ranked[rank].predicted;
  std::vector<std::string> words;
  if (rank == chosen) words.emplace_back("chosen");
  const std::vector<std::string> broken = broken_limits(*story.job, p);
  words.insert(words.end(), broken.begin(), broken.end());
  if (rank != chosen && broken.empty() && p.feasible)
    words.push_back(rank < chosen ? "ranked better, not started"
                                  : behind(*story.job, p, story.menu.ranked[chosen].predicted, by_ranked));
  if (broken.empty() && !p.feasible && p.note.empty()) words.emplace_back("cannot run");
  if (!p.note.empty()) words.push_back(p.note);
  if (p.extrapolated) words.emplace_back("extrapolated");
  return fmt::format("{}", fmt::join(words, "; "));
}

/// The entry of the menu that the job was first started with; the first without a start.
std::size_t chosen_rank(const JobStory& story) {
  for (const scenarios::DecisionRow& decision : story.decisions)
    if (decision.decision == "start" && decision.rank >= 0) return static_cast<std::size_t>(decision.rank);
  return 0;
}

/// The best, the chosen one, and the best of each pool: what the choice was between.
std::vector<std::size_t> shown_ranks(const JobStory& story, std::size_t chosen, bool all) {
  constexpr std::size_t kBest = 5;
  std::vector<std::size_t> shown;
  std::map<int, int> of_pool;
  for (std::size_t rank = 0; rank < story.menu.ranked.size(); ++rank) {
    const int pool = story.menu.ranked[rank].configuration.groups.front().pool;
    if (all || rank < kBest || rank == chosen || of_pool[pool] == 0) shown.push_back(rank);
    ++of_pool[pool];
  }
  return shown;
}

/// By what the candidates stand in their order where none keeps the limits.
std::string order_without_feasible(const JobStory& story) {
  const sim::Job& job = *story.job;
  std::vector<Choice> choices(story.menu.ranked.begin(), story.menu.ranked.end());
  const sim::Menu again = policies::rank(job, choices);
  const auto in_rank = [&](std::size_t from) {
    std::vector<const sim::Configuration*> mine, ranked;
    for (std::size_t i = from; i < choices.size(); ++i) mine.push_back(&choices[i].configuration);
    for (const Choice& choice : again.ranked)
      if (from == 0 || !(choice.configuration == choices.front().configuration)) ranked.push_back(&choice.configuration);
    return std::equal(mine.begin(), mine.end(), ranked.begin(), ranked.end(),
                      [](const auto* a, const auto* b) { return *a == *b; });
  };
  const bool all = in_rank(0);
  if (!all && !in_rank(1)) return "in the policy's own order";
  std::vector<std::string> missed;
  if (job.has_deadline()) missed.emplace_back("time over the deadline");
  if (job.has_target()) missed.emplace_back("accuracy under the floor");
  if (job.has_cost_limit()) missed.emplace_back("money over the limit");
  const char* ties = job.objective == sim::Objective::min_time       ? "time"
                     : job.objective == sim::Objective::max_accuracy ? "accuracy"
                                                                     : "money";
  return fmt::format("{}by what they miss, the least first{}; those that miss the same by {}",
                     all ? "in order " : "the manual configuration first, the others in order ",
                     missed.empty() ? std::string()
                                    : fmt::format(" ({}, as {} of its limit)", fmt::join(missed, " + "),
                                                  missed.size() == 1 ? "a part" : "parts, each"),
                     ties);
}

void say_candidates(const JobStory& story, const Scenario& scenario, bool all) {
  const std::size_t candidates = story.menu.ranked.size(), chosen = std::min(chosen_rank(story), candidates - 1);
  if (candidates == 1) {
    const Choice& only = story.menu.ranked.front();
    const bool both = has_both_kinds(scenario, story.policy, only.predicted);
    say("  one choice: {}{}, predicted {}{}, {}{}, accuracy {}{}; {}\n", resources_words(only.configuration, scenario.cluster),
        only.configuration.batch_size() > 0 ? ", batch " + sim::figure(only.configuration.batch_size(), 6) : "",
        both ? "at most " : "", sim::time_words(only.predicted.time_s),
        both ? fmt::format("at most {}, expected ", sim::money_words(only.predicted.safe_cost_usd)) : "",
        sim::money_words(only.predicted.cost_usd), both ? "at least " : "", accuracy_words(only.predicted.accuracy),
        standing(story, 0, 0, false));
  } else {
    const std::vector<std::size_t> shown = shown_ranks(story, chosen, all);
    const auto feasible =
        std::count_if(story.menu.ranked.begin(), story.menu.ranked.end(), [](const Choice& c) { return c.predicted.feasible; });
    const bool both = std::any_of(shown.begin(), shown.end(), [&](std::size_t rank) {
      return has_both_kinds(scenario, story.policy, story.menu.ranked[rank].predicted);
    });
    const std::string count = sim::counted(static_cast<double>(candidates), "candidate");
    say("  {}; predicted without waiting:\n{}{}\n",
        feasible == 0
            ? count + ", none of which keeps the limits"
            : fmt::format("{}, of which {} the limits", count, feasible == 1 ? "1 keeps" : fmt::format("{} keep", feasible)),
        feasible == 0 ? fmt::format("  {}\n", order_without_feasible(story)) : "",
        both ? "  <= and >= pessimistic, what limits are held against; ~ expected\n" : "");
    // The last column of money says who is dearer: the expected, or one between expected and pessimistic.
    const bool by_ranked = both && std::any_of(shown.begin(), shown.end(), [&](std::size_t rank) {
                             const Prediction& p = story.menu.ranked[rank].predicted;
                             return std::abs(p.ranked_cost_usd - p.cost_usd) > 1e-6 * p.cost_usd;
                           });
    std::vector<std::vector<std::string>> rows{{"rank", "resources", "batch", both ? "time <=" : "time",
                                                both ? "money ~" : "money", both ? "accuracy >=" : "accuracy", ""}};
    std::vector<bool> left{false, true, false, false, false, false, true};
    if (both) {
      rows.front().insert(rows.front().begin() + 4, "money <=");
      left.insert(left.begin() + 4, false);
    }
    if (by_ranked) {
      rows.front().insert(rows.front().begin() + 6, "ranked by");
      left.insert(left.begin() + 6, false);
    }
    std::vector<report::Tone> tones{report::Tone::plain};
    for (const std::size_t rank : shown) {
      const Choice& choice = story.menu.ranked[rank];
      const Prediction& p = choice.predicted;
      rows.push_back({fmt::format("{}", rank + 1), resources_words(choice.configuration, scenario.cluster),
                      sim::figure(choice.configuration.batch_size(), 6), sim::time_words(p.time_s), sim::money_words(p.cost_usd),
                      accuracy_words(p.accuracy), standing(story, rank, chosen, by_ranked)});
      if (both) rows.back().insert(rows.back().begin() + 4, sim::money_words(held_usd(p)));
      if (by_ranked) rows.back().insert(rows.back().begin() + 6, sim::money_words(shown_usd(p, true)));
      tones.push_back(rank == chosen ? report::Tone::best : p.feasible ? report::Tone::plain : report::Tone::broken);
    }
    say_in_colour(report::aligned(rows, left, takes_colour(stdout) ? tones : std::vector<report::Tone>(), table_width()));
    if (shown.size() < candidates) say("  and {} more (--all lists them)\n", candidates - shown.size());
  }
  std::map<std::string, int> reasons;
  for (const Choice& choice : story.menu.ranked) {
    const std::vector<std::string> broken = broken_limits(*story.job, choice.predicted);
    for (const std::string& limit : broken)
      ++reasons[limit.ends_with("late")    ? "too late"
                : limit.ends_with("over")  ? "too dear"
                : limit.ends_with("short") ? "too inaccurate"
                                           : limit];
    if (broken.empty() && !choice.predicted.feasible)
      ++reasons[choice.predicted.note.empty() ? "cannot run" : choice.predicted.note];
  }
  if (candidates > 1 && !story.too_large.empty())
    reasons["too large for the memory of their devices, so no candidates"] = static_cast<int>(story.too_large.size());
  if (reasons.empty()) return;
  std::vector<std::string> words;
  for (const auto& [reason, count] : reasons) words.push_back(fmt::format("{} {}", count, reason));
  say("\n  Rejected: {}.\n", fmt::join(words, "; "));
  if (!story.menu.remedy.empty()) say("  {}.\n", story.menu.remedy);
}

/// How long it held devices: where it was stopped on the way, the sum of its stages.
double held_s(const JobStory& story) {
  if (story.stages.size() < 2) return story.end_s - story.start_s;
  double sum_s = 0;
  for (const scenarios::StageRow& stage : story.stages) sum_s += stage.end_s - stage.start_s;
  return sum_s;
}

void say_what_happened(const JobStory& story, const Scenario& scenario) {
  const double submit_s = story.submit_s;
  if (std::isnan(story.start_s)) {
    say("  It never started: {}{}.\n", story.state, story.reason.empty() ? "" : ", " + story.reason);
    return;
  }
  const double ran_s = held_s(story), waited_s = story.end_s - submit_s - ran_s;
  std::string waited = waited_s > 0 ? "waited " + sim::time_words(waited_s) : "did not wait";
  if (waited_s > 0 && story.end_s - story.start_s > ran_s)
    waited += fmt::format(" ({} before it first started)", sim::time_words(story.start_s - submit_s));
  say("  It {} and ran {} on {} x {}{}; {}{} at {}.\n", waited, sim::time_words(ran_s), story.workers, story.pool,
      story.batch_size > 0 ? ", batch " + sim::figure(story.batch_size, 6) : "", story.state,
      story.reason.empty() ? "" : " (" + story.reason + ")", sim::time_words(story.end_s));
  std::vector<std::vector<std::string>> rows{{"", "predicted", "happened", "limit", ""}};
  const auto row = [&](const char* what, const std::string& predicted, const std::string& happened, const std::string& limit,
                       bool limited, bool kept) {
    rows.push_back({what, predicted, happened, limit, !limited ? "" : kept ? "kept" : "broken"});
  };
  const auto start = std::find_if(story.decisions.begin(), story.decisions.end(),
                                  [](const scenarios::DecisionRow& d) { return d.decision == "start"; });
  const bool has = start != story.decisions.end();
  const std::size_t rank = chosen_rank(story);
  const bool both =
      has && rank < story.menu.ranked.size() && has_both_kinds(scenario, story.policy, story.menu.ranked[rank].predicted);
  const auto named = [&](const char* kind, const std::string& words) { return both ? kind + words : words; };
  const sim::Job* job = story.job ? &*story.job : nullptr;
  row("time, waiting left out", has ? named("at most ", sim::time_words(start->predicted_time_s)) : "-", sim::time_words(ran_s),
      "", false, true);
  if (job != nullptr && job->has_deadline())
    row("time, waiting included", "", sim::time_words(story.end_s - submit_s), sim::time_words(job->deadline_s), true,
        story.end_s <= sim::on_date_grid(submit_s + job->deadline_s));
  row("money", has ? named("expected ", sim::money_words(start->predicted_cost_usd)) : "-", sim::money_words(story.cost_usd),
      job != nullptr && job->has_cost_limit() ? sim::money_words(job->cost_limit_usd) : "",
      job != nullptr && job->has_cost_limit(), job != nullptr && story.cost_usd <= job->cost_limit_usd * (1 + 1e-9));
  if (!std::isnan(story.accuracy))
    row("accuracy", has ? named("at least ", accuracy_words(start->predicted_accuracy)) : "-", accuracy_words(story.accuracy),
        job != nullptr && job->has_target() ? sim::figure(job->target_accuracy, 4) : "", false, true);
  say("\n{}", report::aligned(rows, {true, false, false, false, true}, {}, table_width()));
  std::vector<std::string> events;
  if (story.preemptions > 0) events.push_back(sim::counted(story.preemptions, "preemption"));
  if (story.reconfigurations > 0) events.push_back(sim::counted(story.reconfigurations, "reconfiguration"));
  if (!events.empty()) say("  On the way: {}.\n", fmt::join(events, ", "));
  for (const scenarios::DecisionRow& decision : story.decisions)
    if (decision.decision == "place" && !decision.note.empty()) say("  place: {}\n", decision.note);
  if (story.stages.size() < 2) return;
  std::vector<std::vector<std::string>> stages{{"stage", "resources", "batch", "begins", "ends", "accuracy", "money"}};
  for (const scenarios::StageRow& stage : story.stages)
    stages.push_back({fmt::format("{}", stage.stage), fmt::format("{} x {}", stage.workers, stage.pool),
                      stage.batch_size > 0 ? sim::figure(stage.batch_size, 6) : "-", sim::time_words(stage.start_s),
                      sim::time_words(stage.end_s), accuracy_words(stage.accuracy), sim::money_words(stage.cost_usd)});
  say("\n{}", report::aligned(stages, {false, true, false, false, false, false, false}, {}, table_width()));
}

/// Whether the run's first choice is the one that is ranked first again: else the candidates are not those of the run.
bool is_same_menu(const JobStory& story, const sim::Cluster& cluster) {
  for (const scenarios::DecisionRow& decision : story.decisions) {
    if (decision.decision != "configure" || decision.rank != 0 || story.menu.ranked.empty()) continue;
    const sim::Configuration& first = story.menu.ranked.front().configuration;
    return cluster.pools[static_cast<std::size_t>(first.groups.front().pool)].name == decision.pool &&
           first.workers() == decision.workers;
  }
  return true;
}

}  // namespace

int explain_command(const ExplainArguments& arguments) {
  scenarios::check_results(arguments.folder);
  const scenarios::Explained explained = scenarios::explain_job({.folder = arguments.folder,
                                                                 .job = arguments.job,
                                                                 .policy = arguments.policy,
                                                                 .repetition = arguments.repetition,
                                                                 .inputs = arguments.inputs});
  const Scenario& scenario = *explained.scenario;
  bool is_first = true;
  for (const JobStory& story : explained.stories) {
    if (is_first) {
      const sim::Job* job = story.job ? &*story.job : nullptr;
      say("{}",
          wrapped(fmt::format(
              "{}{}, submitted at {}{}.", arguments.job,
              job != nullptr && job->profile != nullptr ? fmt::format(": {} on {}", job->profile->model, job->profile->dataset)
                                                        : "",
              sim::time_words(story.submit_s),
              job != nullptr ? fmt::format("; {}; for {}", limits_words(*job), objective_words(job->objective)) : "")));
      if (!explained.study.empty())
        say("{}", wrapped(fmt::format("The study {} keeps no jobs: its scenario's jobs ran again under its policies, without it.",
                                      explained.study)));
      if (explained.made_by != sim::program_version())
        say("The results are of version {}; candidates are ranked by this one, {}.\n", explained.made_by, sim::program_version());
    }
    is_first = false;
    say("\n{}\n", story.policy);
    if (!story.job)
      say("  The job does not arrive again in this scenario: its candidates are not known.\n");
    else if (story.job->work == sim::Work::rigid)
      say("  Its user says what it takes: nobody configures it, the queue decides when it runs.\n");
    else if (!story.menu.ranked.empty())
      say_candidates(story, scenario, arguments.all);
    if (story.job && !is_same_menu(story, scenario.cluster))
      say("  The run ranked another one first: these candidates are not quite its own.\n");
    say_what_happened(story, scenario);
  }
  return kOk;
}

}  // namespace rehearse::cli
