// The stochastic programme of a spot job: backward induction over work left, slack and the zones' chain, exact for the chain,
// with the deadline kept for certain. Puterman, "Markov Decision Processes", 1994, chapter 4.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policies/staged/spot/zone_law.hpp"

namespace rehearse::policies {

/// What is best for every job of one work, restart and price, whatever its deadline up to a slack.
class SpotTable {
 public:
  /// `terms.slack()` is the most slack that a job may have. `keeps_values`: for value(), at twelve times the memory.
  SpotTable(const ZoneLaw& zone, int zones, const SpotTerms& terms, bool keeps_values = false);

  const ZonesLaw& law() const { return law_; }
  /// The mode class for the coming step of a job without restart left: kWaits, kOnDemand, or 0 for the zone that is looked at.
  int choice(int work_left, int slack, int mode, int state) const;
  /// Expected money of a job that has not begun, with that slack, by the chain.
  double expected_usd(int slack, int state) const;
  /// Expected money from a step on, of a mode class as in choice() and a run without restart left, by the chain; on demand to the
  /// end where the deadline could break otherwise.
  double value(int work_left, int slack, int mode, int state) const;
  const SpotTerms& terms() const { return terms_; }

 private:
  void solve(bool keeps_values);
  std::size_t at(int work_left, int slack, int state) const {
    return (static_cast<std::size_t>(work_left) * (static_cast<std::size_t>(terms_.slack()) + 1) +
            static_cast<std::size_t>(slack)) *
               static_cast<std::size_t>(law_.states()) +
           static_cast<std::size_t>(state);
  }

  ZonesLaw law_;
  SpotTerms terms_;
  std::vector<std::uint8_t> choices_;  ///< by work left, slack, state: two bits for each of waiting, on demand, spot
  std::vector<float> at_start_;        ///< by slack, state
  std::vector<float> values_[3];       ///< waiting, on demand, spot; as choices_, or empty
};

/// Follows the table: `staged-sdp` of a first-order law, `staged-rl` of a learned one.
std::unique_ptr<SpotPolicy> make_table_policy(std::string name, std::shared_ptr<const SpotTable> table);

}  // namespace rehearse::policies
