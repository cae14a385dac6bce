#include "policies/staged/spot/worker_programme.hpp"

#include <algorithm>
#include <utility>

namespace rehearse::policies {

namespace {

constexpr float kHurry = 1 + 1e-5F;  ///< of a plan: what costs as much later is done now; above the rounding of sums
constexpr float kBroken = 1e30F;     ///< of what could break the deadline; finite, so that sums stay numbers

/// Values by work left.
using Row = std::vector<float>;

/// Work left of one phase of the training.
struct WorkRange {
  std::size_t begin = 0, end = 0;
  /// The last phase has no work left in it, too.
  static WorkRange of(const WorkerTerms& terms, int phase) {
    return {static_cast<std::size_t>(phase == 0 ? 0 : terms.begin_of(phase)),
            static_cast<std::size_t>(terms.begin_of(phase + 1))};
  }
};

/// Adds probability * value of the work that is left after the progress.
void add_after(Row& values, WorkRange range, const Row& later, int progress, float probability) {
  const std::size_t done = std::clamp(static_cast<std::size_t>(progress), range.begin, range.end);
  for (std::size_t w = range.begin; w < done; ++w) values[w] += probability * later[0];
  for (std::size_t w = done; w < range.end; ++w) values[w] += probability * later[w - static_cast<std::size_t>(progress)];
}

/// What a stage costs: by the share of it that is needed; all of one that gets nowhere.
void put_money(Row& values, WorkRange range, double usd, double progress) {
  const auto all = static_cast<float>(usd), unit = static_cast<float>(progress > 0 ? usd / progress : usd);
  for (std::size_t w = range.begin; w < range.end; ++w) values[w] = std::min(all, unit * static_cast<float>(w));
}

/// The cheapest action for each amount of work. Rows of actions that may not be taken are empty.
struct StageValues {
  std::vector<Row> full, started;  ///< by action: it is held and goes on, or is started
  struct Starts {
    Row usd;
    std::vector<std::uint8_t> action;
  };
  Starts cheapest, next;  ///< of all starts, and of all but the cheapest

  StageValues(int actions, std::size_t rows) : full(static_cast<std::size_t>(actions)), started(full) {
    for (Starts* starts : {&cheapest, &next}) *starts = {Row(rows), std::vector<std::uint8_t>(rows)};
  }

