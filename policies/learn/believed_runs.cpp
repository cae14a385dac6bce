#include "policies/learn/believed_runs.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rehearse::policies {

namespace {

// Spreads that are believed in at first, of logarithms.
constexpr double kSpeed = 0.15, kDoubling = 0.08, kExchange = 0.2;
constexpr double kExamples = 0.05, kNoiseScale = 0.3;
constexpr double kCeiling = 0.003;  ///< of accuracies

constexpr double kOwn = 0.03;  ///< of a run: what no other one shares

constexpr double kReadings = 2;            ///< residuals that the prior of the spreads is worth
constexpr double kLeast = 0.3, kMost = 4;  ///< of the factor of the spreads

LinearModel learnt(std::vector<double> spreads, double factor, double noise, std::span<const MeasuredResidual> residuals,
                   double* squares) {
  for (double& spread : spreads) spread *= factor;
  LinearModel model(spreads, noise);
  for (const MeasuredResidual& residual : residuals) {
    if (residual.is_bound) {
      model.add_above(residual.terms, residual.value);
      continue;
    }
    // One after the other: the squares of what each was off by after those before it add up to those of all together.
    const Gaussian before = model.measured_at(residual.terms);
    if (squares != nullptr) *squares += std::pow((residual.value - before.mean) / before.deviation, 2);
    model.add(residual.terms, residual.value);
  }
  return model;
}

double factor_of(const std::vector<double>& spreads, double noise, std::span<const MeasuredResidual> residuals) {
  double squares = 0;
  learnt(spreads, 1, noise, residuals, &squares);
  const auto readings =
      static_cast<double>(std::ranges::count_if(residuals, [](const MeasuredResidual& residual) { return !residual.is_bound; }));
  return std::clamp(std::sqrt((kReadings + squares) / (kReadings + readings)), kLeast, kMost);
}

}  // namespace

ResidualModel::ResidualModel(std::vector<double> spreads, double noise, std::span<const MeasuredResidual> residuals)
    : factor_(factor_of(spreads, noise, residuals)), model_(learnt(spreads, factor_, noise, residuals, nullptr)) {}

LogBounds guarded(const LogBounds& measured, const std::optional<Gaussian>& believed, double deviations) {
  if (!believed) return measured;
  const LogBounds both{std::max(measured.low, believed->mean - deviations * believed->deviation),
                       std::min(measured.high, believed->mean + deviations * believed->deviation)};
  return both.low <= both.high ? both : measured;
}

// ---- times

std::optional<MeasuredResidual> BelievedTimes::believed_at(double workers, double batch) const {
  const double n = std::exp(workers), b = std::exp(batch);
  const double seconds = believed_->log_seconds(instance_, n, b), alone = believed_->log_seconds(instance_, 1, b / n);
  if (!std::isfinite(seconds)) return std::nullopt;
  // Seconds of a step: of a sample times the batch. Without exchange a step of n workers takes as long as one worker's.
  const double exchanged = std::isfinite(alone) ? std::clamp(1 - std::exp(alone - seconds) / n, 0.0, 1.0) : 0;
  return MeasuredResidual{.terms = {{0, 1},
                                    {1, workers / std::numbers::ln2},
                                    {2, first_ ? (batch - workers - *first_) / std::numbers::ln2 : 0},
                                    {3, exchanged}},
                          .value = seconds};
}

void BelievedTimes::add(double workers, double batch, double seconds, bool is_bound) {
  if (!first_) first_ = batch - workers;
  std::optional<MeasuredResidual> residual = believed_at(workers, batch);
  if (!residual) return;
  residual->value = seconds - residual->value;
  residual->is_bound = is_bound;
  residuals_.push_back(std::move(*residual));
}

void BelievedTimes::settle(double noise) {
  model_.emplace(std::vector<double>{kSpeed, kDoubling, kDoubling, kExchange}, std::hypot(noise, kOwn), residuals_);
}

std::optional<Gaussian> BelievedTimes::at(double workers, double batch) const {
  const std::optional<MeasuredResidual> believed = believed_at(workers, batch);
  if (!believed || !model_) return std::nullopt;
  Gaussian out = model_->at(believed->terms);
  out.mean += believed->value;
  return out;
}

// ---- epochs

std::optional<MeasuredResidual> BelievedEpochs::believed_at(double batch) const {
  const auto epochs_at = [&](double doublings, double more) {
    return believed_->log_epochs(std::exp(batch + doublings * std::numbers::ln2), accuracy_ + more);
  };
  const double epochs = epochs_at(0, 0);
  if (!std::isfinite(epochs)) return std::nullopt;
  // Slopes between both sides; next to where the accuracy is never reached from the other side alone.
  const auto slope = [&](double below, double above, double steeper) {
    if (!std::isfinite(below)) return 0.0;
    return std::clamp(std::isfinite(above) ? (above - below) / 2 : steeper * (epochs - below), 0.0, 1.0);
  };
  const double by_batch = slope(epochs_at(-1, 0), epochs_at(1, 0), 1) / std::numbers::ln2;
  const double by_accuracy = slope(epochs_at(0, -kCeiling), epochs_at(0, kCeiling), 2);
  return MeasuredResidual{.terms = {{0, 1}, {1, std::min(by_batch, 1.0)}, {2, by_accuracy}}, .value = epochs};
}

void BelievedEpochs::add(double batch, double epochs, bool is_bound) {
  std::optional<MeasuredResidual> residual = believed_at(batch);
  if (!residual) return;
  residual->value = epochs - residual->value;
  residual->is_bound = is_bound;
  residuals_.push_back(std::move(*residual));
}

void BelievedEpochs::settle(double noise) {
  model_.emplace(std::vector<double>{kExamples, kNoiseScale, 1}, std::hypot(noise, kOwn), residuals_);
}

std::optional<Gaussian> BelievedEpochs::at(double batch) const {
  const std::optional<MeasuredResidual> believed = believed_at(batch);
  if (!believed || !model_) return std::nullopt;
  Gaussian out = model_->at(believed->terms);
  out.mean += believed->value;
  return out;
}

}  // namespace rehearse::policies
