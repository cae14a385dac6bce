#include "report/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/policy_name.hpp"
#include "report/table.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/text.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::report {

namespace {

using sim::kNan;

struct Means {
  double broken_share = 0;
  double log_cost = 0;  ///< NaN: no cost that can be compared
};

Means means_of(const VerdictPolicy& policy) {
  Means m;
  const double n = static_cast<double>(policy.repetitions.size());
  for (const VerdictFigures& figures : policy.repetitions) {
    m.broken_share += figures.broken_share / n;
    m.log_cost += (figures.effective_cost_usd > 0 ? std::log(figures.effective_cost_usd) : kNan) / n;
  }
  return m;
}

std::string value_text(const CertifiedChange& change, double value) {
  return change.is_factor ? fmt::format("{:.2g} times the {}", value, change.quantity)
                          : fmt::format("{} {:.2g}", change.quantity, value);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : i + 1 < parts.size() ? ", " : " and ") + parts[i];
  return text;
}

}  // namespace

bool CertifiedChange::is_located() const {
  if (!falls()) return false;
  return holds_to > 0 ? std::abs(std::log(falls_at / holds_to)) <= kReversalTolerance : falls_at <= kReversalTolerance * likely;
}

double CertifiedChange::distance() const {
  if (!falls()) return std::numeric_limits<double>::infinity();
  // On a scale of factors; a quantity that is 0 in the scenario has none.
  if (unchanged > 0) return std::abs(std::log(falls_at / unchanged)) / std::abs(std::log(likely / unchanged));
  return falls_at / likely;
}

std::string reversal(const VerdictInput& changed, std::string_view winner) {
  const auto find = [&](std::string_view name) {
    return std::find_if(changed.policies.begin(), changed.policies.end(), [&](const VerdictPolicy& p) { return p.name == name; });
  };
  const auto reference = find(changed.reference), best = find(winner);
  if (best == changed.policies.end() || best->repetitions.empty()) return fmt::format("{} fails", name_for_text(winner));
  if (reference == changed.policies.end() || reference->repetitions.empty())
    return fmt::format("{} fails", name_for_text(changed.reference));
  constexpr double kRounding = 1e-12;
  const double allowed = means_of(*reference).broken_share + changed.limits_margin + kRounding;
  const Means mine = means_of(*best);
  if (!(mine.broken_share <= allowed))
    return fmt::format("{} breaks the limits of {:.1f} % of the jobs", name_for_text(winner), 100 * mine.broken_share);
  const VerdictPolicy* cheaper = nullptr;
  double least = mine.log_cost - kSameFigure;
  for (const VerdictPolicy& policy : changed.policies) {
    if (policy.is_yardstick || policy.name == winner || policy.repetitions.empty()) continue;
    const Means theirs = means_of(policy);
    if (!(theirs.broken_share <= allowed) || !(theirs.log_cost < least)) continue;
    least = theirs.log_cost;
    cheaper = &policy;
  }
  if (std::isnan(mine.log_cost)) return fmt::format("{} has no cost", name_for_text(winner));
  return cheaper == nullptr ? "" : fmt::format("{} is cheaper", name_for_text(cheaper->name));
}

std::string certificate_sentence(const Certificate& c) {
  if (c.winner.empty()) return "No certificate: there is no winner whose verdict could fall.";
  std::vector<std::string> holds, falls;
  const CertifiedChange* nearest = nullptr;
  for (const CertifiedChange& change : c.changes) {
    if (change.falls()) {
      const std::string where =
          change.is_located()
              ? value_text(change, change.falls_at)
              : fmt::format("some{} between {:.2g} and {}", change.is_factor ? "where" : " " + change.quantity, change.holds_to,
                            change.is_factor ? value_text(change, change.falls_at) : fmt::format("{:.2g}", change.falls_at));
      falls.push_back(fmt::format("at {} ({})", where, change.instead));
      if (nearest == nullptr || change.distance() < nearest->distance()) nearest = &change;
    } else {
      holds.push_back(value_text(change, change.holds_to));
    }
  }
  std::string text = fmt::format("That {} wins ", name_for_text(c.winner));
  if (!holds.empty()) text += fmt::format("holds up to {}", joined(holds));
  if (!falls.empty()) text += fmt::format("{}falls {}", holds.empty() ? "" : "; it ", joined(falls));
  text += ".";
  if (nearest != nullptr && !nearest->settled_by.empty())
    text += fmt::format(" What would settle most: {}.", nearest->settled_by);
  return text;
}

std::string certificate_json(const Certificate& c) {
  std::string text =
      fmt::format(R"({{"winner": {}, "repetitions": {}, "replays": {}, "run_share": {}, "sentence": {}, "changes": [)",
                  c.winner.empty() ? "null" : sim::json_string(c.winner), c.repetitions, c.replays, json_number(c.run_share),
                  sim::json_string(certificate_sentence(c)));
  for (std::size_t i = 0; i < c.changes.size(); ++i) {
    const CertifiedChange& change = c.changes[i];
    text += fmt::format(
        R"({}{{"quantity": {}, "is_factor": {}, "unchanged": {}, "holds_to": {}, "falls_at": {}, "instead": {}, "likely": {}, "settled_by": {}}})",
        i == 0 ? "" : ", ", sim::json_string(change.quantity), change.is_factor, json_number(change.unchanged),
        json_number(change.holds_to), json_number(change.falls_at), sim::json_string(change.instead), json_number(change.likely),
        sim::json_string(change.settled_by));
  }
  return text + "]}";
}

}  // namespace rehearse::report
