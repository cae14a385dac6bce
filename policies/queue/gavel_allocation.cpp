#include "policies/queue/gavel_allocation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <cstdint>
#include <map>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// An optimum is only known to the simplex' tolerance; what a second programme must keep is that much less.
constexpr double kTolerance = 1e-7;
/// Shares are whole multiples, so that equal ones are equal; those below the second are noise of the tolerance.
constexpr double kShareGrid = 1e-6, kLeastShare = 1e-5;
/// Of the dearest pool: what is free must not make all else worthless.
constexpr double kLeastPrice = 1e-6;

double jobs_behind(const GavelProblem& problem, Index row) { return problem.count.size() == 0 ? 1 : problem.count(row); }

/// Rows that are alike are one.
struct Groups {
  std::vector<Index> of;     // each row's group
  std::vector<Index> first;  // row of each group
  VectorXd count;            // jobs of each group

  Index size() const { return static_cast<Index>(first.size()); }
  MatrixXd rows(const MatrixXd& of_all) const {
    MatrixXd kept(size(), of_all.cols());
    for (Index group = 0; group < size(); ++group) kept.row(group) = of_all.row(first[static_cast<std::size_t>(group)]);
    return kept;
  }
  MatrixXd spread(const MatrixXd& of_groups) const {
    MatrixXd all(static_cast<Index>(of.size()), of_groups.cols());
    for (std::size_t row = 0; row < of.size(); ++row) all.row(static_cast<Index>(row)) = of_groups.row(of[row]);
    return all;
  }
};

/// But for what rounding has left: 2^-40 of each number. Numbers beside a border stay apart, which costs a row and is as right.
std::uint64_t rounded(double value) {
  constexpr std::uint64_t kRest = (1u << 12) - 1;
  return (std::bit_cast<std::uint64_t>(value) + kRest / 2) & ~kRest;
}

Groups alike(const MatrixXd& rows, const GavelProblem& problem) {
  Groups groups;
  std::map<std::vector<std::uint64_t>, Index> known;
  std::vector<std::uint64_t> key(static_cast<std::size_t>(rows.cols()));
  std::vector<double> count;
  for (Index row = 0; row < rows.rows(); ++row) {
    for (Index c = 0; c < rows.cols(); ++c) key[static_cast<std::size_t>(c)] = rounded(rows(row, c));
    const auto [at, is_new] = known.try_emplace(key, groups.size());
    if (is_new) {
      groups.first.push_back(row);
      count.push_back(0);
    }
    count[static_cast<std::size_t>(at->second)] += jobs_behind(problem, row);
    groups.of.push_back(at->second);
  }
  groups.count = Eigen::Map<const VectorXd>(count.data(), static_cast<Index>(count.size()));
  return groups;
}

MatrixXd beside(const MatrixXd& left, const MatrixXd& right) {
  MatrixXd both(left.rows(), left.cols() + right.cols());
  both << left, right;
  return both;
}

/// What the programmes read of the groups.
GavelProblem of_groups(const GavelProblem& problem, const Groups& groups) {
  return {.throughput = groups.rows(problem.throughput),
          .devices = groups.rows(problem.devices),
          .capacity = problem.capacity,
          .weight = groups.rows(problem.weight),
          .usd_per_s = groups.rows(problem.usd_per_s),
          .least_throughput = groups.rows(problem.least_throughput),
          .count = groups.count};
}

int variable(const GavelProblem& problem, Index job, Index pool) { return static_cast<int>(job * problem.pools() + pool); }
int variables(const GavelProblem& problem) { return static_cast<int>(problem.jobs() * problem.pools()); }

/// Sum over the pools of factor x share of one job, plus `own` x the variable behind the shares, if that is not 0.
LinearProgramme::Terms of_job(const GavelProblem& problem, const MatrixXd& factors, Index job, double own = 0) {
  LinearProgramme::Terms terms;
  for (Index pool = 0; pool < problem.pools(); ++pool)
    if (problem.throughput(job, pool) > 0) terms.emplace_back(variable(problem, job, pool), factors(job, pool));
  if (own != 0) terms.emplace_back(variables(problem), own);
  return terms;
}

/// What holds for every allocation. `scaled`: the variable behind the shares is the unit of time, not 1.
void keep_capacity(const GavelProblem& problem, LinearProgramme& programme, bool scaled = false) {
  const double fixed = scaled ? 0 : 1;
  const MatrixXd ones = MatrixXd::Ones(problem.jobs(), problem.pools());
  for (Index job = 0; job < problem.jobs(); ++job) programme.at_most(of_job(problem, ones, job, fixed - 1), fixed);
  for (Index pool = 0; pool < problem.pools(); ++pool) {
    LinearProgramme::Terms terms;
    for (Index job = 0; job < problem.jobs(); ++job)
      if (problem.throughput(job, pool) > 0)
        terms.emplace_back(variable(problem, job, pool), jobs_behind(problem, job) * problem.devices(job, pool));
    if (scaled) terms.emplace_back(variables(problem), -problem.capacity(pool));
    programme.at_most(terms, problem.capacity(pool) * fixed);
  }
}

