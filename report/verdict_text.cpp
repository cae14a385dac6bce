// The verdict in words and as data: made from its figures alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/comparison.hpp"
#include "report/policy_name.hpp"
#include "report/row_writer.hpp"
#include "sim/base/text.hpp"

namespace rehearse::report {

namespace {

/// "a", "a and b", "a, b and c".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t n = 0; n < names.size(); ++n)
    text += (n == 0 ? "" : n + 1 < names.size() ? ", " : " and ") + name_for_text(names[n]);
  return text;
}

template <class Wanted>
std::vector<std::string> names_of(const RunVerdict& v, Wanted&& wanted) {
  std::vector<std::string> names;
  for (const PolicyVerdict& policy : v.policies)
    if (wanted(policy)) names.push_back(policy.name);
  return names;
}

std::string rounded_percent(double percent) { return fmt::format("{:.{}f}", percent, std::abs(percent) < 9.95 ? 1 : 0); }

double most_repetitions_more(const RunVerdict& v, const std::vector<std::string>& names) {
  double most = 0;
  for (const std::string& name : names) most = std::max(most, v.find(name)->repetitions_more);
  return most;
}

std::string points(double share) { return fmt::format("{:.{}f}", 100 * share, std::abs(share) < 0.0995 ? 1 : 0); }

/// " (1 of 24 jobs)" of all repetitions, where they are known.
std::string more_broken_jobs(const PolicyVerdict& p) {
  return std::isnan(p.jobs) ? "" : fmt::format(" ({:.0f} of {:.0f} jobs)", p.more_broken_jobs, p.jobs);
}

std::vector<std::string> level_with_best(const RunVerdict& v) {
  return names_of(v, [](const PolicyVerdict& p) { return p.standing == Standing::level; });
}

/// Policies that would be cheaper than `than` if only they were known to keep limits.
std::vector<std::string> unproven(const RunVerdict& v, const std::string& than) {
  const PolicyVerdict* other = v.find(than);
  return names_of(v, [&](const PolicyVerdict& p) {
    return p.keeping == Keeping::undecided && p.cheaper_than_reference_percent.mean > other->cheaper_than_reference_percent.mean;
  });
}

std::string unproven_part(const RunVerdict& v, const std::string& than) {
  const std::vector<std::string> names = unproven(v, than);
  if (names.empty()) return "";
  return fmt::format("; whether {}, cheaper still, {} them is undecided: {}", listed(names), names.size() == 1 ? "keeps" : "keep",
                     repetitions_more_words(most_repetitions_more(v, names)));
}

/// As good as the reference is little worth where the reference breaks many.
std::string reference_part(const RunVerdict& v) {
  const double share = v.find(v.reference)->broken_share;
  return share <= kBrokenMargin
             ? ""
             : fmt::format("; {} itself breaks those of {} % of the jobs", name_for_text(v.reference), points(share));
}

std::string cheapest_sentence(const RunVerdict& v) {
  std::string text =
      fmt::format("{} is the cheapest that keeps limits as well as {}: {} cheaper", name_for_text(v.winner),
                  name_for_text(v.reference), percent_with_interval(v.find(v.winner)->cheaper_than_reference_percent));
  if (const std::vector<std::string> level = level_with_best(v); !level.empty())
    text += fmt::format("; {} {} level with it", listed(level), level.size() == 1 ? "is" : "are");
  return text + unproven_part(v, v.winner) + reference_part(v) + ".";
}

std::string level_sentence(const RunVerdict& v) {
  std::vector<std::string> level = level_with_best(v);
  const bool is_same = std::all_of(level.begin(), level.end(),
                                   [&](const std::string& name) { return v.find(name)->dearer_than_best_percent.mean == 0; });
  std::erase(level, v.reference);
  if (v.best != v.reference) level.insert(level.begin(), v.best);
  return fmt::format("No policy that keeps limits as well as {0} is cheaper than it: {1} {2}{3}{4}.", name_for_text(v.reference),
                     listed(level),
                     is_same             ? (level.size() == 1 ? "costs the same" : "cost the same")
                     : level.size() == 1 ? "is level with it"
                                         : "are level with it",
                     unproven_part(v, v.reference), reference_part(v));
}

std::string undecided_sentence(const RunVerdict& v) {
  const std::string reference = name_for_text(v.reference);
  const auto in_cost = names_of(v, [](const PolicyVerdict& p) { return p.standing == Standing::undecided; });
  if (!in_cost.empty())
    return fmt::format(
        "No verdict yet: {} costs least of those that keep limits as well as {}, but against {} that is undecided: {}.",
        name_for_text(v.best), reference, listed(in_cost), repetitions_more_words(most_repetitions_more(v, in_cost)));
  const auto in_limits =
      names_of(v, [](const PolicyVerdict& p) { return p.keeping == Keeping::undecided && !p.is_surely_dearer; });
  double fewest = v.find(in_limits.front())->repetitions_more;
  for (const std::string& name : in_limits) fewest = std::min(fewest, v.find(name)->repetitions_more);
  std::vector<std::string> nearest = in_limits;
  std::erase_if(nearest, [&](const std::string& name) { return v.find(name)->repetitions_more > fewest; });
  return fmt::format("No verdict yet: whether {} {} limits as well as {} is undecided: {}{}.", listed(in_limits),
                     in_limits.size() == 1 ? "keeps" : "keep", reference, repetitions_more_words(fewest),
                     nearest.size() == in_limits.size() ? "" : " for " + listed(nearest));
}

std::string nobody_sentence(const RunVerdict& v) {
  const PolicyVerdict* nearest = nullptr;
  for (const PolicyVerdict& p : v.policies)
    if (p.keeping == Keeping::no && (nearest == nullptr || p.more_broken < nearest->more_broken)) nearest = &p;
  const bool is_sure = std::all_of(v.policies.begin(), v.policies.end(),
                                   [](const PolicyVerdict& p) { return p.keeping != Keeping::no || p.breaks_surely(); });
  const std::string reference = name_for_text(v.reference);
  std::string text = is_sure ? "No policy keeps limits as well as " + reference
                             : fmt::format("No policy kept limits as well as {} in these repetitions", reference);
  if (nearest != nullptr)
    text += fmt::format(": {} comes nearest, and {} those of {} points more of the jobs{}", name_for_text(nearest->name),
                        is_sure ? "breaks" : "broke", points(nearest->more_broken),
                        nearest->breaks_surely() ? "" : more_broken_jobs(*nearest) + ", which may be chance");
  return text + reference_part(v) + ".";
}

}  // namespace

