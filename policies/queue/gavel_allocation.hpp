// Heterogeneity-aware allocations as linear programmes: which share of its time each job should spend on each pool.
// Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads" (Gavel), OSDI 2020, section 4.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

class ClpSimplex;

namespace rehearse::policies {

/// Rows are jobs, columns pools.
struct GavelProblem {
  Eigen::MatrixXd
      throughput;  ///< share of the job's remaining work done in a second there, >= 0; 0: it cannot run there, but somewhere
  Eigen::MatrixXd devices;           ///< that it holds there
  Eigen::VectorXd capacity;          ///< devices of each pool
  Eigen::VectorXd weight;            ///< of each job in max-min, > 0
  Eigen::MatrixXd usd_per_s;         ///< that its devices there cost it, >= 0
  Eigen::VectorXd least_throughput;  ///< that a job needs to meet its deadline; 0: it has none
  Eigen::VectorXd elapsed_s = {};    ///< since each job was submitted; for finish-time fairness alone, as the next
  Eigen::VectorXd alone_s = {};      ///< that each would take in all, on an equal part of every pool
  Eigen::VectorXd count = {};        ///< of equal jobs that stand behind each row; empty: one

  Eigen::Index jobs() const { return throughput.rows(); }
  Eigen::Index pools() const { return throughput.cols(); }
};

/// A share of time for each job (row) and pool (column): rows sum to at most 1, devices x shares to at most the capacity.
/// Multiples of 1e-6, the sums up to their rounding.
using GavelAllocation = Eigen::MatrixXd;

/// What max-min makes equal: devices x throughput, of that when the job spends its time on the pools in proportion to their
/// sizes, a unit of weight (section 4.1).
Eigen::VectorXd normalised_throughput(const GavelProblem& problem, const GavelAllocation& allocation);
/// Progress a dollar, 1 where every job is on the pool on which it makes the most progress a dollar.
double progress_per_dollar(const GavelProblem& problem, const GavelAllocation& allocation);

/// The last programme of max-min: one that is asked for again is not solved again.
struct GavelMemory {
  Eigen::MatrixXd rows = {};  ///< of each group of equal jobs: what max-min knows of it
  Eigen::VectorXd capacity = {};
  Eigen::MatrixXd shares = {};
  int solved = 0;  ///< programmes, so far
};

/// Least normalised throughput largest; among these allocations the one of largest sum. Jobs that are alike (to 1e-12) are one
/// row of the programme and have equal shares: with any optimum the mean over equal jobs is one too.
GavelAllocation gavel_max_min(const GavelProblem& problem);
GavelAllocation gavel_max_min(const GavelProblem& problem, GavelMemory& memory);
/// All work ends soonest: the least share of remaining work done in a second is largest (section 4.2).
GavelAllocation gavel_makespan(const GavelProblem& problem);
/// Finish-time fairness: the largest of (elapsed + remaining time with the shares) / (time alone) is smallest, to a thousandth
/// (section 4.2, after Themis; their code solves it as one convex programme, here a row of linear ones closes in on it).
GavelAllocation gavel_finish_time(const GavelProblem& problem);
/// Of an allocation.
double worst_finish_time(const GavelProblem& problem, const GavelAllocation& allocation);
/// An equal part of every pool for each job, or all of its time.
GavelAllocation equal_shares(const GavelProblem& problem);
/// Most progress a dollar, deadlines met (section 4.2, a linear-fractional programme by Charnes and Cooper, Naval Research
/// Logistics 9, 1962); where not all can be, an equal part of each job's need. Among these allocations that of most progress.
GavelAllocation gavel_cost(const GavelProblem& problem);

// A linear programme over variables that are at least 0, solved in process by CLP's simplex.

class LinearProgramme {
 public:
  using Terms = std::vector<std::pair<int, double>>;  ///< variable and its factor; a variable at most once

  explicit LinearProgramme(int variables);
  ~LinearProgramme();
  /// Factor of a variable in the sum that is maximised.
  void maximise(int variable, double factor) { objective_[static_cast<std::size_t>(variable)] = factor; }
  void at_most(const Terms& terms, double bound);
  void at_least(const Terms& terms, double bound);
  void equal(const Terms& terms, double value);
  /// Of one variable, >= 0.
  void keep_at_least(int variable, double bound) { least_[static_cast<std::size_t>(variable)] = bound; }
  /// The variables' values; nothing when no values keep the rows. An unbounded programme is a failed check. Asked again with
  /// another sum or other bounds of variables, it goes on from the vertex that it found before.
  std::optional<std::vector<double>> solve();

 private:
  void row(const Terms& terms, double low, double high);
  void load();
  std::vector<double> objective_, least_;  // by variable
  std::vector<int> rows_, columns_;        // of the factors
  std::vector<double> factors_;
  std::vector<double> low_, high_;  // by row
  std::unique_ptr<ClpSimplex> solver_;
};

}  // namespace rehearse::policies
