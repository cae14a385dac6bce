// The verdict in words and as data: made from its figures alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/comparison.hpp"
#include "report/policy_name.hpp"
#include "report/row_writer.hpp"
#include "report/verdict_words.hpp"
#include "sim/base/text.hpp"

namespace rehearse::report {

namespace {

std::string rounded_percent(double percent) { return fmt::format("{:.{}f}", percent, std::abs(percent) < 9.95 ? 1 : 0); }

std::string points(double share) { return fmt::format("{:.{}f}", 100 * share, std::abs(share) < 0.0995 ? 1 : 0); }

/// " (1 of 24 jobs)" of all repetitions, where they are known.
std::string more_broken_jobs(const PolicyVerdict& p) {
  return std::isnan(p.jobs) ? "" : fmt::format(" ({:.0f} of {:.0f} jobs)", p.more_broken_jobs, p.jobs);
}

std::vector<std::string> level_with_best(const Statement& s) {
  return names_of(s, [](const PolicyVerdict& p) { return p.standing == Standing::level; });
}

std::string level_part(const Statement& s) {
  const std::vector<std::string> level = level_with_best(s);
  return level.empty() ? "" : fmt::format("; {} {} level with it", listed(level), level.size() == 1 ? "is" : "are");
}

/// Policies that would be cheaper than `than` if only they were known to keep limits.
std::string unproven_part(const Statement& s, const std::string& than) {
  const PolicyVerdict* other = s.find(than);
  const std::vector<std::string> names = names_of(s, [&](const PolicyVerdict& p) {
    return p.keeping == Keeping::undecided && p.cheaper_than_reference_percent.mean > other->cheaper_than_reference_percent.mean;
  });
  if (names.empty()) return "";
  return fmt::format("; whether {}, cheaper still, {} them is undecided: {}", listed(names), names.size() == 1 ? "keeps" : "keep",
                     repetitions_more_words(most_repetitions_more(s, names)));
}

/// As good as the reference is little worth where the reference breaks many.
std::string reference_part(const Statement& s) {
  const double share = s.find(s.reference)->broken_share;
  return share <= s.limits_margin
             ? ""
             : fmt::format("; {} itself breaks those of {} % of the jobs", name_for_text(s.reference), points(share));
}

std::string cheaper_words(const Statement& s, const std::string& policy) {
  return percent_with_interval(s.find(policy)->cheaper_than_reference_percent) + " cheaper";
}

std::string level_words(const Statement& s) {
  std::vector<std::string> level = level_with_best(s);
  const bool is_same = std::all_of(level.begin(), level.end(),
                                   [&](const std::string& name) { return s.find(name)->dearer_than_best_percent.mean == 0; });
  std::erase(level, s.reference);
  if (s.best != s.reference) level.insert(level.begin(), s.best);
  const bool is_one = level.size() == 1;
  return fmt::format("{} {}", listed(level),
                     is_same  ? (is_one ? "costs the same" : "cost the same")
                     : is_one ? "is level with it"
                              : "are level with it");
}

std::string undecided_words(const Statement& s) {
  const std::string reference = name_for_text(s.reference);
  const auto in_cost = names_of(s, [](const PolicyVerdict& p) { return p.standing == Standing::undecided; });
  if (!in_cost.empty())
    return fmt::format("{} costs least of those that keep limits as well as {}, but against {} that is undecided: {}",
                       name_for_text(s.best), reference, listed(in_cost),
                       repetitions_more_words(most_repetitions_more(s, in_cost)));
  const auto in_limits =
      names_of(s, [](const PolicyVerdict& p) { return p.keeping == Keeping::undecided && !p.is_surely_dearer; });
  double fewest = s.find(in_limits.front())->repetitions_more;
  for (const std::string& name : in_limits) fewest = std::min(fewest, s.find(name)->repetitions_more);
  std::vector<std::string> nearest = in_limits;
  std::erase_if(nearest, [&](const std::string& name) { return s.find(name)->repetitions_more > fewest; });
  return fmt::format("it is undecided whether {} {} limits as well as {}: {}{}", listed(in_limits),
                     in_limits.size() == 1 ? "keeps" : "keep", reference, repetitions_more_words(fewest),
                     nearest.size() == in_limits.size() ? "" : " for " + listed(nearest));
}

std::string nobody_words(const Statement& s) {
  const PolicyVerdict* nearest = nullptr;
  for (const PolicyVerdict& p : s.policies)
    if (p.keeping == Keeping::no && (nearest == nullptr || p.more_broken < nearest->more_broken)) nearest = &p;
  std::string text = "no policy keeps limits as well as " + name_for_text(s.reference);
  if (nearest != nullptr)
    text += fmt::format(": {} comes nearest, and breaks those of {} points more of the jobs{}", name_for_text(nearest->name),
                        points(nearest->more_broken), more_broken_jobs(*nearest));
  return text;
}

/// A statement in words that follow a scope; it has a verdict.
std::string words(const Statement& s) {
  const std::string reference = name_for_text(s.reference);
  switch (s.outcome) {
    case Outcome::cheapest:
      return fmt::format("{} is the cheapest that keeps limits as well as {}: {}{}{}", name_for_text(s.winner), reference,
                         cheaper_words(s, s.winner), level_part(s), unproven_part(s, s.winner));
    case Outcome::reference:
      return fmt::format("no policy that keeps limits as well as {} is cheaper than it{}", reference,
                         unproven_part(s, s.reference));
    case Outcome::level:
      return fmt::format("no policy that keeps limits as well as {} is cheaper than it: {}{}", reference, level_words(s),
                         unproven_part(s, s.reference));
    case Outcome::undecided:
      return undecided_words(s);
    case Outcome::nobody_keeps:
      return nobody_words(s);
    default:
      return fmt::format("no policy that keeps limits as well as {} has an effective cost above 0", reference);
  }
}

/// What the winner of the drawn jobs lacks in new worlds.
std::string lacking_words(const Statement& s, const std::string& winner) {
  const PolicyVerdict& p = *s.find(winner);
  std::string text = fmt::format("{} is {}", name_for_text(winner), cheaper_words(s, winner));
  if (p.keeping == Keeping::undecided)
    return text + fmt::format(", but whether it keeps limits as well is undecided (at most {} points more broken): {}",
                              points(p.more_broken_high), repetitions_more_words(p.repetitions_more));
  const auto rivals = names_of(s, [](const PolicyVerdict& other) { return other.standing == Standing::undecided; });
  return text + fmt::format(", but against {} that is undecided: {}", listed(rivals),
                            repetitions_more_words(most_repetitions_more(s, rivals)));
}

/// Empty where new worlds would be the same.
std::string new_worlds_sentence(const RunVerdict& v) {
  const Statement& s = v.new_worlds;
  if (v.is_exact() || s.outcome == Outcome::no_cost) return "";
  if (s.outcome == Outcome::one_repetition)
    return s.has_limits
               ? fmt::format(" One repetition shows nothing of new worlds: that takes about {:.0f} repetitions at least.",
                             fewest_repetitions(s.comparisons, s.unit_share, s.limits_margin))
               : " One repetition shows nothing of new worlds: that takes two repetitions at least.";
  if (s.outcome == Outcome::undecided && v.drawn.outcome == Outcome::cheapest)
    return fmt::format(" In new worlds {}.", lacking_words(s, v.drawn.winner));
  if (!v.agrees()) return fmt::format(" In new worlds {}.", words(s));
  if (s.outcome == Outcome::cheapest)
    return fmt::format(" In new worlds too: {}{}{}.", cheaper_words(s, s.winner), level_part(s), unproven_part(s, s.winner));
  const bool may_be_chance = s.outcome == Outcome::nobody_keeps &&
                             std::any_of(s.policies.begin(), s.policies.end(),
                                         [](const PolicyVerdict& p) { return p.keeping == Keeping::no && !p.breaks_surely; });
  return may_be_chance ? " That may be chance: of new worlds it is not shown." : " In new worlds too.";
}

/// Where a policy stands by one statement, and if it cannot win, why.
std::string row_words(const Statement& s, const PolicyVerdict& p) {
  if (p.name == s.winner) return "cheapest";
  switch (p.keeping) {
    case Keeping::not_judged:
      return "";
    case Keeping::no:
      return p.breaks_surely ? fmt::format("does not keep limits: +{} points", points(p.more_broken))
                             : fmt::format("broke more limits here: +{} points{}", points(p.more_broken), more_broken_jobs(p));
    case Keeping::undecided:
      if (p.is_surely_dearer)
        return fmt::format("dearer than {}; limits undecided: {} points, at most {}", name_for_text(s.reference),
                           points(p.more_broken), points(p.more_broken_high));
      return fmt::format("limits undecided: {} points, at most {}; {}", points(p.more_broken), points(p.more_broken_high),
                         repetitions_more_words(p.repetitions_more));
    case Keeping::yes:
      break;
  }
  if (p.is_as_reference) return fmt::format("each job as under {}", name_for_text(s.reference));
  switch (p.standing) {
    case Standing::best:
      return s.outcome == Outcome::undecided ? "cheapest so far" : "cheapest, not by itself";
    case Standing::level:
      return (p.dearer_than_best_percent.mean == 0 ? "same cost as " : "level with ") + s.best;
    case Standing::dearer:
      return fmt::format("{} dearer than {}", percent_with_interval(p.dearer_than_best_percent), s.best);
    case Standing::undecided:
      return fmt::format("undecided against {}: {}", s.best, repetitions_more_words(p.repetitions_more));
    case Standing::not_judged:
      break;
  }
  return s.outcome == Outcome::undecided || s.outcome == Outcome::nobody_keeps ? "" : "no effective cost: cannot win";
}

}  // namespace

std::string percent_with_interval(const Estimate& e) {
  const bool has_width = rounded_percent(e.ci95_low) != rounded_percent(e.ci95_high);
  if (std::isnan(e.ci95_low) || !has_width) return rounded_percent(e.mean) + " %";
  return fmt::format("{} % [{}, {}]", rounded_percent(e.mean), rounded_percent(e.ci95_low), rounded_percent(e.ci95_high));
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t n = 0; n < names.size(); ++n)
    text += (n == 0 ? "" : n + 1 < names.size() ? ", " : " and ") + name_for_text(names[n]);
  return text;
}

