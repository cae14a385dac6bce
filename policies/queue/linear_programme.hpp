// A linear programme over variables that are at least 0, solved in process by CLP's simplex.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace rehearse::policies {

class LinearProgramme {
 public:
  using Terms = std::vector<std::pair<int, double>>;  ///< variable and its factor; a variable at most once

  explicit LinearProgramme(int variables) : objective_(static_cast<std::size_t>(variables), 0) {}
  /// Factor of a variable in the sum that is maximised.
  void maximise(int variable, double factor) { objective_[static_cast<std::size_t>(variable)] = factor; }
  void at_most(const Terms& terms, double bound);
  void at_least(const Terms& terms, double bound);
  void equal(const Terms& terms, double value);
  /// The variables' values; nothing when no values keep the rows. An unbounded programme is a failed check.
  std::optional<std::vector<double>> solve() const;

 private:
  void row(const Terms& terms, double low, double high);
  std::vector<double> objective_;
  std::vector<int> rows_, columns_;  // of the factors
  std::vector<double> factors_;
  std::vector<double> low_, high_;  // by row
};

}  // namespace rehearse::policies
