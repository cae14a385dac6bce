#include "report/regression_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/scenario_changes.hpp"
#include "report/table.hpp"
#include "report/xml_text.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::report {

namespace {

constexpr std::size_t kJobsNamed = 3;
constexpr std::size_t kReasonInTable = 40, kReasonInFull = 2000;  ///< characters of why a policy failed

using Row = std::vector<std::string>;

std::string five_digits(double value) { return std::isnan(value) ? "-" : fmt::format("{:.5g}", value); }

std::string difference(double value, bool absolute) {
  if (std::isnan(value)) return "-";
  return absolute ? fmt::format("{:+.2f}", value) : fmt::format("{:+.2f} %", 100 * value);
}

std::string interval(const Finding& f) {
  if (std::isnan(f.change.ci95_low)) return "-";
  return fmt::format("[{}, {}]", difference(f.change.ci95_low, f.absolute), difference(f.change.ci95_high, f.absolute));
}

/// `limit`: characters of the reason.
std::string verdict(const Finding& f, std::size_t limit) {
  std::string text(name_of(f.verdict));
  if (!f.reason.empty()) text += ": " + sim::printable(f.reason, limit);
  if (!f.fails) text += " (reported only)";
  return text;
}

Row heads() { return {"scenario", "policy", "metric", "recorded", "now", "change", "95 % interval", "tolerance", "verdict"}; }

Row cells(const std::string& scenario, const Finding& f) {
  const std::string tolerance = f.metric.empty() ? "-"
                                : f.absolute     ? fmt::format("{:.2f}", f.tolerance)
                                                 : fmt::format("{:.2f} %", 100 * f.tolerance);
  return {scenario,
          f.policy,
          f.metric.empty() ? "-" : f.metric,
          five_digits(f.recorded),
          five_digits(f.now),
          difference(f.change.mean, f.absolute),
          interval(f),
          tolerance,
          verdict(f, kReasonInTable)};
}

std::vector<Row> rows_that_differ(const std::vector<ScenarioFindings>& scenarios) {
  std::vector<Row> rows{heads()};
  for (const ScenarioFindings& s : scenarios)
    for (const Finding& f : s.findings)
      if (f.verdict != Verdict::same) rows.push_back(cells(s.scenario, f));
  return rows;
}

/// Policies of suites that nothing is recorded of.
std::size_t unguarded(const std::vector<ScenarioFindings>& scenarios) {
  std::size_t count = 0;
  for (const ScenarioFindings& s : scenarios) count += s.new_fails ? s.new_policies.size() : 0;
  return count;
}

std::string tally(const std::vector<ScenarioFindings>& scenarios) {
  std::size_t policies = 0, counts[4] = {};
  for (const ScenarioFindings& s : scenarios) {
    std::string_view last;
    for (const Finding& f : s.findings) {
      policies += f.policy != last;
      last = f.policy;
      ++counts[static_cast<std::size_t>(f.verdict)];
    }
  }
  std::string text = fmt::format(
      "{}, {}: {} better, {} same, {} worse, {} broken", sim::counted(static_cast<double>(scenarios.size()), "scenario"),
      sim::counted(static_cast<double>(policies), "policy", "policies"), counts[0], counts[1], counts[2], counts[3]);
  if (const std::size_t fresh = unguarded(scenarios); fresh > 0) text += fmt::format(", {} not recorded", fresh);
  return text;
}

const char* outcome(const std::vector<ScenarioFindings>& scenarios) {
  const bool worse = std::any_of(scenarios.begin(), scenarios.end(), [](const ScenarioFindings& s) { return !s.alarms.empty(); });
  return worse ? "worse" : unguarded(scenarios) > 0 ? "not recorded" : "passed";
}

std::string part(double value, std::string_view unit) {
  return unit == "$" ? fmt::format("${:.4g}", value) : fmt::format("{:.6g} {}", value, unit);
}

std::string headline(const std::string& scenario, const Finding& f) {
  std::string text = scenario + ", " + f.policy;
  if (!f.metric.empty()) text += ", " + f.metric;
  text += ": " + verdict(f, kReasonInFull);
  if (!std::isnan(f.change.mean) && !f.metric.empty())
    text += fmt::format(", {} {}", difference(f.change.mean, f.absolute), interval(f));
  return text;
}

std::string decision(const DecisionChange& d) {
  return fmt::format("{} -> {}", d.recorded.empty() ? "nothing" : d.recorded, d.now.empty() ? "nothing" : d.now);
}

/// What changed in the jobs; a line that begins with blanks is about the job above it.
std::vector<std::string> lines_about(const JobChanges& c) {
  std::vector<std::string> lines;
  if (c.jobs > 0 || c.notes.empty())
    lines.push_back(fmt::format("{} of {} changed{}", c.changed, sim::counted(static_cast<double>(c.jobs), "job"),
                                c.worst.empty() ? "" : "; the worst:"));
  for (const JobChange& job : c.worst) {
    lines.push_back(fmt::format("job {} in repetition {}: {} -> {}", job.job, job.repetition, part(job.recorded, c.unit),
                                part(job.now, c.unit)));
    lines.push_back(fmt::format("  ran: {} -> {}", job.recorded_run, job.now_run));
    if (job.decision) lines.push_back("  decided: " + decision(*job.decision));
  }
  if (c.first)
    lines.push_back(fmt::format("the first decision of repetition {} that changed is about job {}: {}", c.first->repetition,
                                c.first->job, decision(*c.first)));
  lines.insert(lines.end(), c.notes.begin(), c.notes.end());
  return lines;
}

bool same_jobs(const JobChanges& a, const JobChanges& b) {
  return std::equal(a.worst.begin(), a.worst.end(), b.worst.begin(), b.worst.end(),
                    [](const JobChange& x, const JobChange& y) { return x.job == y.job && x.repetition == y.repetition; });
}

/// Of a scenario's alarm: a headline, then what changed in the jobs; said once where several metrics of a policy name the same
/// jobs.
std::vector<std::string> lines_about(const ScenarioFindings& s, std::size_t index) {
  const Alarm& alarm = s.alarms[index];
  std::vector<std::string> lines{headline(s.scenario, alarm.finding)};
  if (alarm.finding.metric.empty()) return lines;
  const bool said = index > 0 && s.alarms[index - 1].finding.policy == alarm.finding.policy &&
                    same_jobs(s.alarms[index - 1].changes, alarm.changes);
  const std::vector<std::string> more = said ? std::vector<std::string>{"the same jobs"} : lines_about(alarm.changes);
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

/// By how much the time that policies take for their decisions has changed; it tells of the machine too.
std::string decision_time(const ScenarioFindings& s) {
  double recorded = 0, now = 0;
  for (const ScenarioFindings::DecisionTime& time : s.decision_times)
    if (!std::isnan(time.recorded_s) && !std::isnan(time.now_s)) {
      recorded += time.recorded_s;
      now += time.now_s;
    }
  return fmt::format("{}: decisions took {:.3g} s, recorded {:.3g} s (of the machine; reported only)", s.scenario, now, recorded);
}

std::string other_scenario(const ScenarioFindings& s) {
  return fmt::format("{}: recorded with another scenario: {}", s.scenario, s.scenario_changes);
}

std::string news(const ScenarioFindings& s) {
  return s.new_policies.empty()
             ? ""
             : fmt::format("{}: {}: {}", s.scenario, s.new_fails ? "not recorded yet, run --update" : "only in the new results",
                           fmt::join(s.new_policies, ", "));
}

std::vector<std::string> names_of(const Results& results) {
  std::vector<std::string> names;
  for (const PolicyValues& policy : results.policies) names.push_back(policy.policy);
  return names;
}

/// Of the results, only these policies; of none, all.
void keep(const std::vector<std::string>& wanted, Results& results) {
  if (wanted.empty()) return;
  std::erase_if(results.policies,
                [&](const PolicyValues& p) { return std::find(wanted.begin(), wanted.end(), p.policy) == wanted.end(); });
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '<' || c == '*' || c == '_' || c == '[') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

}  // namespace

void check_policies(const std::vector<std::string>& wanted, const std::vector<std::string>& policies, const std::string& file) {
  sim::Mistakes mistakes;
  for (const std::string& name : wanted)
    if (std::find(policies.begin(), policies.end(), name) == policies.end())
      mistakes.add({.file = file,
                    .expected = "one of its policies",
                    .found = sim::shown(name),
                    .nearest = sim::nearest_name(name, policies)});
  mistakes.throw_if_any();
}

ScenarioFindings compare_folders(const FolderPair& folders, const std::vector<MetricRule>& given, const ChanceTable& chance) {
  const std::vector<MetricRule> rules = given.empty() ? default_rules(read_kinds(folders.recorded)) : given;
  const std::vector<std::string> metrics = metrics_of(rules);
  Results old = read_results(folders.recorded, metrics);
  Results young = read_results(folders.now, metrics);
  if (!folders.of_suite) check_policies(folders.policies, names_of(old), folders.recorded);
  for (Results* results : {&old, &young}) keep(folders.policies, *results);
  ScenarioFindings s{.scenario = old.scenario,
                     .scenario_changes = scenario_changes(folders.recorded, folders.now),
                     .findings = judge(old, young, rules, chance),
                     .new_fails = folders.of_suite};
  for (const Finding& f : s.findings)
    if (is_alarm(f))
      s.alarms.push_back(
          {f, f.metric.empty() ? JobChanges() : changes_of(folders.recorded, folders.now, f.policy, f.metric, kJobsNamed)});
  for (const PolicyValues& policy : young.policies) {
    const PolicyValues* before = old.find(policy.policy);
    if (before == nullptr)
      s.new_policies.push_back(policy.policy);
    else
      s.decision_times.push_back({policy.policy, before->decision_time_s, policy.decision_time_s});
  }
  return s;
}

bool has_alarm(const std::vector<ScenarioFindings>& scenarios) {
  return std::any_of(scenarios.begin(), scenarios.end(),
                     [](const ScenarioFindings& s) { return !s.alarms.empty() || (s.new_fails && !s.new_policies.empty()); });
}

std::string regression_text(const std::vector<ScenarioFindings>& scenarios, std::size_t width) {
  std::string text;
  for (const ScenarioFindings& s : scenarios)
    if (!s.scenario_changes.empty()) text += other_scenario(s) + "\n\n";
  const std::vector<Row> rows = rows_that_differ(scenarios);
  if (rows.size() > 1) text += aligned(rows, {true, true, true, false, false, false, false, false, true}, {}, width) + "\n";
  for (const ScenarioFindings& s : scenarios)
    for (std::size_t a = 0; a < s.alarms.size(); ++a) {
      const std::vector<std::string> lines = lines_about(s, a);
      text += lines.front() + "\n";
      for (std::size_t i = 1; i < lines.size(); ++i) text += "  " + lines[i] + "\n";
      text += "\n";
    }
  for (const ScenarioFindings& s : scenarios) text += decision_time(s) + "\n";
  for (const ScenarioFindings& s : scenarios)
    if (!s.new_policies.empty()) text += news(s) + "\n";
  return text + tally(scenarios) + "\n";
}

std::string regression_markdown(const std::vector<ScenarioFindings>& scenarios) {
  std::string text = "## Policy regression: " + std::string(outcome(scenarios)) + "\n\n" + tally(scenarios) + "\n";
  for (const ScenarioFindings& s : scenarios)
    if (!s.scenario_changes.empty()) text += "\n" + markdown_cell(other_scenario(s)) + "\n";
  const std::vector<Row> rows = rows_that_differ(scenarios);
  if (rows.size() > 1) {
    text += "\n";
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (const std::string& cell : rows[r]) text += "| " + markdown_cell(cell) + " ";
      text += r == 0 ? "|\n| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n" : "|\n";
    }
  }
  for (const ScenarioFindings& s : scenarios)
    for (std::size_t a = 0; a < s.alarms.size(); ++a) {
      const std::vector<std::string> lines = lines_about(s, a);
      text += "\n**" + markdown_cell(lines.front()) + "**\n\n";
      for (std::size_t i = 1; i < lines.size(); ++i)
        text +=
            (lines[i].starts_with("  ") ? "  - " : "- ") + markdown_cell(lines[i].substr(lines[i].find_first_not_of(' '))) + "\n";
    }
  text += "\n";
  for (const ScenarioFindings& s : scenarios) {
    text += "- " + markdown_cell(decision_time(s)) + "\n";
    if (!s.new_policies.empty()) text += "- " + markdown_cell(news(s)) + "\n";
  }
  return text;
}

