// A study: a question that is more than one table of policies. The scenario names it ("study": NAME, or an object with its name
// and parameters); it answers with tables. study.cpp lists all there are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "experiments/run/run.hpp"
#include "report/comparison.hpp"
#include "report/plots/figure.hpp"
#include "scenarios/read/loader_parts.hpp"

namespace rehearse::scenarios {

struct StudyResult {
  std::vector<report::Table> tables;
  std::vector<std::string> notes;  ///< what to know about the tables, a line each
  std::vector<report::NamedFigure> figures;
  std::vector<std::string> findings = {};  ///< what was found, a sentence each: before the tables
  report::SavingColumn saving = {};        ///< what the study says of savings, where it does
  bool policy_failed = false;              ///< some policy failed: the exit status says so
};

class Study : public StudyParameters {
 public:
  /// `folder` is the results folder in the making; a study may use subfolders of it, and drops them. Settings of the scenario may
  /// be changed before children are started. Throws what run_scenario throws.
  virtual StudyResult run(Scenario& scenario, const RunOptions& options, const ResultsFolder& folder) const = 0;
};

/// All there are.
const std::vector<StudyKind>& studies();

/// 2^from, ..., 2^to.
std::vector<double> powers_of_two(int from, int to);

/// A mistake unless every job is listed (no generators) and trains to an accuracy floor.
void require_listed_jobs_with_floors(sim::ObjectReader& in, const Scenario& scenario, sim::Mistakes& mistakes);

/// The column of jobs.csv with the money of a job that is far from all others: without the pools' while nobody runs.
inline const char* money_column(const Scenario& scenario) {
  return scenario.costs.billing == sim::Billing::pool ? "marginal_cost_usd" : "cost_usd";
}

/// A name of anything as a part of a file's name: what is not a letter, digit, dot, underscore or hyphen becomes %xx.
std::string file_name(std::string_view name);

/// Runs the scenario's study and leaves the results folder: a CSV file for each table, a figure for each where gnuplot is,
/// summary.json, scenario.json.
report::StudySummary run_study(Scenario& scenario, const RunOptions& options, bool& policy_failed);

}  // namespace rehearse::scenarios
