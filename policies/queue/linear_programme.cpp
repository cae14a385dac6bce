#include "policies/queue/linear_programme.hpp"

#include <algorithm>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

void LinearProgramme::row(const Terms& terms, double low, double high) {
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

std::optional<std::vector<double>> LinearProgramme::solve() const {
  const auto variables = static_cast<int>(objective_.size());
  CoinPackedMatrix matrix(true, rows_.data(), columns_.data(), factors_.data(), static_cast<CoinBigIndex>(factors_.size()));
  matrix.setDimensions(static_cast<int>(low_.size()), variables);
  ClpSimplex solver;
  solver.setLogLevel(0);
  solver.loadProblem(matrix, nullptr, nullptr, objective_.data(), low_.data(), high_.data());
  solver.setOptimizationDirection(-1);
  int status = solver.primal();  // 0 is a vertex of nearly all of our programmes: no search for a first one
  // The primal method may give up (10) where the rows leave room only within its tolerance; the dual one then decides.
  if (status > 2) status = solver.dual();
  if (status == 1) return std::nullopt;
  sim::check(status == 0, "a linear programme of a queue has a largest value");
  const double* values = solver.primalColumnSolution();
  std::vector<double> found(values, values + variables);
  for (double& value : found) value = std::max(value, 0.0);
  return found;
}

}  // namespace rehearse::policies