void maximise_sum(const GavelProblem& problem, const MatrixXd& factors, LinearProgramme& programme) {
  for (Index job = 0; job < problem.jobs(); ++job)
    for (const auto& [share, factor] : of_job(problem, factors, job))
      programme.maximise(share, factor * jobs_behind(problem, job));
}

/// The shares; those of pools on which a job cannot run stand in no row and are 0.
GavelAllocation shares_of(const GavelProblem& problem, const std::vector<double>& values, double unit = 1) {
  GavelAllocation shares = GavelAllocation::Zero(problem.jobs(), problem.pools());
  for (Index job = 0; job < problem.jobs(); ++job)
    for (Index pool = 0; pool < problem.pools(); ++pool) {
      const double share = values[static_cast<std::size_t>(variable(problem, job, pool))] / unit;
      if (problem.throughput(job, pool) > 0 && share >= kLeastShare)
        shares(job, pool) = std::min(1.0, std::round(share / kShareGrid) * kShareGrid);
    }
  return shares;
}

/// The least of the rows' sums of factor x share is largest; then their sum is.
GavelAllocation max_min_of_groups(const GavelProblem& problem, const MatrixXd& factors) {
  const int least = variables(problem);
  LinearProgramme programme(least + 1);
  keep_capacity(problem, programme);
  for (Index job = 0; job < problem.jobs(); ++job) programme.at_least(of_job(problem, factors, job, -1), 0);
  programme.maximise(least, 1);
  const auto values = programme.solve();
  sim::check(values.has_value(), "an allocation of nothing to anybody is always possible");
  programme.keep_at_least(least, values->back() * (1 - kTolerance));
  programme.maximise(least, 0);
  maximise_sum(problem, factors, programme);
  const auto more = programme.solve();
  return shares_of(problem, more ? *more : *values);
}

GavelAllocation max_min(const GavelProblem& problem, const MatrixXd& factors, GavelMemory* memory = nullptr) {
  if (problem.jobs() == 0) return GavelAllocation::Zero(0, problem.pools());
  const Groups groups = alike(beside(factors, problem.devices), problem);
  const MatrixXd kept = groups.rows(factors);
  const GavelProblem reduced = of_groups(problem, groups);
  if (memory == nullptr) return groups.spread(max_min_of_groups(reduced, kept));
  const MatrixXd rows = beside(beside(kept, reduced.devices), reduced.count);
  const bool same = memory->rows.rows() == rows.rows() && memory->rows.cols() == rows.cols() && memory->rows == rows &&
                    memory->capacity == problem.capacity;
  if (!same) {
    *memory = {rows, problem.capacity, max_min_of_groups(reduced, kept), memory->solved + 1};
  }
  return groups.spread(memory->shares);
}

/// Factors of normalised_throughput.
MatrixXd normalised(const GavelProblem& problem) {
  const VectorXd equal = problem.throughput * (problem.capacity / problem.capacity.sum());
  const VectorXd scale = (equal.array() * problem.weight.array()).inverse();
  return scale.asDiagonal() * problem.throughput.cwiseProduct(problem.devices);
}

MatrixXd dollars_a_second(const GavelProblem& problem) {
  const double dearest = (problem.devices.array() > 0).select(problem.usd_per_s.cwiseQuotient(problem.devices), 0.0).maxCoeff();
  return dearest > 0 ? MatrixXd(problem.usd_per_s.cwiseMax(problem.devices * (dearest * kLeastPrice))) : problem.devices;
}

/// Progress in units of what the job's best pool gives for a dollar.
MatrixXd progress_worth(const GavelProblem& problem) {
  const MatrixXd per_dollar = problem.throughput.cwiseQuotient(dollars_a_second(problem));
  const VectorXd best = (problem.throughput.array() > 0).select(per_dollar, 0.0).rowwise().maxCoeff();
  return best.cwiseInverse().asDiagonal() * problem.throughput;
}

/// In units of what the job needs to meet its deadline; 0 in the rows of jobs without one.
MatrixXd of_need(const GavelProblem& problem) {
  const VectorXd inverse = (problem.least_throughput.array() > 0).select(problem.least_throughput.cwiseInverse(), 0.0);
  return inverse.asDiagonal() * problem.throughput;
}