double most_repetitions_more(const Statement& s, const std::vector<std::string>& names) {
  double most = 0;
  for (const std::string& name : names) most = std::max(most, s.find(name)->repetitions_more);
  return most;
}

std::string repetitions_more_words(double n) {
  if (std::isinf(n)) return fmt::format("more than {:.0f} repetitions more", kMostRepetitions);
  return fmt::format("about {:.0f} repetition{} more", n, n == 1 ? "" : "s");
}

std::string scope_words(const RunVerdict& v) {
  const std::vector<double>& jobs = v.drawn.jobs;
  const double all = std::accumulate(jobs.begin(), jobs.end(), 0.0);
  const bool is_even = std::all_of(jobs.begin(), jobs.end(), [&](double n) { return n == jobs.front(); });
  const std::string which = jobs.empty()                 ? "n these jobs"
                            : all == 1                   ? "n this job"
                            : jobs.size() > 1 && is_even ? fmt::format("n these {} x {:.0f} jobs", jobs.size(), jobs.front())
                                                         : fmt::format("n these {:.0f} jobs", all);
  return (v.is_example() ? "An example, not evidence: o" : "O") + which;
}

std::string row_of_both(const RunVerdict& v, const PolicyVerdict& drawn, const std::string& on_drawn,
                        const std::string& in_new_worlds) {
  if (!v.new_worlds.has_verdict()) return on_drawn;
  const PolicyVerdict& anew = *v.new_worlds.find(drawn.name);
  const bool stands_alike = drawn.keeping == anew.keeping && drawn.standing == anew.standing &&
                            v.drawn.best == v.new_worlds.best && v.drawn.winner == v.new_worlds.winner;
  if (in_new_worlds.empty()) return on_drawn;
  if (stands_alike || in_new_worlds == on_drawn) return in_new_worlds;
  return on_drawn.empty() ? "in new worlds " + in_new_worlds : on_drawn + "; in new worlds " + in_new_worlds;
}

