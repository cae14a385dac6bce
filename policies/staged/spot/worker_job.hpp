// One job under a deadline that chooses, stage by stage, whether it runs on spot or on-demand nodes and on how many: spot
// capacity comes and goes and its price moves between levels, both a first-order chain from stage to stage.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/random.hpp"

namespace rehearse::policies {

/// Work that one worker does in a stage; progress is whole in these units, so that nothing is interpolated.
inline constexpr int kWorkUnits = 40;

/// Actions: 0 waits, then on demand with each number of workers, then on spot with each.
struct WorkerTerms {
  int stages = 0;  ///< until the deadline
  int work = 0;    ///< units
  std::vector<int> workers;
  /// Units a stage, and in a stage that begins with a restart; by phase of the training, the one that ends it first, and number
  /// of workers.
  std::vector<int> full, started;
  double on_demand_usd = 0;      ///< a worker and stage
  std::vector<double> spot_usd;  ///< likewise, by level of the price
  std::vector<int> fewest;       ///< stages that are sure to end the job, by held action and work left

  /// Fills `fewest`, once all above is there: whatever the market does, which is up while spot nodes are held.
  void plan_safely();
  int fewest_stages(int work_left, int held) const {
    return fewest[static_cast<std::size_t>(held) * (static_cast<std::size_t>(work) + 1) + static_cast<std::size_t>(work_left)];
  }

  int sizes() const { return static_cast<int>(workers.size()); }
  int actions() const { return 1 + 2 * sizes(); }
  int levels() const { return static_cast<int>(spot_usd.size()); }
  int phases() const { return static_cast<int>(full.size() / workers.size()); }
  /// Phases are equal shares of the work, but for the rounding.
  int phase_of(int work_left) const { return (work_left - 1) * phases() / work; }
  /// The least work left of a phase; of the one beyond the first, `work` + 1.
  int begin_of(int phase) const { return (work * phase + phases() - 1) / phases() + 1; }
  bool is_spot(int action) const { return action > sizes(); }
  /// Of an action that does not wait: which of `workers`.
  std::size_t size_of(int action) const { return static_cast<std::size_t>((action - 1) % sizes()); }
  int progress_in(int phase, int action, bool starts) const {
    return action == 0 ? 0 : (starts ? started : full)[static_cast<std::size_t>(phase * sizes()) + size_of(action)];
  }
  /// Of a whole stage that begins with this work left, > 0.
  int progress(int action, bool starts, int work_left) const { return progress_in(phase_of(work_left), action, starts); }
  /// For a whole stage; on spot in a state of the market with capacity.
  double usd(int action, int market) const;
};

/// What a stage's global batch does: a step takes the overhead and, of each worker, its share of the batch (in the time of a
/// sample); an example is worth (noise scale + reference) / (noise scale + batch) of one at the reference (McCandlish et al.
/// 2018). The noise scale grows from the first to the last of the training's phases by equal factors.
struct BatchTerms {
  std::vector<int> sizes;  ///< to choose from; none: the batch is no matter
  int reference = 256;
  double step_overhead_samples = 32;
  double noise_scale_begin = 256, noise_scale_end = 4096;  ///< samples, at the beginning and at the end of the training
  int phases = 4;

  double noise_scale(int phase) const;  ///< in the middle of a phase; 0 is the last
  /// Over one worker's at the reference; n workers share the batch like n^scaling.
  double speed(double workers_speed, int batch, int phase) const;
};

/// What the speed-up of n workers is: n^scaling without a batch, of which a stage that begins with a restart loses its share.
/// With batches a stage has the one with which it does most.
struct WorkerSpeeds {
  std::vector<int> workers;
  double scaling = 0.9;
  double restart_stages = 0;
  BatchTerms batch;
};
/// `work_stages`: of one worker, at the reference batch.
WorkerTerms make_worker_terms(const WorkerSpeeds& speeds, int stages, double work_stages);

/// A chain over the market's states: 0 is without spot capacity, 1 and more are levels of its price. Rows sum to 1.
using MarketChain = std::vector<std::vector<double>>;

struct MarketTerms {
  double up_stages = 0, down_stages = 0;   ///< mean, at a revocation factor of 1
  double price_stages = 0;                 ///< mean time until the level is drawn anew
  std::vector<double> shares;              ///< of the levels when drawn
  std::vector<double> revocation_factors;  ///< of the rate of revocation, by level
};
MarketChain make_market(const MarketTerms& terms);

/// `stages` + 1 states of the market; the first is up, at a level drawn by the shares.
std::vector<std::uint8_t> draw_market(const MarketChain& chain, std::span<const double> shares, int stages, sim::Random& random);

/// What a policy sees before each stage.
struct WorkerView {
  const WorkerTerms& terms;
  int time = 0;       ///< stages since the submission
  int work_left = 0;  ///< > 0
  int held = 0;       ///< action of the stage before; a revoked job waits
  int market = 0;
};

class WorkerPolicy {
 public:
  virtual ~WorkerPolicy() = default;
  virtual std::string_view name() const = 0;
  /// A new job.
  virtual void begin() {}
  /// An action; spot only where the market has capacity.
  virtual int decide(const WorkerView& view) = 0;
};

/// Whether the deadline can be kept after the action, whatever the market does.
bool keeps_deadline(const WorkerView& view, int action);
/// On demand if that keeps it, and on as few workers as do; there is one while the deadline can be kept.
int fewest_that_keep(const WorkerView& view);

struct WorkerOutcome {
  double usd = 0;
  bool kept = false;
  int overruled = 0;  ///< stages in which the answer could have broken the deadline; the fewest workers that keep it were taken
  int starts = 0, spot_stages = 0, on_demand_stages = 0, waited_stages = 0;
  int worker_stages = 0;
};

/// A stage on spot nodes that are gone by its end yields half of its progress, rounded down, and is paid for; the last stage is
/// paid for by its share. The deadline can be kept on demand from the start.
WorkerOutcome run_worker_job(const WorkerTerms& terms, std::span<const std::uint8_t> market, WorkerPolicy& policy);

/// The same action all through: one that is on spot waits while there is no capacity.
class FixedWorkers final : public WorkerPolicy {
 public:
  explicit FixedWorkers(int action) : action_(action) {}
  std::string_view name() const override { return "static"; }
  int decide(const WorkerView& view) override { return view.terms.is_spot(action_) && view.market == 0 ? 0 : action_; }

 private:
  int action_;
};

}  // namespace rehearse::policies