/// The largest part, at most 1, of what every job with a deadline needs that all can have at once.
double possible_part(const GavelProblem& problem) {
  if ((problem.least_throughput.array() <= 0).all()) return 1;
  LinearProgramme programme(variables(problem) + 1);
  keep_capacity(problem, programme);
  const MatrixXd met = of_need(problem);
  for (Index job = 0; job < problem.jobs(); ++job)
    if (problem.least_throughput(job) > 0) programme.at_least(of_job(problem, met, job, -1), 0);
  programme.at_most({{variables(problem), 1}}, 1);
  programme.maximise(variables(problem), 1);
  const auto values = programme.solve();
  sim::check(values.has_value(), "an allocation of nothing to anybody is always possible");
  return values->back();
}

void keep_deadlines(const GavelProblem& problem, double part, bool scaled, LinearProgramme& programme) {
  const MatrixXd met = of_need(problem);
  const double need = part * (1 - kTolerance);
  for (Index job = 0; job < problem.jobs(); ++job)
    if (problem.least_throughput(job) > 0) programme.at_least(of_job(problem, met, job, scaled ? -need : 0), scaled ? 0 : need);
}

}  // namespace

VectorXd normalised_throughput(const GavelProblem& problem, const GavelAllocation& allocation) {
  return normalised(problem).cwiseProduct(allocation).rowwise().sum();
}

double progress_per_dollar(const GavelProblem& problem, const GavelAllocation& allocation) {
  return progress_worth(problem).cwiseProduct(allocation).sum() / dollars_a_second(problem).cwiseProduct(allocation).sum();
}

GavelAllocation gavel_max_min(const GavelProblem& problem) { return max_min(problem, normalised(problem)); }

GavelAllocation gavel_max_min(const GavelProblem& problem, GavelMemory& memory) {
  return max_min(problem, normalised(problem), &memory);
}

GavelAllocation gavel_makespan(const GavelProblem& problem) {
  // In units of the largest rate: the simplex' tolerances are absolute.
  if (problem.jobs() == 0) return GavelAllocation::Zero(0, problem.pools());
  return max_min(problem, problem.throughput / problem.throughput.maxCoeff());
}

GavelAllocation equal_shares(const GavelProblem& problem) {
  GavelAllocation shares = GavelAllocation::Zero(problem.jobs(), problem.pools());
  for (Index job = 0; job < problem.jobs(); ++job) {
    for (Index pool = 0; pool < problem.pools(); ++pool)
      if (problem.throughput(job, pool) > 0)
        shares(job, pool) = problem.capacity(pool) / (static_cast<double>(problem.jobs()) * problem.devices(job, pool));
    shares.row(job) /= std::max(1.0, shares.row(job).sum());
  }
  return shares;
}

double worst_finish_time(const GavelProblem& problem, const GavelAllocation& allocation) {
  const VectorXd rate = problem.throughput.cwiseProduct(allocation).rowwise().sum();
  return ((problem.elapsed_s.array() + rate.array().inverse()) / problem.alone_s.array()).maxCoeff();
}

GavelAllocation gavel_finish_time(const GavelProblem& problem) {
  if (problem.jobs() == 0) return GavelAllocation::Zero(0, problem.pools());
  constexpr int kMostSteps = 10;
  constexpr double kEnough = 1e-3;
  GavelAllocation best = equal_shares(problem);
  double worst = worst_finish_time(problem, best);
  for (int step = 0; step < kMostSteps; ++step) {
    // The rates with which everybody would be as badly off: all are surpassed by the same factor, the largest that is possible.
    const VectorXd left_s = worst * problem.alone_s - problem.elapsed_s;
    const GavelAllocation next = max_min(problem, left_s.asDiagonal() * problem.throughput);
    const double better = worst_finish_time(problem, next);
    if (!(better < worst)) break;
    const bool enough = better > worst * (1 - kEnough);
    worst = better;
    best = next;
    if (enough) break;
  }
  return best;
}