std::string shown_table(const Table& table, const std::vector<std::string>& yardsticks, std::size_t width) {
  Table marked = table;
  const auto column =
      std::find_if(table.columns.begin(), table.columns.end(), [](const Column& c) { return c.name == "policy"; });
  if (column == table.columns.end()) return table_text(table, width);
  for (std::vector<Cell>& row : marked.rows)
    if (auto* policy = std::get_if<std::string>(&row[static_cast<std::size_t>(column - table.columns.begin())]))
      *policy = shown_name(*policy, std::find(yardsticks.begin(), yardsticks.end(), *policy) != yardsticks.end());
  return table_text(marked, width);
}

std::string verdict_sentence(const RunVerdict& v) {
  const std::string reference = name_for_text(v.drawn.reference);
  switch (v.drawn.outcome) {
    case Outcome::one_policy:
      return fmt::format("No verdict: there is no policy to hold against {}.", reference);
    case Outcome::no_reference:
      return fmt::format("No verdict: {}, which the others are held against, failed.", reference);
    case Outcome::no_job:
      return "No verdict: no job counts.";
    case Outcome::no_cost:
      return fmt::format("{} {}.", scope_words(v), words(v.drawn)) + new_worlds_sentence(v);
    default:
      return fmt::format("{} {}{}.", scope_words(v), words(v.drawn), reference_part(v.drawn)) + new_worlds_sentence(v);
  }
}

