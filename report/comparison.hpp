// Policies side by side: what each would have cost, paired over jobs and repetitions (docs/reference/metrics.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/certificate.hpp"
#include "report/metric_fields.hpp"
#include "report/outcome.hpp"
#include "report/statistics.hpp"
#include "report/table.hpp"
#include "report/verdict.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::report {

/// All repetitions of one policy, or why there are none.
struct PolicyResult {
  std::string policy;
  bool ok = true;
  std::string reason;  ///< of the failure
  bool is_yardstick = false;
  std::vector<RunOutcome> repetitions;
  double run_cpu_s = 0;      ///< summed over repetitions
  double max_rss_bytes = 0;  ///< largest of them
};

struct SummaryField {
  std::string_view name;
  Estimate value;
  std::vector<double> by_repetition = {};  ///< of what stands in repetitions.csv
};

/// A choice that a policy made, and for how many jobs of all its repetitions.
struct ChosenCount {
  int pool = 0;  ///< index into Summary::pools
  int workers = 0;
  double batch_size = 0;  ///< 0: the job has none
  std::size_t jobs = 0;
  bool operator==(const ChosenCount&) const = default;
};

struct SummaryRow {
  std::string policy;
  bool ok = true;
  std::string reason;
  bool is_yardstick = false;
  std::vector<SummaryField> fields;
  std::vector<ChosenCount> chosen;  ///< the most frequent first
  double decision_time_s = 0, run_cpu_s = 0, max_rss_bytes = 0;
  /// NaN mean when the row has no such field.
  Estimate of(std::string_view field) const;
};

/// A file that the scenario read, and what became of its rows.
struct InputReport {
  struct Reason {
    std::string reason;
    std::uint64_t rows = 0;
    std::vector<std::int64_t> first_lines;
    std::uint64_t also = 0;  ///< rows that count under another reason
  };
  std::string path;
  std::string sha256;
  std::uint64_t rows = 0;
  std::uint64_t jobs = 0;
  std::vector<Reason> dropped;
  std::vector<Reason> repaired;
  std::vector<std::string> notes;
};

struct PoolFacts {
  std::string name, instance;
  int nodes = 0;  ///< at most, when autoscaled
  int devices_per_node = 0;
  double price_usd_per_hour = 0;  ///< of a node, by the catalogue
  std::string price_date;         ///< when that price held; empty: unsaid
};

/// What repetitions draw anew: what an interval is over.
enum class Population { none, noise, workload, both };
std::string_view name_of(Population population);

/// What a verdict is asked with (report/verdict.hpp).
struct VerdictTerms {
  std::string reference;
  Population population = Population::noise;
  bool is_exact = false;
  double unit_share = 1;
  bool has_limits = true;
  double limits_margin = kLimitsMargin;
};

struct Summary {
  std::string scenario;
  std::uint64_t seed = 0;
  int repetitions = 1;
  std::string baseline;
  sim::Billing billing = sim::Billing::allocated;
  double minimum_node_s = 0;
  StudyKinds kinds{.configuration = true};
  bool replays_recorded = false;      ///< some jobs run for as long as they were recorded to
  std::vector<std::string> warnings;  ///< of the scenario, a sentence each
  std::vector<InputReport> inputs;
  std::vector<SummaryRow> rows;
  std::optional<MeasureWindow> measure;  ///< of the jobs that count; none: all do
  std::vector<PoolFacts> pools;
  std::string price_dates;  ///< when the pools' prices held, as "2022-12" or "2022-12 to 2026"; empty: unsaid
  double origin_s = 0;      ///< first submit date of the input, subtracted from all dates
  Population population = Population::noise;
  RunVerdict verdict;
  std::optional<Certificate> certificate;  ///< where it was asked for
};

/// Where a study's tables have what policies save: for a figure of savings.
struct SavingColumn {
  std::string table, column;  ///< empty: nowhere
};