  void compare_starts() {
    for (Starts* starts : {&cheapest, &next}) {
      std::fill(starts->usd.begin(), starts->usd.end(), kBroken);
      std::fill(starts->action.begin(), starts->action.end(), 0);
    }
    for (std::size_t action = 0; action < started.size(); ++action) {
      const auto mark = static_cast<std::uint8_t>(action);
      for (std::size_t w = 0; w < started[action].size(); ++w) {
        const float usd = started[action][w], first = cheapest.usd[w], second = next.usd[w];
        const bool best = usd < first, good = usd < second;
        next.usd[w] = best ? first : good ? usd : second;
        next.action[w] = best ? cheapest.action[w] : good ? mark : next.action[w];
        cheapest.usd[w] = best ? usd : first;
        cheapest.action[w] = best ? mark : cheapest.action[w];
      }
    }
  }
  /// What is held goes on or something else is started: it is not started anew, which could pay where a stage that does less
  /// ends in a phase that is faster. Equal values: no start.
  void choose(std::size_t held, Row& best, std::uint8_t* choices) const {
    const auto mark = static_cast<std::uint8_t>(held);
    const Row& stays = full[held];
    if (stays.empty()) best = cheapest.usd;
    if (stays.empty() && choices != nullptr) std::copy(cheapest.action.begin(), cheapest.action.end(), choices);
    for (std::size_t w = 0; w < stays.size(); ++w) {
      const bool itself = cheapest.action[w] == mark;
      const float start = itself ? next.usd[w] : cheapest.usd[w];
      best[w] = std::min(stays[w], start);
      if (choices != nullptr) choices[w] = stays[w] <= start ? mark : itself ? next.action[w] : cheapest.action[w];
    }
    best[0] = 0;
  }
};

/// By state and held action, at the deadline.
std::vector<std::vector<Row>> at_the_end(const WorkerTerms& terms, std::size_t states) {
  Row end(static_cast<std::size_t>(terms.work) + 1, kBroken);
  end[0] = 0;
  return {states, std::vector<Row>(static_cast<std::size_t>(terms.actions()), end)};
}

}  // namespace

StageLaw StageLaw::of(const MarketChain& chain) {
  StageLaw law;
  for (std::size_t from = 0; from < chain.size(); ++from) {
    law.market.push_back(static_cast<int>(from));
    law.steps.emplace_back();
    for (std::size_t to = 0; to < chain.size(); ++to)
      if (chain[from][to] > 0) law.steps.back().push_back({static_cast<int>(to), static_cast<float>(chain[from][to])});
  }
  return law;
}

WorkerTable::WorkerTable(const WorkerTerms& terms, int states)
    : states_(static_cast<std::size_t>(states)),
      actions_(static_cast<std::size_t>(terms.actions())),
      rows_(static_cast<std::size_t>(terms.work) + 1),
      choices_(static_cast<std::size_t>(terms.stages) * states_ * actions_ * rows_, 0) {}

WorkerTable WorkerTable::solve(const WorkerTerms& terms, const StageLaw& law, const std::vector<bool>& allowed) {
  WorkerTable table(terms, law.states());
  std::vector<std::vector<Row>> later = at_the_end(terms, table.states_), now = later;
  StageValues values(terms.actions(), table.rows_);
  for (int time = terms.stages - 1; time >= 0; --time) {
    for (int state = 0; state < law.states(); ++state) {
      const int market = law.market[static_cast<std::size_t>(state)];
      for (int action = 0; action < terms.actions(); ++action) {
        const auto a = static_cast<std::size_t>(action);
        const bool may = allowed.empty() || allowed[a] || action == terms.sizes();
        for (const bool starts : {false, true}) {
          Row& row = (starts ? values.started : values.full)[a];
          row.clear();
          if (!may || (terms.is_spot(action) && market == 0)) continue;
          row.resize(table.rows_);
          for (int phase = 0; phase < terms.phases(); ++phase) {
            const WorkRange range = WorkRange::of(terms, phase);
            const int progress = terms.progress_in(phase, action, starts);
            put_money(row, range, terms.usd(action, market), progress);
            for (const StageStep& step : law.steps[static_cast<std::size_t>(state)]) {
              const auto to = static_cast<std::size_t>(step.to);
              const bool revoked = terms.is_spot(action) && law.market[to] == 0;
              add_after(row, range, later[to][revoked ? 0 : a], revoked ? progress / 2 : progress, step.probability);
            }
          }
        }
      }
      values.compare_starts();
      for (int held = 0; held < terms.actions(); ++held) {
        if (terms.is_spot(held) && market == 0) continue;
        values.choose(static_cast<std::size_t>(held), now[static_cast<std::size_t>(state)][static_cast<std::size_t>(held)],
                      &table.choices_[table.at(time, 0, held, state)]);
      }
    }
    std::swap(now, later);
  }
  for (const std::vector<Row>& of_state : later) table.at_start_.push_back(of_state[0].back());
  return table;
}

WorkerTable WorkerTable::plan(const WorkerTerms& terms, const MarketChain& chain) {
  WorkerTable table(terms, static_cast<int>(chain.size()));
  for (int time = 0; time < terms.stages; ++time) {
    for (std::size_t state = 0; state < chain.size(); ++state) {
      std::vector<double> now(chain.size(), 0);
      now[state] = 1;
      table.plan_from(terms, chain, std::move(now), time);
    }
  }
  return table;
}

void WorkerTable::plan_from(const WorkerTerms& terms, const MarketChain& chain, std::vector<double> state, int time) {
  /// Spot nodes in a stage to come: how likely, at what price, and how likely they go in it.
  struct Expected {
    double up = 0, goes = 0, usd = 0;
  };
  const auto now = static_cast<int>(std::find(state.begin(), state.end(), 1.0) - state.begin());
  std::vector<Expected> expected;
  for (int k = 0; k < terms.stages - time; ++k) {
    Expected& at = expected.emplace_back();
    std::vector<double> next(state.size(), 0);
    for (std::size_t from = 0; from < state.size(); ++from) {
      if (from > 0) {
        at.up += state[from];
        at.usd += state[from] * terms.spot_usd[from - 1];
        at.goes += state[from] * chain[from][0];
      }
      for (std::size_t to = 0; to < state.size(); ++to) next[to] += state[from] * chain[from][to];
    }
    if (at.up > 0) {
      at.usd /= at.up;
      at.goes /= at.up;
    }
    state = std::move(next);
  }

  // A plan that does not end in time is dearer than any that does, and the dearer the more is left.
  const double late_usd = 10 * terms.on_demand_usd * terms.workers.back() * terms.stages;
  Row end(rows_, 0);
  for (std::size_t w = 1; w < rows_; ++w)
    end[w] = static_cast<float>(late_usd * (1 + static_cast<double>(w) / static_cast<double>(rows_)));
  std::vector<Row> later(actions_, end), best(actions_, Row(rows_));
  StageValues values(terms.actions(), rows_);
  for (int k = terms.stages - time - 1; k >= 0; --k) {
    const Expected& expects = expected[static_cast<std::size_t>(k)];
    for (int action = 0; action < terms.actions(); ++action) {
      const auto a = static_cast<std::size_t>(action);
      const bool spot = terms.is_spot(action);
      for (const bool starts : {false, true}) {
        Row& row = (starts ? values.started : values.full)[a];
        row.clear();
        if (spot && expects.up <= 0) continue;
        row.resize(rows_);
        const double share = spot ? expects.up * (1 - 0.5 * expects.goes) : 1;
        const double price = spot ? terms.workers[terms.size_of(action)] * expects.usd * expects.up : terms.usd(action, 0);
        for (int phase = 0; phase < terms.phases(); ++phase) {
          const WorkRange range = WorkRange::of(terms, phase);
          // A start loses its restart whole: scaled by what is there, it would be the cheaper the later and the less likely.
          const int restart = starts ? terms.progress_in(phase, action, false) - terms.progress_in(phase, action, true) : 0;
          const double progress = std::max(0.0, share * terms.progress_in(phase, action, false) - restart);
          put_money(row, range, price, progress);
          add_after(row, range, later[a], static_cast<int>(progress + 0.5), 1);
        }
        if (action == 0)
          for (float& usd : row) usd *= kHurry;
      }
    }
    values.compare_starts();
    for (std::size_t held = 0; held < actions_; ++held)
      values.choose(held, best[held], k == 0 ? &choices_[at(time, 0, static_cast<int>(held), now)] : nullptr);
    std::swap(best, later);
  }
}

namespace {

class StagePolicy final : public WorkerPolicy {
 public:
  StagePolicy(std::string name, std::shared_ptr<const WorkerTable> table) : name_(std::move(name)), table_(std::move(table)) {}
  std::string_view name() const override { return name_; }
  int decide(const WorkerView& view) override { return table_->choice(view.time, view.work_left, view.held, view.market); }

