// What is believed of a profile's runs before any is measured, weighed with what was measured: linear models of the residuals
// (measured less believed, in logarithms) with normal priors, whose spreads are as wide as the residuals have shown them
// (empirical Bayes; H. Robbins, "An empirical Bayes approach to statistics", 1956). docs/explain/strategies.md, "Static
// isotonic".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/learn/linear_regression.hpp"
#include "policies/learn/log_bounds.hpp"

namespace rehearse::policies {

/// Of one profile. NaN: nothing is believed of it.
class BelievedRuns {
 public:
  virtual ~BelievedRuns() = default;
  /// The logarithm of a sample's seconds on an instance.
  virtual double log_seconds(const std::string& instance, double workers, double batch) const = 0;
  /// The logarithm of the epochs after which a synchronous training of this batch reads the accuracy; infinite: never.
  virtual double log_epochs(double batch, double accuracy) const = 0;
};

/// A residual that was measured, or one that is only known to lie above.
struct MeasuredResidual {
  std::vector<LinearTerm> terms;
  double value = 0;
  bool is_bound = false;
};

/// A linear model of residuals. `spreads`: of its weights as they are believed at first; all are multiplied by
/// sqrt((k + chi2) / (k + n)) of n residuals, chi2 the squares of what they were off by over what was believed of that: a scale's
/// posterior whose prior is worth k = 2 residuals.
class ResidualModel {
 public:
  ResidualModel(std::vector<double> spreads, double noise, std::span<const MeasuredResidual> residuals);
  Gaussian at(std::span<const LinearTerm> terms) const { return model_.measured_at(terms); }
  double factor() const { return factor_; }

 private:
  double factor_;
  LinearModel model_;
};

/// Of the times on one instance: a constant, a factor for each doubling of the workers and of a worker's batch (from the first
/// that was measured on), and one of the share of a step that is exchange.
class BelievedTimes {
 public:
  BelievedTimes(const BelievedRuns& believed, std::string instance) : believed_(&believed), instance_(std::move(instance)) {}
  /// At logarithms of workers, batch and a sample's seconds.
  void add(double workers, double batch, double seconds, bool is_bound);
  void settle(double noise);
  /// Of the logarithm of a sample's seconds as it would be measured; nothing where nothing is believed.
  std::optional<Gaussian> at(double workers, double batch) const;

 private:
  std::optional<MeasuredResidual> believed_at(double workers, double batch) const;
  const BelievedRuns* believed_;
  std::string instance_;
  std::vector<MeasuredResidual> residuals_;
  std::optional<double> first_;  ///< a worker's batch: a logarithm
  std::optional<ResidualModel> model_;
};

/// Of the epochs to one accuracy: a constant, and what another noise scale and another ceiling of accuracies would change.
class BelievedEpochs {
 public:
  BelievedEpochs(const BelievedRuns& believed, double accuracy) : believed_(&believed), accuracy_(accuracy) {}
  /// At logarithms of the batch and of epochs.
  void add(double batch, double epochs, bool is_bound);
  void settle(double noise);
  std::optional<Gaussian> at(double batch) const;

 private:
  std::optional<MeasuredResidual> believed_at(double batch) const;
  const BelievedRuns* believed_;
  double accuracy_;
  std::vector<MeasuredResidual> residuals_;
  std::optional<ResidualModel> model_;
};

/// What was measured, where that is narrower or says otherwise, is the guard of what is believed.
LogBounds guarded(const LogBounds& measured, const std::optional<Gaussian>& believed, double deviations);

}  // namespace rehearse::policies
