// The verdict of a study of queues: who completes jobs soonest, by the statistics of the verdict on money (report/verdict.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/comparison.hpp"
#include "report/policy_name.hpp"
#include "sim/base/text.hpp"

namespace rehearse::report {

namespace {

std::string policies_words(const RunVerdict& v, Standing standing) {
  std::vector<std::string> names;
  for (const PolicyVerdict& policy : v.policies)
    if (policy.standing == standing) names.push_back(name_for_text(policy.name));
  std::string text;
  for (std::size_t n = 0; n < names.size(); ++n) text += (n == 0 ? "" : n + 1 < names.size() ? ", " : " and ") + names[n];
  return text;
}

const SummaryRow* row_of(const Summary& s, std::string_view policy) {
  for (const SummaryRow& row : s.rows)
    if (row.policy == policy && row.ok) return &row;
  return nullptr;
}

/// One number a repetition; none where the row has no such field.
std::vector<double> by_repetition(const SummaryRow& row, std::string_view field) {
  for (const SummaryField& f : row.fields)
    if (f.name == field) return f.by_repetition;
  return {};
}

/// Of one policy's numbers to another's, paired, in percent; NaN: there is no such ratio.
Estimate changed_percent(const SummaryRow& of, const SummaryRow& from, std::string_view field, Mean mean) {
  const std::vector<double> mine = by_repetition(of, field), theirs = by_repetition(from, field);
  for (std::size_t r = 0; r < mine.size(); ++r)
    if (!std::isfinite(mine[r]) || !std::isfinite(theirs[r])) return {sim::kNan, sim::kNan, sim::kNan};
  const Estimate ratio = ratio_of_means(mine, theirs, mean);
  const auto percent = [](double value) { return 100 * (value - 1); };
  return {percent(ratio.mean), percent(ratio.ci95_low), percent(ratio.ci95_high)};
}

/// "82 % [80, 84] less", or "the same".
std::string change_words(const Estimate& percent) {
  if (std::isnan(percent.mean)) return "";
  if (std::abs(percent.mean) < 0.05) return "the same";
  if (percent.mean > 0) return percent_with_interval(percent) + " more";
  return percent_with_interval({-percent.mean, -percent.ci95_high, -percent.ci95_low}) + " less";
}

/// "p95 12.1 h for 68.2 h (82 % less)"; empty where a policy has no such quantity.
std::string beside(const char* what, const SummaryRow& row, const SummaryRow& reference, std::string_view field, Shown shown,
                   Mean mean_of = Mean::arithmetic) {
  const double mine = row.of(field).mean, theirs = reference.of(field).mean;
  if (std::isnan(mine) || std::isnan(theirs)) return "";
  const std::string change = change_words(changed_percent(row, reference, field, mean_of));
  return fmt::format("{} {} for {}{}", what, text_of(shown, mine), text_of(shown, theirs),
                     change.empty() ? "" : fmt::format(" ({})", change));
}

/// "deadlines kept 93.0 % for 80.0 % (+13.0 points [12.1, 13.9])".
std::string deadlines_beside(const SummaryRow& row, const SummaryRow& reference) {
  constexpr const char* kField = "deadline_met_fraction";
  const double mine = row.of(kField).mean, theirs = reference.of(kField).mean;
  if (std::isnan(mine) || std::isnan(theirs)) return "";
  std::vector<double> points = by_repetition(row, kField);
  const std::vector<double> from = by_repetition(reference, kField);
  for (std::size_t r = 0; r < points.size(); ++r) points[r] = 100 * (points[r] - from[r]);
  const Estimate more = estimate(points);
  std::string change = "the same";
  if (std::abs(more.mean) >= 0.05) change = fmt::format("{:+.1f} points", more.mean);
  if (more.ci95_high - more.ci95_low >= 0.05) change += fmt::format(" [{:+.1f}, {:+.1f}]", more.ci95_low, more.ci95_high);
  return fmt::format("deadlines kept {} for {} ({})", text_of(Shown::percent, mine), text_of(Shown::percent, theirs), change);
}

/// What else one asks of a queue, beside the reference's.
std::string other_quantities(const Summary& s, const RunVerdict& v, const std::string& policy) {
  const SummaryRow *row = row_of(s, policy), *reference = row_of(s, v.reference);
  if (row == nullptr || reference == nullptr || row == reference) return "";
  std::vector<std::string> parts{beside("p95", *row, *reference, "jct_p95_s", Shown::duration),
                                 beside("makespan", *row, *reference, "makespan_s", Shown::duration),
                                 deadlines_beside(*row, *reference)};
  constexpr std::string_view kCost = "effective_cost_usd";
  if (std::abs(changed_percent(*row, *reference, kCost, Mean::geometric).mean) >= 0.05)
    parts.push_back(beside("effective cost, $,", *row, *reference, kCost, Shown::money, Mean::geometric));
  std::erase(parts, "");
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text.empty() ? "" : fmt::format("\n{} beside {}: {}.", name_for_text(policy), name_for_text(v.reference), text);
}

std::string mean_words(const Summary& s, const std::string& policy) {
  const SummaryRow* row = row_of(s, policy);
  return row == nullptr ? "-" : text_of(Shown::duration, row->of("jct_mean_s").mean);
}

/// Those whose mean leaves jobs out that the reference finishes.
std::string unfinished_part(const RunVerdict& v) {
  std::vector<std::string> names;
  for (const PolicyVerdict& policy : v.policies)
    if (policy.keeping == Keeping::no) names.push_back(name_for_text(policy.name));
  if (names.empty()) return "";
  return fmt::format("; {} finish{} fewer jobs and {} not compared", fmt::join(names, ", "), names.size() == 1 ? "es" : "",
                     names.size() == 1 ? "is" : "are");
}

std::string soonest_sentence(const Summary& s, const RunVerdict& v) {
  const Estimate shorter = v.find(v.winner)->cheaper_than_reference_percent;
  const std::string level = policies_words(v, Standing::level);
  return fmt::format("{} has the shortest mean completion time: {} for {}'s {}, {} shorter{}{}.", name_for_text(v.winner),
                     mean_words(s, v.winner), name_for_text(v.reference), mean_words(s, v.reference),
                     percent_with_interval(shorter), level.empty() ? "" : fmt::format("; level with it: {}", level),
                     unfinished_part(v));
}

}  // namespace

bool is_of_queues(const StudyKinds& kinds) { return kinds.queue && !kinds.configuration; }

RunVerdict judge_completion(const Summary& s) {
  // The bound of what was never seen is of limits: whether a job finishes is seen.
  VerdictInput input{.reference = s.verdict.reference, .mean = Mean::arithmetic, .is_exact = s.verdict.is_exact, .unit_share = 0};
  const SummaryRow* reference = row_of(s, s.verdict.reference);
  for (const SummaryRow& row : s.rows) {
    VerdictPolicy& policy = input.policies.emplace_back(VerdictPolicy{.name = row.policy, .is_yardstick = row.is_yardstick});
    if (!row.ok || reference == nullptr) continue;
    const std::vector<double> jct_s = by_repetition(row, "jct_mean_s"), jobs = by_repetition(row, "jobs");
    const std::vector<double> finished = by_repetition(row, "jobs_completed"),
                              theirs = by_repetition(*reference, "jobs_completed");
    bool finishes_fewer = false;
    for (std::size_t r = 0; r < finished.size(); ++r) finishes_fewer = finishes_fewer || finished[r] < theirs[r];
    for (std::size_t r = 0; r < jct_s.size(); ++r)
      policy.repetitions.push_back(
          {.broken_share = jobs[r] > 0 ? (finishes_fewer ? 1.0 : 0.0) : sim::kNan, .effective_cost_usd = jct_s[r]});
  }
  return judge(input);
}

std::string completion_sentence(const Summary& s, const RunVerdict& v) {
  const std::string reference = name_for_text(v.reference);
  switch (v.outcome) {
    case Outcome::cheapest:
      return soonest_sentence(s, v) + other_quantities(s, v, v.winner);
    case Outcome::reference:
      return fmt::format("No policy has a shorter mean completion time than {}: {}{}.", reference, mean_words(s, v.reference),
                         unfinished_part(v));
    case Outcome::level:
      return fmt::format("No policy has a shorter mean completion time than {} by more than {:.0f} %: {}{}.", reference,
                         100 * kLevelMargin, mean_words(s, v.reference), unfinished_part(v)) +
             other_quantities(s, v, v.best);
    case Outcome::undecided: {
      double most = 0;
      for (const PolicyVerdict& policy : v.policies)
        if (policy.standing == Standing::undecided) most = std::max(most, policy.repetitions_more);
      return fmt::format("No verdict yet: {} has the shortest mean completion time, {}, but against {} that is undecided: {}{}.",
                         name_for_text(v.best), mean_words(s, v.best), policies_words(v, Standing::undecided),
                         repetitions_more_words(most), unfinished_part(v)) +
             other_quantities(s, v, v.best);
    }
    case Outcome::nobody_keeps:
      return fmt::format("No verdict: every other policy finishes fewer jobs than {}.", reference);
    case Outcome::no_cost:
      return fmt::format("No verdict: no job is finished under {} and another policy.", reference);
    case Outcome::one_repetition:
      return "One repetition of a world with noise gives figures and no verdict: that takes two repetitions at least.";
    case Outcome::one_policy:
    case Outcome::no_reference:
    case Outcome::no_job:
      break;
  }
  return verdict_sentence(v);
}

std::string completion_in_row(const RunVerdict& v, std::string_view policy) {
  const PolicyVerdict* p = v.find(policy);
  if (p == nullptr) return "";
  if (p->is_yardstick) return "yardstick";
  std::string text;
  if (p->name == v.winner)
    text = "shortest mean JCT";
  else if (v.has_verdict() && p->keeping == Keeping::no)
    text = "finishes fewer jobs";
  else if (p->standing == Standing::best)
    text = v.outcome == Outcome::undecided ? "shortest mean JCT so far" : "shortest mean JCT, not by itself";
  else if (p->standing == Standing::level)
    text = (p->dearer_than_best_percent.mean == 0 ? "same mean JCT as " : "level with ") + v.best;
  else if (p->standing == Standing::dearer)
    text = fmt::format("mean JCT {} longer than {}'s", percent_with_interval(p->dearer_than_best_percent), v.best);
  else if (p->standing == Standing::undecided)
    text = fmt::format("undecided against {}: {}", v.best, repetitions_more_words(p->repetitions_more));
  if (p->name != v.reference) return text;
  return text.empty() ? "reference" : "reference; " + text;
}

namespace {

std::string_view name_of_completion(Outcome outcome) {
  constexpr std::string_view kNames[] = {"shortest", "reference",      "level",      "undecided",    "others_finish_fewer",
                                         "no_job",   "one_repetition", "one_policy", "no_reference", "no_job"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string json_completion_standing(Standing standing) {
  constexpr std::string_view kNames[] = {"\"best\"", "\"level\"", "\"longer\"", "\"undecided\"", "null"};
  return std::string(kNames[static_cast<std::size_t>(standing)]);
}

}  // namespace

std::string completion_verdict_json(const Summary& s) {
  const RunVerdict v = judge_completion(s);
  std::string text = fmt::format(
      "{{\"outcome\": \"{}\", \"winner\": {}, \"best\": {}, \"reference\": {},\n    \"sentence\": {},\n    \"policies\": [",
      name_of_completion(v.outcome), json_name(v.winner), json_name(v.best), json_name(v.reference),
      json_string(completion_sentence(s, v)));
  for (const PolicyVerdict& p : v.policies) {
    const bool is_judged = p.keeping != Keeping::not_judged;
    text += fmt::format(
        "{}\n     {{\"policy\": {}, \"yardstick\": {}, \"finishes_fewer\": {}, \"standing\": {}, \"in_words\": {}, "
        "\"repetitions_more\": {},\n      \"shorter_than_reference_percent\": {},\n      \"longer_than_best_percent\": {}}}",
        &p == &v.policies.front() ? "" : ",", json_string(p.name), p.is_yardstick,
        is_judged ? (p.keeping == Keeping::no ? "true" : "false") : "null", json_completion_standing(p.standing),
        json_string(completion_in_row(v, p.name)), json_number(p.repetitions_more),
        json_estimate(p.cheaper_than_reference_percent), json_estimate(p.dearer_than_best_percent));
  }
  return text + "]}";
}

}  // namespace rehearse::report