namespace {

GavelAllocation cost_of_groups(const GavelProblem& problem) {
  const double part = possible_part(problem);
  const MatrixXd worth = progress_worth(problem), dollars = dollars_a_second(problem);
  const double unit = dollars.maxCoeff();
  LinearProgramme ratio(variables(problem) + 1);
  keep_capacity(problem, ratio, true);
  keep_deadlines(problem, part, true, ratio);
  LinearProgramme::Terms spent;
  for (Index job = 0; job < problem.jobs(); ++job)
    for (const auto& [share, factor] : of_job(problem, dollars / unit, job))
      spent.emplace_back(share, factor * jobs_behind(problem, job));
  ratio.equal(spent, 1);
  maximise_sum(problem, worth / unit, ratio);
  const auto scaled = ratio.solve();
  sim::check(scaled.has_value(), "some allocation meets the deadlines' possible part");
  const GavelAllocation cheapest = shares_of(problem, *scaled, scaled->back());
  // Of all allocations that are as cheap, the one that does most. As cheap as the programme's, not as the rounded shares,
  // which may be a grid's width beyond what is possible.
  double worth_bought = 0;
  for (Index job = 0; job < problem.jobs(); ++job)
    for (const auto& [share, factor] : of_job(problem, worth / unit, job))
      worth_bought += jobs_behind(problem, job) * factor * (*scaled)[static_cast<std::size_t>(share)];
  const double best = worth_bought * (1 - kTolerance);  // the programme spends 1 unit
  LinearProgramme most(variables(problem));
  keep_capacity(problem, most);
  keep_deadlines(problem, part, false, most);
  LinearProgramme::Terms surplus;
  for (Index job = 0; job < problem.jobs(); ++job)
    for (const auto& [share, factor] : of_job(problem, (worth - best * dollars) / unit, job))
      surplus.emplace_back(share, factor * jobs_behind(problem, job));
  most.at_least(surplus, 0);
  maximise_sum(problem, worth / unit, most);
  const auto values = most.solve();
  return values ? shares_of(problem, *values) : cheapest;
}

}  // namespace

GavelAllocation gavel_cost(const GavelProblem& problem) {
  if (problem.jobs() == 0) return GavelAllocation::Zero(0, problem.pools());
  // What is left of a job's work does not matter here, only what it is on the pools, and to what it needs.
  const VectorXd largest = problem.throughput.rowwise().maxCoeff().cwiseInverse();
  GavelProblem by_best = problem;
  by_best.throughput = largest.asDiagonal() * problem.throughput;
  by_best.least_throughput = largest.cwiseProduct(problem.least_throughput);
  const MatrixXd known = beside(beside(by_best.throughput, by_best.devices), beside(by_best.usd_per_s, by_best.least_throughput));
  const Groups groups = alike(known, problem);
  return groups.spread(cost_of_groups(of_groups(by_best, groups)));
}

LinearProgramme::LinearProgramme(int variables)
    : objective_(static_cast<std::size_t>(variables), 0), least_(static_cast<std::size_t>(variables), 0) {}
LinearProgramme::~LinearProgramme() = default;

void LinearProgramme::row(const Terms& terms, double low, double high) {
  solver_.reset();
  for (const auto& [variable, factor] : terms) {
    rows_.push_back(static_cast<int>(low_.size()));
    columns_.push_back(variable);
    factors_.push_back(factor);
  }
  low_.push_back(low);
  high_.push_back(high);
}

void LinearProgramme::at_most(const Terms& terms, double bound) { row(terms, -COIN_DBL_MAX, bound); }
void LinearProgramme::at_least(const Terms& terms, double bound) { row(terms, bound, COIN_DBL_MAX); }
void LinearProgramme::equal(const Terms& terms, double value) { row(terms, value, value); }

void LinearProgramme::load() {
  CoinPackedMatrix matrix(true, rows_.data(), columns_.data(), factors_.data(), static_cast<CoinBigIndex>(factors_.size()));
  matrix.setDimensions(static_cast<int>(low_.size()), static_cast<int>(objective_.size()));
  solver_ = std::make_unique<ClpSimplex>();
  solver_->setLogLevel(0);
  solver_->loadProblem(matrix, least_.data(), nullptr, objective_.data(), low_.data(), high_.data());
  solver_->setOptimizationDirection(-1);
}

std::optional<std::vector<double>> LinearProgramme::solve() {
  const auto variables = static_cast<int>(objective_.size());
  if (!solver_) load();
  for (int v = 0; v < variables; ++v) {
    solver_->setObjectiveCoefficient(v, objective_[static_cast<std::size_t>(v)]);
    solver_->setColumnLower(v, least_[static_cast<std::size_t>(v)]);
  }
  int status = solver_->primal();  // 0 is a vertex of nearly all of our programmes: no search for a first one
  // The primal method may give up (10) where the rows leave room only within its tolerance; the dual one then decides.
  if (status > 2) status = solver_->dual();
  if (status == 1) return std::nullopt;
  sim::check(status == 0, "a linear programme of a queue has a largest value");
  const double* values = solver_->primalColumnSolution();
  std::vector<double> found(values, values + variables);
  for (double& value : found) value = std::max(value, 0.0);
  return found;
}

}  // namespace rehearse::policies