/// What a study found.
struct StudySummary {
  std::string scenario;
  std::string study;
  std::uint64_t seed = 0;
  int repetitions = 1;
  std::vector<std::string> warnings = {};  ///< of the scenario, a sentence each
  std::vector<InputReport> inputs;
  std::vector<std::string> findings = {};  ///< what was found, a sentence each
  SavingColumn saving = {};
  std::vector<Table> tables;
  std::vector<std::string> notes;            ///< what to know about them, a line each
  std::vector<std::string> yardsticks = {};  ///< policies that measure others and never win
  std::string figures_left_out;  ///< a line for the terminal alone: which figures this machine could not draw; empty: none
};

/// Rows in the order of `results`. Savings and speed-ups pair each job with the same job under the baseline, whose schedule is
/// the reference of finish-time fairness; regret with the policy named "oracle". The outcomes of a failed policy are not looked
/// at.
std::vector<SummaryRow> compare(const std::vector<PolicyResult>& results, std::string_view baseline);

/// The share of broken limits and the effective cost of each repetition: what `judge_twice` is given.
VerdictInput verdict_input(const std::vector<PolicyResult>& results, const VerdictTerms& terms);

/// A study's table for people: yardsticks are marked.
std::string shown_table(const Table& table, const std::vector<std::string>& yardsticks, std::size_t width = kTerminalWidth);

/// Both statements, which a run ends with.
std::string verdict_sentence(const RunVerdict& verdict);
/// In a policy's row: where it stands, and if it cannot win, why.
std::string verdict_in_row(const RunVerdict& verdict, std::string_view policy);
/// What intervals are over.
std::string population_line(const Summary& summary);
std::string verdict_json(const Summary& summary);
/// "21 % [12, 31]"; without an interval where it has no width.
std::string percent_with_interval(const Estimate& percent);

/// Whether policies differ in their queues alone: they pay the same prices, and what one asks is when jobs are done.
bool is_of_queues(const StudyKinds& kinds);
/// As `judge_twice`, with each repetition's mean completion time in the place of its cost; who finishes fewer jobs than the
/// reference in any repetition does not keep up with it, as its mean leaves them out. Of rows with their repetitions (`compare`).
RunVerdict judge_completion(const Summary& summary);
/// The sentences that a run of queues ends with: mean and p95 completion time, makespan, deadlines kept, with intervals.
std::string completion_sentence(const Summary& summary, const RunVerdict& by_completion);
std::string completion_in_row(const RunVerdict& by_completion, std::string_view policy);
std::string completion_verdict_json(const Summary& summary);
std::string json_estimate(const Estimate& e);
/// Null for none.
std::string json_name(const std::string& name);

/// summary.json and timing.json, as text.
std::string summary_json(const Summary& summary);
std::string timing_json(const Summary& summary);
std::string study_json(const StudySummary& summary);

/// One line, or two: who paid for what, and so what was compared.
std::string billing_line(sim::Billing billing, double minimum_node_s);

/// What the jobs of these runs last ran with; equally frequent choices in the order of pool, workers, batch.
std::vector<ChosenCount> chosen_in(const std::vector<RunOutcome>& repetitions);
/// What each policy chose, in one line: its three most frequent choices. Empty when no job started.
std::string choices_text(const Summary& summary);

/// How a terminal shows tables.
struct Screen {
  bool in_colour = false;  ///< best, failed and broken limits
  std::size_t width = kTerminalWidth;
};

/// The table of a terminal, and what to know about it below.
std::string terminal_table(const Summary& summary, const Screen& screen = {});

// The quantities of single runs, before they are averaged over repetitions: repetitions.csv.

inline constexpr const char* kRepetitionsFile = "repetitions.csv";

/// The whole file: a row for each policy that did not fail and each repetition. `step_evaluations` stands last: different steps
/// of the belief that were timed, and steps that searching place strategies tried.
std::string repetitions_csv(const std::vector<PolicyResult>& results, const std::vector<SummaryRow>& rows);

}  // namespace rehearse::report
