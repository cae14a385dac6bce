// The verdict of a study of queues: who completes jobs soonest, by the statistics of the verdict on money (report/verdict.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/comparison.hpp"
#include "report/policy_name.hpp"
#include "report/row_writer.hpp"
#include "report/verdict_words.hpp"
#include "sim/base/text.hpp"

namespace rehearse::report {

namespace {

std::string policies_words(const Statement& v, Standing standing) {
  return listed(names_of(v, [&](const PolicyVerdict& policy) { return policy.standing == standing; }));
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
std::string other_quantities(const Summary& s, const Statement& v, const std::string& policy) {
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
std::string unfinished_part(const Statement& v) {
  const auto names = names_of(v, [](const PolicyVerdict& policy) { return policy.keeping == Keeping::no; });
  if (names.empty()) return "";
  return fmt::format("; {} finish{} fewer jobs and {} not compared", listed(names), names.size() == 1 ? "es" : "",
                     names.size() == 1 ? "is" : "are");
}

std::string shorter_words(const Statement& v) {
  const std::string level = policies_words(v, Standing::level);
  return fmt::format("{} shorter{}", percent_with_interval(v.find(v.winner)->cheaper_than_reference_percent),
                     level.empty() ? "" : fmt::format("; level with it: {}", level));
}

/// A statement in words that follow a scope; it has a verdict.
std::string completion_words(const Summary& s, const Statement& v) {
  const std::string reference = name_for_text(v.reference);
  switch (v.outcome) {
    case Outcome::cheapest:
      return fmt::format("{} has the shortest mean completion time: {} for {}'s {}, {}", name_for_text(v.winner),
                         mean_words(s, v.winner), reference, mean_words(s, v.reference), shorter_words(v));
    case Outcome::reference:
      return fmt::format("no policy has a shorter mean completion time than {}: {}", reference, mean_words(s, v.reference));
    case Outcome::level:
      return fmt::format("no policy has a shorter mean completion time than {} by more than {:.0f} %: {}", reference,
                         100 * kLevelMargin, mean_words(s, v.reference));
    case Outcome::undecided: {
      const auto rivals = names_of(v, [](const PolicyVerdict& policy) { return policy.standing == Standing::undecided; });
      return fmt::format("{} has the shortest mean completion time, but against {} that is undecided: {}", name_for_text(v.best),
                         listed(rivals), repetitions_more_words(most_repetitions_more(v, rivals)));
    }
    case Outcome::nobody_keeps:
      return fmt::format("every other policy finishes fewer jobs than {}", reference);
    default:
      return fmt::format("no job is finished under {} and another policy", reference);
  }
}

std::string in_new_worlds(const Summary& s, const RunVerdict& v) {
  if (v.is_exact()) return "";
  if (v.new_worlds.outcome == Outcome::one_repetition)
    return " One repetition shows nothing of new worlds: that takes two repetitions at least.";
  if (!v.agrees()) return fmt::format(" In new worlds {}.", completion_words(s, v.new_worlds));
  if (v.drawn.outcome == Outcome::cheapest) return fmt::format(" In new worlds too: {}.", shorter_words(v.new_worlds));
  return v.drawn.outcome == Outcome::reference || v.drawn.outcome == Outcome::level ? " In new worlds too." : "";
}

}  // namespace

bool is_of_queues(const StudyKinds& kinds) { return kinds.queue && !kinds.configuration; }

RunVerdict judge_completion(const Summary& s) {
  // The bound of what was never seen is of limits: whether a job finishes is seen.
  VerdictInput input{
      .reference = s.verdict.drawn.reference, .mean = Mean::arithmetic, .is_exact = s.verdict.is_exact(), .unit_share = 0};
  const SummaryRow* reference = row_of(s, s.verdict.drawn.reference);
  for (const SummaryRow& row : s.rows) {
    VerdictPolicy& policy = input.policies.emplace_back(VerdictPolicy{.name = row.policy, .is_yardstick = row.is_yardstick});
    if (!row.ok || reference == nullptr) continue;
    const std::vector<double> jct_s = by_repetition(row, "jct_mean_s"), jobs = by_repetition(row, "jobs");
    const std::vector<double> finished = by_repetition(row, "jobs_completed"),
                              theirs = by_repetition(*reference, "jobs_completed");
    bool finishes_fewer = false;
    for (std::size_t r = 0; r < finished.size(); ++r) finishes_fewer = finishes_fewer || finished[r] < theirs[r];
    for (std::size_t r = 0; r < jct_s.size(); ++r)
      policy.repetitions.push_back({.broken_share = jobs[r] > 0 ? (finishes_fewer ? 1.0 : 0.0) : sim::kNan,
                                    .effective_cost_usd = jct_s[r],
                                    .jobs = jobs[r]});
  }
  return judge_twice(std::move(input));
}

std::string completion_sentence(const Summary& s, const RunVerdict& v) {
  if (!v.drawn.has_verdict()) return verdict_sentence(v);
  return fmt::format("{} {}{}.{}{}", scope_words(v), completion_words(s, v.drawn),
                     v.drawn.outcome == Outcome::nobody_keeps ? "" : unfinished_part(v.drawn), in_new_worlds(s, v),
                     other_quantities(s, v.drawn, v.drawn.best));
}

namespace {

std::string completion_row_words(const Statement& v, const PolicyVerdict& p) {
  if (p.name == v.winner) return "shortest mean JCT";
  if (p.keeping == Keeping::no) return "finishes fewer jobs";
  switch (p.standing) {
    case Standing::best:
      return v.outcome == Outcome::undecided ? "shortest mean JCT so far" : "shortest mean JCT, not by itself";
    case Standing::level:
      return (p.dearer_than_best_percent.mean == 0 ? "same mean JCT as " : "level with ") + v.best;
    case Standing::dearer:
      return fmt::format("mean JCT {} longer than {}'s", percent_with_interval(p.dearer_than_best_percent), v.best);
    case Standing::undecided:
      return fmt::format("undecided against {}: {}", v.best, repetitions_more_words(p.repetitions_more));
    case Standing::not_judged:
      break;
  }
  return "";
}

}  // namespace

std::string completion_in_row(const RunVerdict& v, std::string_view policy) {
  const PolicyVerdict* p = v.drawn.find(policy);
  if (p == nullptr) return "";
  if (p->is_yardstick) return "yardstick";
  const std::string role = p->name == v.drawn.reference ? "reference" : "";
  if (!v.drawn.has_verdict()) return role;
  const std::string text =
      row_of_both(v, *p, completion_row_words(v.drawn, *p), completion_row_words(v.new_worlds, *v.new_worlds.find(policy)));
  return role.empty() || text.empty() ? role + text : role + "; " + text;
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
      "{{\"outcome\": \"{}\", \"winner\": {}, \"best\": {}, \"reference\": {},\n    \"sentence\": {},\n    \"new_worlds\": "
      "{{\"outcome\": \"{}\", \"winner\": {}, \"best\": {}}},\n    \"policies\": [",
      name_of_completion(v.drawn.outcome), json_name(v.drawn.winner), json_name(v.drawn.best), json_name(v.drawn.reference),
      json_string(completion_sentence(s, v)), name_of_completion(v.new_worlds.outcome), json_name(v.new_worlds.winner),
      json_name(v.new_worlds.best));
  for (const PolicyVerdict& p : v.drawn.policies) {
    const PolicyVerdict& anew = *v.new_worlds.find(p.name);
    const bool is_judged = p.keeping != Keeping::not_judged;
    text += fmt::format(
        "{}\n     {{\"policy\": {}, \"yardstick\": {}, \"in_words\": {}, \"finishes_fewer\": {}, \"standing\": {},\n"
        "      \"shorter_than_reference_percent\": {},\n      \"longer_than_best_percent\": {},\n"
        "      \"new_worlds\": {{\"standing\": {}, \"longer_than_best_percent\": {}, \"repetitions_more\": {}}}}}",
        &p == &v.drawn.policies.front() ? "" : ",", json_string(p.name), p.is_yardstick,
        json_string(completion_in_row(v, p.name)), is_judged ? (p.keeping == Keeping::no ? "true" : "false") : "null",
        json_completion_standing(p.standing), json_estimate(cheaper_than_reference(v, p)),
        json_estimate(p.dearer_than_best_percent), json_completion_standing(anew.standing),
        json_estimate(anew.dearer_than_best_percent), json_number(anew.repetitions_more));
  }
  return text + "]}";
}

}  // namespace rehearse::report
