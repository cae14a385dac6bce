// How long a discipline believes a job still needs: what the user gave, what the menu predicts, or, for oracles alone, the truth.
#pragma once

#include <algorithm>
#include <utility>

#include "sim/base/units.hpp"
#include "sim/replay/decisions.hpp"

namespace rehearse::policies {

/// The date at which something ends; never, if it needs for ever. The replay ends jobs on its grid of dates: an upper bound stays
/// one.
inline double end_of(double start_s, double need_s) {
  return need_s == sim::kNever ? need_s : sim::on_date_grid(start_s + need_s);
}

/// Of what was expected to end at a date: that date, or, of what has outrun it, a tenth as long after it again, at least a
/// second.
inline double expected_end(double now_s, double expected_s) {
  constexpr double kOutrun = 0.1;
  return expected_s > now_s ? expected_s : sim::on_date_grid(now_s + std::max(1.0, kOutrun * (now_s - expected_s)));
}

class Durations {
 public:
  enum class Source : std::uint8_t { user, predicted };
  explicit Durations(Source source = Source::predicted) : source_(source) {}
  /// From then on all answers are true.
  void learn(const sim::Truth& truth) { truth_ = &truth; }

  /// Seconds from now on with the entry that the job holds, or will start with; infinite when nobody says.
  double remaining_s(const sim::QueueView& view, sim::JobSlot slot) const {
    const sim::QueueJob& job = view.jobs[slot];
    return remaining_s(view, slot, job.service.entry >= 0 ? job.service.entry : job.first_fitting_entry);
  }
  /// With another entry of its menu.
  double remaining_s(const sim::QueueView& view, sim::JobSlot slot, int entry) const {
    const sim::QueueJob& job = view.jobs[slot];
    if (truth_ != nullptr) return truth_->remaining_s(slot, entry, view.now_s);
    return source_ == Source::user ? job.user_remaining_s(entry, view.now_s) : job.predicted_remaining_s(entry, view.now_s);
  }

 private:
  Source source_;
  const sim::Truth* truth_ = nullptr;
};

// A discipline that is told true durations instead of believed ones; its name in the registry begins with "oracle".

template <class Discipline>
class WithTruth final : public sim::OracleQueue {
 public:
  explicit WithTruth(Discipline discipline) : discipline_(std::move(discipline)) {}
  void learn(const sim::Truth& truth) override { discipline_.durations().learn(truth); }
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override { discipline_.decide(view, answer); }

 private:
  Discipline discipline_;
};

}  // namespace rehearse::policies