std::string verdict_in_row(const RunVerdict& v, std::string_view policy) {
  const PolicyVerdict* drawn = v.drawn.find(policy);
  if (drawn == nullptr) return "";
  if (drawn->is_yardstick) return "yardstick";
  const std::string role = drawn->name == v.drawn.reference ? "reference" : "";
  if (!v.drawn.has_verdict()) return role;
  const std::string text =
      row_of_both(v, *drawn, row_words(v.drawn, *drawn), row_words(v.new_worlds, *v.new_worlds.find(policy)));
  if (drawn->name == v.drawn.winner && !role.empty()) return text + "; " + role;
  return role.empty() || text.empty() ? role + text : role + "; " + text;
}

Estimate cheaper_than_reference(const RunVerdict& v, const PolicyVerdict& drawn) {
  if (v.new_worlds.has_verdict()) return v.new_worlds.find(drawn.name)->cheaper_than_reference_percent;
  return {drawn.cheaper_than_reference_percent.mean, sim::kNan, sim::kNan};
}

std::string_view name_of(Population population) {
  switch (population) {
    case Population::none:
      return "none";
    case Population::noise:
      return "noise";
    case Population::workload:
      return "workload";
    case Population::both:
      return "both";
  }
  return "";
}

std::string population_line(const Summary& s) {
  if (s.verdict.is_exact() && s.replays_recorded)
    return s.repetitions > 1
               ? "Nothing is left to chance: repetitions do not differ. Jobs run for as long as they were recorded to."
               : "Nothing is left to chance. Jobs run for as long as they were recorded to.";
  if (s.verdict.is_exact())
    return s.repetitions > 1 ? "Nothing is left to chance: repetitions do not differ, figures are exact for these jobs."
                             : "Every error of the world is 0: figures are exact for these jobs.";
  const std::string_view what = s.population == Population::noise ? "the world's noise; the jobs are always the same"
                                : s.population == Population::workload
                                    ? "the workload, drawn anew in each repetition; the world has no noise"
                                    : "the world's noise and the workload, both drawn anew in each repetition";
  return s.repetitions > 1 ? fmt::format("Intervals are over {}.", what) : "";
}