 private:
  std::string name_;
  std::shared_ptr<const WorkerTable> table_;
};

}  // namespace

std::unique_ptr<WorkerPolicy> make_stage_policy(std::string name, std::shared_ptr<const WorkerTable> table) {
  return std::make_unique<StagePolicy>(std::move(name), std::move(table));
}

double omniscient_usd(const WorkerTerms& terms, std::span<const std::uint8_t> market) {
  std::vector<Row> later = at_the_end(terms, 1).front(), now = later;
  StageValues values(terms.actions(), now.front().size());
  for (int time = terms.stages - 1; time >= 0; --time) {
    const int here = market[static_cast<std::size_t>(time)], next = market[static_cast<std::size_t>(time) + 1];
    for (int action = 0; action < terms.actions(); ++action) {
      const auto a = static_cast<std::size_t>(action);
      const bool revoked = terms.is_spot(action) && next == 0;
      for (const bool starts : {false, true}) {
        Row& row = (starts ? values.started : values.full)[a];
        row.clear();
        if (terms.is_spot(action) && here == 0) continue;
        row.resize(later[0].size());
        for (int phase = 0; phase < terms.phases(); ++phase) {
          const WorkRange range = WorkRange::of(terms, phase);
          const int progress = terms.progress_in(phase, action, starts);
          put_money(row, range, terms.usd(action, here), progress);
          add_after(row, range, later[revoked ? 0 : a], revoked ? progress / 2 : progress, 1);
        }
      }
    }
    values.compare_starts();
    for (std::size_t held = 0; held < now.size(); ++held) values.choose(held, now[held], nullptr);
    std::swap(now, later);
  }
  return later[0].back();
}

}  // namespace rehearse::policies
