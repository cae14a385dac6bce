#include "policies/learn/ernest.hpp"

#include <algorithm>
#include <cmath>

#include "policies/learn/term_regression.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

std::array<double, 4> terms(const PlannedRun& run) {
  const double n = run.workers;
  return {1, run.local_batch(), std::log(n), n};
}

double steps_per_epoch(const PlannedRun& run) { return run.samples / run.batch_size; }

}  // namespace

std::array<double, 4> Ernest::coefficients(std::span<const PastRun> runs) {
  const auto rows = static_cast<Eigen::Index>(runs.size());
  Eigen::MatrixXd a(rows, 4);
  for (Eigen::Index row = 0; row < rows; ++row) {
    const PastRun& run = runs[static_cast<std::size_t>(row)];
    const double measured_s = run.time_s / run.epochs / steps_per_epoch(planned(run));
    const auto x = terms(planned(run));
    for (Eigen::Index c = 0; c < 4; ++c) a(row, c) = x[static_cast<std::size_t>(c)] / measured_s;
  }
  const Eigen::VectorXd found = nonnegative_least_squares(a, Eigen::VectorXd::Ones(rows));
  return {found[0], found[1], found[2], found[3]};
}

TimeGuess Ernest::guess_times(std::span<const PastRun> runs) const {
  return [c = coefficients(runs)](const PlannedRun& run) {
    const auto x = terms(run);
    double step_s = 0;
    for (std::size_t i = 0; i < x.size(); ++i) step_s += c[i] * x[i];
    return step_s * steps_per_epoch(run);
  };
}

AccuracyGuess Ernest::guess_accuracies(std::span<const PastRun>) const { sim::fail_check("Ernest was asked for accuracies"); }

}  // namespace rehearse::policies
