// Baechi's three methods (Jeon et al., SoCC 2020).
//
// m-TOPO (Baechi: Jeon et al., SoCC 2020, section 3.1): groups in topological order fill one GPU after the other, each up to an
// equal share of the memory.
//
// m-ETF (Baechi: Jeon et al., SoCC 2020, section 3.2; ETF: Hwang, Chow, Anger, Lee, SIAM J. Computing 18(2), 1989): always the
// operation and GPU with the earliest start, as far as the GPU's memory goes.
//
// m-SCT (Baechi: Jeon et al., SoCC 2020, section 3.3; SCT: Hanen and Munier, Discrete Applied Mathematics 108, 2001): m-ETF in
// which an operation's favourite successor follows it on its device. A linear programme says which successors are favourites.
#include <algorithm>
#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/CoinPackedVector.hpp>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "policies/place/list_schedule.hpp"
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

/// What passes between two operations, as time between two GPUs.
using Links = std::map<std::pair<std::int32_t, std::int32_t>, double>;

Links links_of(const PlacementView& view, std::span<const std::int32_t> gpus) {
  Links links;
  for (int t = 0; t < view.graph().tensors(); ++t) {
    const sim::StepTensor& tensor = view.graph().tensor(t);
    const double seconds = gpus.size() < 2 ? 0 : sim::seconds_of(transfer_ticks(view.machine(), tensor.bytes, gpus[0], gpus[1]));
    for (const std::int32_t reader : view.graph().readers_of(t)) links[{tensor.producer, reader}] += seconds;
  }
  return links;
}

/// Rows of a linear programme that minimises its last variable; all variables are at least 0.
class Programme {
 public:
  explicit Programme(int variables) : variables_(variables) { matrix_.setDimensions(0, variables); }
  void at_least(std::span<const std::pair<int, double>> terms, double bound) {
    CoinPackedVector row;
    for (const auto& [variable, factor] : terms) row.insert(variable, factor);
    matrix_.appendRow(row);
    bounds_.push_back(bound);
  }
  /// Values of the variables. `most`: upper limits of each.
  std::vector<double> solve(const std::vector<double>& most) {
    std::vector<double> objective(static_cast<std::size_t>(variables_), 0);
    objective.back() = 1;
    ClpSimplex solver;
    solver.setLogLevel(0);
    solver.loadProblem(matrix_, nullptr, most.data(), objective.data(), bounds_.data(), nullptr);
    sim::check(solver.dual() == 0, "the linear programme of favourites has a solution");
    const double* values = solver.primalColumnSolution();
    return {values, values + variables_};
  }

 private:
  int variables_;
  CoinPackedMatrix matrix_{false, 0, 0};
  std::vector<double> bounds_;
};

}  // namespace

DeviceOfGroup MTopo::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  const PlacementGraph graph(view);
  const std::vector<std::int32_t> devices = gpus_or_all(view.machine());
  std::int64_t sum = 0, largest = 0;
  for (int g = 0; g < graph.groups(); ++g) {
    sum += graph.memory_bytes(g);
    largest = std::max(largest, graph.memory_bytes(g));
  }
  const std::int64_t share = sum / static_cast<std::int64_t>(devices.size()) + largest;
  return place_within_memory(view, evaluator, [&](const std::vector<std::int64_t>& capacity) {
    DeviceOfGroup answer(static_cast<std::size_t>(graph.groups()));
    std::size_t at = 0;
    std::int64_t used = 0;
    for (const std::int32_t g : graph.order()) {
      const auto room = [&] { return std::min(share, capacity[static_cast<std::size_t>(devices[at])]) - used; };
      while (graph.memory_bytes(g) > room() && at + 1 < devices.size()) {
        ++at;
        used = 0;
      }
      used += graph.memory_bytes(g);
      answer[static_cast<std::size_t>(g)] = devices[at];
    }
    return answer;
  });
}

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

// Hanen and Munier's relaxation: s_j >= s_i + p_i + c_ij x_ij, of all successors of i and of all predecessors of j at most one
// has x = 0; the end of the step is least. x below 0.1 counts as 0 (Baechi, section 3.3).
std::vector<std::int32_t> favourite_successors(const PlacementView& view) {
  const std::vector<std::int32_t> gpus = gpus_or_all(view.machine());
  const Links links = links_of(view, gpus);
  const int ops = view.graph().ops(), first_link = ops, end = ops + static_cast<int>(links.size());
  const auto seconds = [&](int op) { return sim::seconds_of(view.duration(op, gpus[0])); };
  Programme programme(end + 1);
  std::vector<std::vector<std::pair<int, double>>> out(static_cast<std::size_t>(ops)), in(out);
  int x = first_link;
  for (const auto& [link, transfer] : links) {
    const auto [i, j] = link;
    programme.at_least(std::vector<std::pair<int, double>>{{j, 1}, {i, -1}, {x, -transfer}}, seconds(i));
    out[static_cast<std::size_t>(i)].emplace_back(x, 1);
    in[static_cast<std::size_t>(j)].emplace_back(x, 1);
    ++x;
  }
  for (int op = 0; op < ops; ++op) {
    programme.at_least(std::vector<std::pair<int, double>>{{end, 1}, {op, -1}}, seconds(op));
    for (const auto& side : {out[static_cast<std::size_t>(op)], in[static_cast<std::size_t>(op)]})
      if (side.size() > 1) programme.at_least(side, static_cast<double>(side.size()) - 1);
  }
  std::vector<double> most(static_cast<std::size_t>(end) + 1, COIN_DBL_MAX);
  std::fill(most.begin() + first_link, most.begin() + end, 1.0);
  const std::vector<double> values = programme.solve(most);
  std::vector<std::int32_t> favourite(static_cast<std::size_t>(ops), -1);
  x = first_link;
  for (const auto& [link, transfer] : links)
    if (values[static_cast<std::size_t>(x++)] < 0.1) favourite[static_cast<std::size_t>(link.first)] = link.second;
  return favourite;
}

DeviceOfGroup MSct::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  const PlacementGraph groups(view);
  const std::vector<std::int32_t> favourite = favourite_successors(view);
  return place_within_memory(view, evaluator, [&](std::vector<std::int64_t> capacity) {
    return etf_schedule(view, groups, std::move(capacity), favourite).device_of_group();
  });
}

}  // namespace rehearse::policies
