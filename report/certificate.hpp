// How firm a verdict is: the smallest change of the world, the load, the prices and the switching costs that reverses it
// (docs/explain/model.md, "Certificate").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/verdict.hpp"

namespace rehearse::report {

/// A reversal is located when it is known to about a tenth: the largest logarithm of falls_at / holds_to.
inline constexpr double kReversalTolerance = 0.1;

/// One quantity of the scenario, changed in one direction while all others stay.
struct CertifiedChange {
  std::string quantity;    ///< "model error", "load", "price of pool t4", "switching times"
  bool is_factor = true;   ///< of what the scenario has; else the quantity itself
  double unchanged = 1;    ///< its value in the scenario; a factor of 1
  double holds_to = 1;     ///< the farthest value up to which every value that was tried left the verdict as it is
  double falls_at = 0;     ///< the nearest value that reversed it; NaN: none up to `holds_to`
  std::string instead;     ///< how the verdict fell there, in words
  double likely = 1;       ///< how far the quantity may well be from what the scenario has: a value on the same scale
  std::string settled_by;  ///< what to measure to know it better
  bool falls() const { return falls_at == falls_at; }
  /// Whether holds_to and falls_at are within kReversalTolerance of each other.
  bool is_located() const;
  /// How far the reversal is, in units of how far the quantity may well be; infinity when nothing reversed it.
  double distance() const;
};

struct Certificate {
  std::string winner;    ///< empty: there is no verdict to certify
  int repetitions = 0;   ///< of each changed scenario: the first ones of the run
  int replays = 0;       ///< in all
  double run_share = 0;  ///< replays / those of the run itself
  std::vector<CertifiedChange> changes;
};

/// Whether the winner of the drawn jobs is still it, by a run's first repetitions in a changed world: it keeps limits (its share
/// of broken ones is at most the margin above the reference's) and no other that does costs less. Judged by means: every policy
/// meets the same chance before and after. Empty: it holds; else what is the case instead.
std::string reversal(const VerdictInput& changed, std::string_view winner);

/// "holds up to model error 0.24 and 1.6 times the load; falls if ...", with the measurement that would shrink the nearest risk.
std::string certificate_sentence(const Certificate& certificate);
std::string certificate_json(const Certificate& certificate);

}  // namespace rehearse::report