std::string regression_junit(const std::vector<ScenarioFindings>& scenarios) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"rehearse regress\">\n";
  for (const ScenarioFindings& s : scenarios) {
    std::vector<std::string> policies;
    for (const Finding& f : s.findings)
      if (policies.empty() || policies.back() != f.policy) policies.push_back(f.policy);
    const auto of = [](const std::string& policy) { return [&](const Alarm& a) { return a.finding.policy == policy; }; };
    const auto failed = std::count_if(policies.begin(), policies.end(), [&](const std::string& policy) {
      return std::any_of(s.alarms.begin(), s.alarms.end(), of(policy));
    });
    const std::vector<std::string> fresh = s.new_fails ? s.new_policies : std::vector<std::string>();
    text += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n", xml_text(s.scenario),
                        policies.size() + fresh.size(), static_cast<std::size_t>(failed) + fresh.size());
    for (const std::string& policy : policies) {
      text += fmt::format("    <testcase classname=\"{}\" name=\"{}\">\n", xml_text(s.scenario), xml_text(policy));
      for (std::size_t a = 0; a < s.alarms.size(); ++a) {
        if (!of(policy)(s.alarms[a])) continue;
        const std::vector<std::string> lines = lines_about(s, a);
        text += fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n", name_of(s.alarms[a].finding.verdict),
                            xml_text(lines.front()), xml_text(fmt::format("{}", fmt::join(lines, "\n"))));
      }
      text += "    </testcase>\n";
    }
    for (const std::string& policy : fresh)
      text += fmt::format(
          "    <testcase classname=\"{}\" name=\"{}\">\n      <failure type=\"unrecorded\" message=\"{}\"/>\n"
          "    </testcase>\n",
          xml_text(s.scenario), xml_text(policy), "not recorded yet, run --update");
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace rehearse::report