std::string percent_with_interval(const Estimate& e) {
  const bool has_width = rounded_percent(e.ci95_low) != rounded_percent(e.ci95_high);
  if (std::isnan(e.ci95_low) || !has_width) return rounded_percent(e.mean) + " %";
  return fmt::format("{} % [{}, {}]", rounded_percent(e.mean), rounded_percent(e.ci95_low), rounded_percent(e.ci95_high));
}

std::string repetitions_more_words(double n) {
  if (std::isinf(n)) return fmt::format("more than {:.0f} repetitions more", kMostRepetitions);
  return fmt::format("about {:.0f} repetition{} more", n, n == 1 ? "" : "s");
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
  const std::string reference = name_for_text(v.reference);
  switch (v.outcome) {
    case Outcome::cheapest:
      return cheapest_sentence(v);
    case Outcome::reference:
      return fmt::format("No policy that keeps limits as well as {} is cheaper than it{}{}.", reference,
                         unproven_part(v, v.reference), reference_part(v));
    case Outcome::level:
      return level_sentence(v);
    case Outcome::undecided:
      return undecided_sentence(v);
    case Outcome::nobody_keeps:
      return nobody_sentence(v);
    case Outcome::no_cost:
      return fmt::format("No winner: no policy that keeps limits as well as {} has an effective cost above 0.", reference);
    case Outcome::one_repetition:
      if (!v.has_limits) return "One repetition gives figures and no verdict: that takes two repetitions at least.";
      return fmt::format("One repetition gives figures and no verdict: that takes about {:.0f} repetitions at least.",
                         fewest_repetitions(v.comparisons, v.unit_share));
    case Outcome::one_policy:
      return fmt::format("No verdict: there is no policy to hold against {}.", reference);
    case Outcome::no_reference:
      return fmt::format("No verdict: {}, which the others are held against, failed.", reference);
    case Outcome::no_job:
      return "No verdict: no job counts.";
  }
  return "";
}