namespace {

std::string_view name_of_outcome(Outcome outcome) {
  constexpr std::string_view kNames[] = {"cheapest", "reference",      "level",      "undecided",    "nobody_keeps",
                                         "no_cost",  "one_repetition", "one_policy", "no_reference", "no_job"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string json_keeping(Keeping keeping) {
  constexpr std::string_view kNames[] = {"\"yes\"", "\"no\"", "\"undecided\"", "null"};
  return std::string(kNames[static_cast<std::size_t>(keeping)]);
}

std::string json_standing(Standing standing) {
  constexpr std::string_view kNames[] = {"\"best\"", "\"level\"", "\"dearer\"", "\"undecided\"", "null"};
  return std::string(kNames[static_cast<std::size_t>(standing)]);
}

}  // namespace

std::string json_name(const std::string& name) { return name.empty() ? "null" : json_string(name); }

std::string json_estimate(const Estimate& e) {
  return fmt::format(R"({{"mean": {}, "ci95_low": {}, "ci95_high": {}}})", json_number(e.mean), json_number(e.ci95_low),
                     json_number(e.ci95_high));
}

namespace {

/// What a statement says that the other one may not; bounds and intervals are of new worlds alone.
std::string json_standings(const PolicyVerdict& p) {
  return fmt::format("\"keeps_limits\": {}, \"standing\": {}, \"dearer_than_best_percent\": {}", json_keeping(p.keeping),
                     json_standing(p.standing), json_estimate(p.dearer_than_best_percent));
}

}  // namespace

std::string verdict_json(const Summary& s) {
  const Statement &drawn = s.verdict.drawn, &anew = s.verdict.new_worlds;
  std::string text = fmt::format(
      "{{\"outcome\": \"{}\", \"winner\": {}, \"best\": {}, \"reference\": {},\n    \"sentence\": {},\n    \"population\": "
      "\"{}\", \"exact\": {}, \"example\": {}, \"limits_margin\": {}, \"comparisons\": {}, \"unit_share\": {}, "
      "\"has_limits\": {},\n    \"new_worlds\": {{\"outcome\": \"{}\", \"winner\": {}, \"best\": {}}},\n    \"policies\": [",
      name_of_outcome(drawn.outcome), json_name(drawn.winner), json_name(drawn.best), json_name(drawn.reference),
      json_string(verdict_sentence(s.verdict)), name_of(s.population), s.verdict.is_exact(), s.verdict.is_example(),
      json_number(drawn.limits_margin), json_number(anew.comparisons), json_number(anew.unit_share), anew.has_limits,
      name_of_outcome(anew.outcome), json_name(anew.winner), json_name(anew.best));
  for (const PolicyVerdict& p : drawn.policies) {
    const PolicyVerdict& other = *anew.find(p.name);
    text += fmt::format(
        "{}\n     {{\"policy\": {}, \"yardstick\": {}, \"in_words\": {},\n      \"broken_share\": {}, \"more_broken\": {}, "
        "\"as_reference\": {}, {},\n      \"cheaper_than_reference_percent\": {},\n"
        "      \"new_worlds\": {{{}, \"more_broken_low\": {}, \"more_broken_high\": {}, \"surely_dearer\": {}, "
        "\"repetitions_more\": {}}}}}",
        &p == &drawn.policies.front() ? "" : ",", json_string(p.name), p.is_yardstick,
        json_string(verdict_in_row(s.verdict, p.name)), json_number(p.broken_share), json_number(p.more_broken),
        p.is_as_reference, json_standings(p), json_estimate(cheaper_than_reference(s.verdict, p)), json_standings(other),
        json_number(other.more_broken_low), json_number(other.more_broken_high), other.is_surely_dearer,
        json_number(other.repetitions_more));
  }
  return text + "]}";
}

}  // namespace rehearse::report
