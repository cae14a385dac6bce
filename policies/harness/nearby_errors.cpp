// The process's amplitude, length and noise are not chosen but averaged over, by how well each explains the rows; the average is
// widened to the mean square of its rows, each left out, over what was believed of it, and of nine rows and more to what holds
// nine of ten of them and a further one (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005).
#include "policies/harness/nearby_errors.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/base/linear_algebra.hpp"
#include "workloads/calibration/calibration.hpp"

namespace rehearse::policies {

namespace {

constexpr std::size_t kMostRows = 150;
constexpr std::array kAmplitudes{0.3, 0.6, 1.25, 2.5, 5.0};  // over the validated deviation
constexpr double kAmplitudeSpread = 0.7;                     // of the logarithm of the amplitude over it, believed beforehand
constexpr std::array kLengths{0.5, 1.0, 2.0, 4.0, 8.0};      // doublings of the batch
constexpr std::array kNoises{0.01, 0.03, 0.1};               // of one measurement
constexpr double kLeastWeight = 1e-3;
constexpr int kFeatures = 4;
constexpr std::size_t kRowsForTail = 9;  // of which the largest holds nine of ten, a further one among them

/// In doublings of the batch: one of the workers counts the same, one of the nodes twice, one of the power limit four times.
Eigen::Vector<double, kFeatures> features(const StepSetting& s) {
  return {std::log2(s.batch_per_worker), std::log2(s.workers), 2 * std::log2(s.nodes),
          s.power_limit_w > 0 ? 4 * std::log2(s.power_limit_w) : 0};
}

/// By how much deviations are wider than they were said to be, from rows that were left out, each over its deviation: their mean
/// square, which a few wild rows widen, and of enough rows at least what holds nine of ten. Of fewer than three nothing is
/// learned.
double scale_of(const std::vector<double>& standardised) {
  if (standardised.size() < 3) return 1;
  double sum = 0;
  for (const double z : standardised) sum += z * z;
  const double rms = std::sqrt(sum / static_cast<double>(standardised.size()));
  return standardised.size() >= kRowsForTail ? std::max(rms, workloads::tail_sd(standardised)) : std::max(1.0, rms);
}

}  // namespace

struct NearbyErrors::Process {
  double amplitude, length, noise, weight;
  std::vector<Eigen::Vector<double, kFeatures>> places;
  Eigen::MatrixXd root;  // of the rows' covariance
  Eigen::VectorXd errors, alpha;

  double kernel(const Eigen::Vector<double, kFeatures>& a, const Eigen::Vector<double, kFeatures>& b) const {
    return amplitude * amplitude * std::exp(-(a - b).squaredNorm() / (2 * length * length));
  }
  /// The logarithm of how likely the rows are, but for a constant.
  double fit() {
    const auto n = static_cast<Eigen::Index>(places.size());
    Eigen::MatrixXd k(n, n);
    for (Eigen::Index i = 0; i < n; ++i)
      for (Eigen::Index j = 0; j < n; ++j)
        k(i, j) = kernel(places[static_cast<std::size_t>(i)], places[static_cast<std::size_t>(j)]) + (i == j ? noise * noise : 0);
    root = sim::cholesky_root(k);
    alpha = sim::solve_lower_transposed(root, sim::solve_lower(root, errors));
    return -0.5 * errors.dot(alpha) - root.diagonal().array().log().sum();
  }
  struct Moments {
    double mean, variance;
  };
  Moments at(const Eigen::Vector<double, kFeatures>& place) const {
    Eigen::VectorXd k(static_cast<Eigen::Index>(places.size()));
    for (std::size_t i = 0; i < places.size(); ++i) k(static_cast<Eigen::Index>(i)) = kernel(place, places[i]);
    return {k.dot(alpha),
            amplitude * amplitude + noise * noise - k.dot(sim::solve_lower_transposed(root, sim::solve_lower(root, k)))};
  }
  /// Of each row from all others: equations 5.12 of the book.
  std::vector<Moments> left_out() const {
    const Eigen::Index n = errors.size();
    const Eigen::MatrixXd inverse = sim::inverse_by_root(root);
    std::vector<Moments> moments;
    for (Eigen::Index i = 0; i < n; ++i) moments.push_back({errors(i) - alpha(i) / inverse(i, i), 1 / inverse(i, i)});
    return moments;
  }
};

NearbyErrors::NearbyErrors(std::span<const StepSetting> settings, std::span<const double> errors, double far_sigma,
                           bool fitted_by_batch) {
  sim::check(!settings.empty() && settings.size() == errors.size() && far_sigma > 0, "an error for each of the settings");
  if (fitted_by_batch) {
    std::set<double> batches;
    for (const StepSetting& setting : settings) batches.insert(setting.batch_per_worker);
    for (const double batch : batches) fitted_.batches.push_back({.batch = batch});
  }
  const std::size_t stride = (settings.size() + kMostRows - 1) / kMostRows;
  Process rows{};
  std::vector<double> kept;
  for (std::size_t i = 0; i < settings.size(); i += stride) {
    rows.places.push_back(features(settings[i]));
    kept.push_back(errors[i]);
  }
  rows.errors = Eigen::Map<const Eigen::VectorXd>(kept.data(), static_cast<Eigen::Index>(kept.size()));
  for (const double amplitude : kAmplitudes)
    for (const double length : kLengths)
      for (const double noise : kNoises) {
        Process& process = processes_.emplace_back(rows);
        process.amplitude = amplitude * far_sigma;
        process.length = length;
        process.noise = noise;
        const double away = std::log(amplitude) / kAmplitudeSpread;
        process.weight = process.fit() - 0.5 * away * away;
      }
  double top = processes_.front().weight, sum = 0;
  for (const Process& process : processes_) top = std::max(top, process.weight);
  for (Process& process : processes_) sum += process.weight = std::exp(process.weight - top);
  std::erase_if(processes_, [&](const Process& process) { return process.weight < kLeastWeight * sum; });
  sum = 0;
  for (const Process& process : processes_) sum += process.weight;
  for (Process& process : processes_) process.weight /= sum;
  std::vector<double> mean(kept.size(), 0), square(kept.size(), 0);
  for (const Process& process : processes_) {
    const std::vector<Process::Moments> moments = process.left_out();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      mean[i] += process.weight * moments[i].mean;
      square[i] += process.weight * (moments[i].variance + moments[i].mean * moments[i].mean);
    }
  }
  std::vector<double> standardised;
  for (std::size_t i = 0; i < kept.size(); ++i)
    standardised.push_back(std::abs(kept[i] - mean[i]) / std::sqrt(square[i] - mean[i] * mean[i]));
  scale_ = scale_of(standardised);
}

NearbyErrors::~NearbyErrors() = default;
NearbyErrors::NearbyErrors(NearbyErrors&&) noexcept = default;
NearbyErrors& NearbyErrors::operator=(NearbyErrors&&) noexcept = default;

PredictionError NearbyErrors::at(const StepSetting& setting) const {
  const auto place = features(setting);
  double mean = 0, square = 0;
  for (const Process& process : processes_) {
    const Process::Moments moments = process.at(place);
    mean += process.weight * moments.mean;
    square += process.weight * (moments.variance + moments.mean * moments.mean);
  }
  // Rows that a factor was fitted to are off by next to nothing, and the process believes it of the batches between them too:
  // what their factors leave open stands beside.
  return {.bias = std::exp(mean),
          .sigma = std::hypot(scale_ * std::sqrt(std::max(0.0, square - mean * mean)),
                              workloads::batch_sd(fitted_, setting.batch_per_worker))};
}

}  // namespace rehearse::policies