std::string verdict_in_row(const RunVerdict& v, std::string_view policy) {
  const PolicyVerdict* p = v.find(policy);
  if (p == nullptr) return "";
  if (p->is_yardstick) return "yardstick";
  if (p->name == v.winner) return p->name == v.reference ? "cheapest; reference" : "cheapest";
  const std::string role = p->name == v.reference ? "reference" : "";
  if (!v.has_verdict()) return role;
  switch (p->keeping) {
    case Keeping::not_judged:
      return role;
    case Keeping::no:
      return p->breaks_surely()
                 ? fmt::format("does not keep limits: +{} points", points(p->more_broken))
                 : fmt::format("broke more limits here: +{} points{}", points(p->more_broken), more_broken_jobs(*p));
    case Keeping::undecided:
      if (p->is_surely_dearer)
        return fmt::format("dearer than {}; limits undecided: {} points, at most {}", name_for_text(v.reference),
                           points(p->more_broken), points(p->more_broken_high));
      return fmt::format("limits undecided: {} points, at most {}; {}", points(p->more_broken), points(p->more_broken_high),
                         repetitions_more_words(p->repetitions_more));
    case Keeping::yes:
      break;
  }
  if (p->is_as_reference && role.empty()) return fmt::format("each job as under {}", name_for_text(v.reference));
  std::string text;
  switch (p->standing) {
    case Standing::best:
      text = v.outcome == Outcome::undecided ? "cheapest so far" : "cheapest, not by itself";
      break;
    case Standing::level:
      text = (p->dearer_than_best_percent.mean == 0 ? "same cost as " : "level with ") + v.best;
      break;
    case Standing::dearer:
      text = fmt::format("{} dearer than {}", percent_with_interval(p->dearer_than_best_percent), v.best);
      break;
    case Standing::undecided:
      text = fmt::format("undecided against {}: {}", v.best, repetitions_more_words(p->repetitions_more));
      break;
    case Standing::not_judged:
      text = v.outcome == Outcome::undecided || v.outcome == Outcome::nobody_keeps ? "" : "no effective cost: cannot win";
  }
  return role.empty() || text.empty() ? role + text : role + "; " + text;
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
  if (s.verdict.is_exact && s.replays_recorded)
    return s.repetitions > 1
               ? "Nothing is left to chance: repetitions do not differ. Jobs run for as long as they were recorded to."
               : "Nothing is left to chance. Jobs run for as long as they were recorded to.";
  if (s.verdict.is_exact)
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

std::string verdict_json(const Summary& s) {
  const RunVerdict& v = s.verdict;
  std::string text = fmt::format(
      "{{\"outcome\": \"{}\", \"winner\": {}, \"best\": {}, \"reference\": {},\n    \"sentence\": {},\n    \"population\": "
      "\"{}\", "
      "\"exact\": {}, \"comparisons\": {}, \"unit_share\": {}, "
      "\"has_limits\": {},\n    \"policies\": [",
      name_of_outcome(v.outcome), json_name(v.winner), json_name(v.best), json_name(v.reference),
      json_string(verdict_sentence(v)), name_of(s.population), v.is_exact, json_number(v.comparisons), json_number(v.unit_share),
      v.has_limits);
  for (const PolicyVerdict& p : v.policies)
    text += fmt::format(
        "{}\n     {{\"policy\": {}, \"yardstick\": {}, \"keeps_limits\": {}, \"standing\": {}, \"broken_share\": {}, "
        "\"more_broken\": {}, \"more_broken_low\": {}, \"more_broken_high\": {}, \"repetitions_more\": {},\n"
        "      \"as_reference\": {}, \"surely_dearer\": {},\n      \"cheaper_than_reference_percent\": {},\n"
        "      \"dearer_than_best_percent\": {}}}",
        &p == &v.policies.front() ? "" : ",", json_string(p.name), p.is_yardstick, json_keeping(p.keeping),
        json_standing(p.standing), json_number(p.broken_share), json_number(p.more_broken), json_number(p.more_broken_low),
        json_number(p.more_broken_high), json_number(p.repetitions_more), p.is_as_reference, p.is_surely_dearer,
        json_estimate(p.cheaper_than_reference_percent), json_estimate(p.dearer_than_best_percent));
  return text + "]}";
}

}  // namespace rehearse::report
