// m-ETF (Baechi: Jeon et al., SoCC 2020, section 3.2; ETF: Hwang, Chow, Anger, Lee, SIAM J. Computing 18(2), 1989): always the
// operation and GPU with the earliest start, as far as the GPU's memory goes.
#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>

#include "policies/place/methods/methods.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

/// Ready operations of one device: those whose data is there by the time it is free, by falling rank, and the others by date.
/// Operations that have been scheduled elsewhere stay in the queues until they come up.
class Etf {
 public:
  Etf(const PlacementView& view, const PlacementGraph& groups, std::vector<std::int64_t> capacity,
      std::span<const std::int32_t> favourite)
      : view_(view),
        schedule_(view, groups, std::move(capacity)),
        devices_(gpus_or_all(view.machine())),
        rank_(upward_ranks(view, devices_)),
        favourite_(favourite),
        waiting_(devices_.size()),
        available_(devices_.size()),
        last_(devices_.size(), -1),
        inputs_left_(static_cast<std::size_t>(view.graph().ops())),
        done_(inputs_left_.size(), false) {}

  ListSchedule run() {
    for (int op = 0; op < view_.graph().ops(); ++op) {
      inputs_left_[static_cast<std::size_t>(op)] = static_cast<int>(view_.graph().inputs_of(op).size());
      if (inputs_left_[static_cast<std::size_t>(op)] == 0) make_ready(op);
    }
    for (int left = view_.graph().ops(); left > 0; --left) run_next();
    return std::move(schedule_);
  }

 private:
  struct Waiting {
    sim::Tick date;
    double rank;
    std::int32_t op;
    bool operator<(const Waiting& other) const {  // of std::priority_queue: the top is the largest
      return std::tuple(-date, rank, -op) < std::tuple(-other.date, other.rank, -other.op);
    }
  };
  struct Available {
    double rank;
    std::int32_t op;
    bool operator<(const Available& other) const { return std::tuple(rank, -op) < std::tuple(other.rank, -other.op); }
  };
  struct Pick {
    std::int32_t op;
    std::size_t at;  ///< which of devices_
    sim::Tick start;
  };

  sim::Tick free_from(std::size_t at) const { return schedule_.timeline(devices_[at]).end(); }

  void make_ready(std::int32_t op) {
    for (std::size_t at = 0; at < devices_.size(); ++at)
      if (schedule_.allowed(op, devices_[at]))
        waiting_[at].push({schedule_.data_ready(op, devices_[at]), rank_[static_cast<std::size_t>(op)], op});
    unplaced_.push({rank_[static_cast<std::size_t>(op)], op});
  }

  bool usable(std::int32_t op, std::size_t at) const {
    return !done_[static_cast<std::size_t>(op)] && schedule_.allowed(op, devices_[at]);
  }

  std::optional<Pick> earliest_on(std::size_t at) {
    auto& waiting = waiting_[at];
    auto& available = available_[at];
    while (!waiting.empty() && (waiting.top().date <= free_from(at) || !usable(waiting.top().op, at))) {
      if (usable(waiting.top().op, at)) available.push({waiting.top().rank, waiting.top().op});
      waiting.pop();
    }
    while (!available.empty() && !usable(available.top().op, at)) available.pop();
    if (!available.empty()) return Pick{available.top().op, at, free_from(at)};
    if (!waiting.empty()) return Pick{waiting.top().op, at, waiting.top().date};
    return std::nullopt;
  }

  /// A favourite that is ready has the first claim on its parent's device; another operation goes before it only when it ends
  /// before the favourite could begin.
  Pick with_favourite(Pick pick) const {
    if (favourite_.empty() || last_[pick.at] < 0) return pick;
    const std::int32_t wanted = favourite_[static_cast<std::size_t>(last_[pick.at])], device = devices_[pick.at];
    if (wanted < 0 || wanted == pick.op || inputs_left_[static_cast<std::size_t>(wanted)] > 0 || !usable(wanted, pick.at))
      return pick;
    const sim::Tick start = std::max(free_from(pick.at), schedule_.data_ready(wanted, device));
    if (pick.start + schedule_.duration(pick.op, device) <= start) return pick;
    return {wanted, pick.at, start};
  }

  void run_next() {
    std::optional<Pick> best;
    for (std::size_t at = 0; at < devices_.size(); ++at) {
      const std::optional<Pick> pick = earliest_on(at);
      if (pick && (!best || better(*pick, *best))) best = pick;
    }
    if (best) {
      const Pick pick = with_favourite(*best);
      last_[pick.at] = pick.op;
      finish(pick.op, devices_[pick.at], pick.start);
    } else {
      run_where_there_is_most_room();
    }
  }

  /// Of equal starts the one that ends first, then the one with more to come after it, then the first device.
  bool better(const Pick& a, const Pick& b) const {
    const auto key = [&](const Pick& pick) {
      return std::tuple(pick.start, pick.start + schedule_.duration(pick.op, devices_[pick.at]),
                        -rank_[static_cast<std::size_t>(pick.op)], pick.at);
    };
    return key(a) < key(b);
  }

  /// No ready operation may run on any of the devices: the one with the highest rank goes where there is the most room.
  void run_where_there_is_most_room() {
    while (done_[static_cast<std::size_t>(unplaced_.top().op)]) unplaced_.pop();
    const std::int32_t op = unplaced_.top().op;
    const std::int32_t device = schedule_.device_of(op) >= 0 ? schedule_.device_of(op) : schedule_.roomiest();
    finish(op, device, std::max(schedule_.timeline(device).end(), schedule_.data_ready(op, device)));
  }

  void finish(std::int32_t op, std::int32_t device, sim::Tick start) {
    schedule_.run(op, device, start);
    done_[static_cast<std::size_t>(op)] = true;
    for (int t = view_.graph().first_tensor(op); t < view_.graph().first_tensor(op + 1); ++t)
      for (const std::int32_t reader : view_.graph().readers_of(t))
        if (--inputs_left_[static_cast<std::size_t>(reader)] == 0) make_ready(reader);
  }

  const PlacementView& view_;
  ListSchedule schedule_;
  std::vector<std::int32_t> devices_;
  std::vector<double> rank_;
  std::span<const std::int32_t> favourite_;
  std::vector<std::priority_queue<Waiting>> waiting_;
  std::vector<std::priority_queue<Available>> available_;
  std::priority_queue<Available> unplaced_;
  std::vector<std::int32_t> last_;  // operation of each of devices_
  std::vector<int> inputs_left_;
  std::vector<bool> done_;
};

}  // namespace

ListSchedule etf_schedule(const PlacementView& view, const PlacementGraph& groups, std::vector<std::int64_t> capacity,
                          std::span<const std::int32_t> favourite) {
  return Etf(view, groups, std::move(capacity), favourite).run();
}

DeviceOfGroup MEtf::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  const PlacementGraph groups(view);
  return place_within_memory(view, evaluator, [&](std::vector<std::int64_t> capacity) {
    return etf_schedule(view, groups, std::move(capacity)).device_of_group();
  });
}

}  // namespace rehearse::policies
