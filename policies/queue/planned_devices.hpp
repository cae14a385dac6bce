// The devices of a pool as disciplines plan them: how many are free over the time to come, and which, by their numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace rehearse::policies {

// The free devices of a pool over the time to come, as far as it is planned: a step function, from which reservations are taken.

class Availability {
 public:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// What a reservation must have.
  struct Need {
    double for_s = 0;
    int devices = 0;
    double has_from_s = kInfinity;  ///< a reservation that it has already, at least as long: it may run on into that
  };

  /// From `now_s` on so many are free; what was planned is forgotten.
  void reset(double now_s, int free);
  /// Forgets what lies before.
  void advance(double now_s);
  int free_now() const { return free_.front(); }
  /// `devices` more (or fewer) from one date to another, which may be infinite. Dates before the last `advance` count from there.
  void add(double from_s, double to_s, int devices);
  /// The first date, from `from_s` on and before `before_s`, at which so many are free for so long; infinite when there is none.
  double earliest(double from_s, const Need& need, double before_s = kInfinity) const;

 private:
  std::size_t step_at(double date_s) const;
  std::size_t cut(double date_s);
  void join(std::size_t step);
  // Of each step. Apart, as the search looks for free devices first.
  std::vector<double> begins_s_{0};
  std::vector<int> free_{0};  // until the next step begins; of the last for ever
};

// Which devices of a pool, by their numbers: for disciplines that plan on devices that they can tell apart.

/// Devices of a pool, numbered in a row: a set of numbers.
class DeviceRow {
 public:
  void insert(std::size_t device);
  bool has(std::size_t device) const { return device / 64 < words_.size() && (words_[device / 64] >> (device % 64) & 1) != 0; }
  int count() const;
  bool meets(const DeviceRow& other) const;
  void add(const DeviceRow& other);
  void remove(const DeviceRow& other);
  DeviceRow both(const DeviceRow& other) const;
  /// So many of them: the shortest stretch of neighbours that is long enough, else the longest and so on (select/cons_tres
  /// without a topology). There must be as many.
  DeviceRow neighbours(int wanted) const;

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace rehearse::policies
