// How zones with spot capacity behave, as a chain over what is seen of them: the classes of a zone's history, and how often each
// follows each in episodes. Several zones make one chain together (ZonesLaw).
#pragma once

#include <span>
#include <vector>

#include "policies/staged/spot/spot_job.hpp"

namespace rehearse::policies {

/// How finely a zone's history is told apart: whether it is up, bins of its age, bins of its recent availability.
struct ZoneClasses {
  std::vector<int> ages;       ///< ascending; a bin ends with each
  std::vector<double> recent;  ///< ascending
  int rough_age = -1;          ///< one of `ages`, which halves them for zones that are not looked at; -1: they are not told apart

  int count() const { return 2 * ages_and_recent(); }
  int of(const ZoneHistory& history) const;
  bool is_up(int of_class) const { return of_class >= ages_and_recent(); }

  int rough_count() const { return rough_age < 0 ? 2 : 4; }
  int rough_of(int of_class) const;
  bool rough_is_up(int rough) const { return rough >= rough_count() / 2; }

 private:
  int ages_and_recent() const { return static_cast<int>((ages.size() + 1) * (recent.size() + 1)); }
};

/// Where one class leads, in a step.
struct ClassStep {
  int to = 0;
  double probability = 0;
};

/// What episodes say of one zone. The first-order chain stands behind it: a class that was seen n times keeps n / (n + behind)
/// of what was counted, and one that was never seen does what the first-order chain does.
struct ZoneLaw {
  ZoneClasses classes;
  double goes_down = 0, comes_up = 0;               ///< of the first-order chain, a step
  std::vector<std::vector<ClassStep>> steps;        ///< by class
  std::vector<std::vector<ClassStep>> rough_steps;  ///< by rough class
  std::vector<std::vector<ClassStep>> of_rough;     ///< what class a zone of a rough class is in
  std::vector<ClassStep> fresh;                     ///< what class a zone is in that just came up
  std::vector<double> lasts_steps;                  ///< by class, how long it stays up, or with - how long down, in the mean

  /// Of whole series, all of them alike. They have some change up and some down, or an InputError is thrown. `behind` > 0: visits
  /// that the first-order chain is worth. `learns` false: that chain alone.
  static ZoneLaw fit(const ZoneClasses& classes, std::span<const std::vector<std::uint8_t>> series, bool learns = true,
                     double behind = 20);
  /// The first-order chain of these rates a step, in (0, 1].
  static ZoneLaw of_rates(double goes_down, double comes_up);
};

/// The chain of several zones of one law, independent of each other. Of one zone, the one the job runs in or would go to, the
/// class is known; of the others the rough classes. A state is class * others() + others' index.
class ZonesLaw {
 public:
  ZonesLaw(const ZoneLaw& zone, int zones);

  struct Step {
    int to = 0;
    float probability = 0;
  };
  int states() const { return zone_.classes.count() * others(); }
  /// Of the states with drawn(): a zone that is newly looked at is in one of the classes of its rough class.
  int with_drawn() const { return states() + static_cast<int>(drawn_.size()); }
  int others() const { return static_cast<int>(members_.size()); }
  bool is_up(int state) const { return zone_.classes.is_up(state / others()); }
  /// While the job is not on a spot node: to states, or to drawn ones.
  std::span<const Step> idle(int state) const { return idle_[static_cast<std::size_t>(state)]; }
  /// While it runs in the zone, which is up: to states that are up, or, with revoked, to where idle leads.
  std::span<const Step> kept(int state) const { return kept_[static_cast<std::size_t>(state)]; }
  std::span<const Step> revoked(int state) const { return revoked_[static_cast<std::size_t>(state)]; }
  /// Behind the states of a value: the means over what they are drawn from.
  void extend(float* values) const;

  /// The zone to go to: one that is up and will last longest, or the one to come up first.
  int best_zone(std::span<const ZoneHistory> zones) const;
  /// The state when `zone` is looked at.
  int state(std::span<const ZoneHistory> zones, int zone) const;

 private:
  int index_of(std::vector<int> members) const;
  void add_steps(int of_class, int others_index);

  ZoneLaw zone_;
  std::vector<std::vector<int>> members_;  ///< rough classes, ascending, by others' index
  std::vector<std::vector<Step>> drawn_;
  std::vector<int> drawn_index_;  ///< by (rough class or fresh) * others() + others' index; -1: none
  std::vector<std::vector<Step>> idle_, kept_, revoked_;
};

}  // namespace rehearse::policies
