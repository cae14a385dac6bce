#include "policies/place/rl/training.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "policies/place/methods/methods.hpp"
#include "sim/step/step_timer.hpp"

namespace rehearse::policies {

namespace {

constexpr ReinforceOptions kTraining{.samples = 8, .rate = 0.003};
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

}  // namespace

PlacementRewards::PlacementRewards(const PlacementView& view, const ReinforceOptions& options)
    : baseline_decay_(options.baseline_decay), penalty_(options.out_of_memory_penalty) {
  for (int d = 0; d < view.devices(); ++d) memory_ += static_cast<double>(view.machine().device(d).memory_bytes);
}

std::vector<double> PlacementRewards::advantages(std::span<const StepScore> scores) {
  if (scores.empty()) return {};
  const auto root = [](const StepScore& score) { return std::sqrt(sim::seconds_of(score.makespan)); };
  const auto count = static_cast<double>(scores.size());
  if (unit_ == 0) {
    for (const StepScore& score : scores) unit_ += root(score) / count;
    if (unit_ == 0) unit_ = 1;
  }
  std::vector<double> costs;
  double mean = 0, square = 0;
  for (const StepScore& score : scores) {
    const double missing = static_cast<double>(score.missing_bytes) / std::max(1.0, memory_);
    costs.push_back(root(score) / unit_ + (score.fits() ? 0 : penalty_ * (1 + missing)));
    mean += costs.back() / count;
  }
  baseline_ = started_ ? baseline_decay_ * baseline_ + (1 - baseline_decay_) * mean : mean;
  started_ = true;
  for (const double cost : costs) square += (cost - baseline_) * (cost - baseline_) / count;
  const double spread = std::max(std::sqrt(square), 1e-6);
  for (double& cost : costs) cost = (baseline_ - cost) / spread;
  return costs;
}

void Elite::offer(std::span<const DeviceOfGroup> placements, std::span<const StepScore> scores) {
  for (std::size_t i = 0; i < placements.size(); ++i) {
    const auto at = std::upper_bound(scores_.begin(), scores_.end(), scores[i]) - scores_.begin();
    if (static_cast<std::size_t>(at) >= kMost) continue;
    if (std::find(placements_.begin(), placements_.end(), placements[i]) != placements_.end()) continue;
    scores_.insert(scores_.begin() + at, scores[i]);
    placements_.insert(placements_.begin() + at, placements[i]);
    if (scores_.size() > kMost) scores_.pop_back(), placements_.pop_back();
  }
}

Reinforce::Reinforce(const PlacementView& view, const PlacementNetwork& network, ParameterSet& parameters,
                     const ReinforceOptions& options)
    : view_(view), network_(network), parameters_(parameters), options_(options), rewards_(view, options), tape_(parameters) {}

bool Reinforce::is_new(DeviceOfGroup& placement, sim::Random& random) {
  if (seen_.insert(placement).second) return true;
  constexpr int kTries = 32, kTriesOfOneSize = 4;
  for (int tried = 0; tried < kTries; ++tried) {
    DeviceOfGroup changed = placement;
    for (int change = 0; change <= tried / kTriesOfOneSize; ++change)
      changed[random.below(changed.size())] =
          static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(view_.devices())));
    if (!seen_.insert(changed).second) continue;
    placement = std::move(changed);
    break;
  }
  return false;
}

std::vector<StepScore> Reinforce::update(PlacementEvaluator& evaluator, Adam& adam, std::size_t samples, double left) {
  std::vector<sim::Random> streams;
  // A stream for each sample of each update: what one draws does not depend on the others.
  for (std::size_t s = 0; s < samples; ++s) streams.emplace_back(sim::Random::mix(view_.random_key() + ++sampled_));
  const auto imitated = options_.imitation > 0 ? elite_.placements() : std::span<const DeviceOfGroup>();
  tape_.clear();
  PlacementSamples rows = network_.sample(tape_, {.drawn = streams, .given = imitated});
  const auto drawn = std::span(rows.placements).first(samples);
  std::vector<std::size_t> fresh;
  for (std::size_t s = 0; s < samples; ++s)
    if (is_new(drawn[s], streams[s])) fresh.push_back(s);
  std::vector<StepScore> scores = evaluator.score(drawn), judged;
  for (const std::size_t s : fresh) judged.push_back(scores[s]);
  const std::vector<double> advantages = rewards_.advantages(judged);
  std::vector<double> weights(rows.placements.size(), 0);
  for (std::size_t i = 0; i < fresh.size(); ++i) weights[fresh[i]] = advantages[i] / static_cast<double>(samples);
  for (std::size_t r = samples; r < weights.size(); ++r) weights[r] = options_.imitation / static_cast<double>(imitated.size());
  const Var gain =
      tape_.sum(tape_.multiply(rows.log_probability, tape_.constant({static_cast<Eigen::Index>(weights.size()), 1}, weights)));
  const double bonus = options_.entropy_weight * left * static_cast<double>(view_.groups().count);
  parameters_.clear_gradients();
  tape_.backward(tape_.scale(tape_.add(gain, tape_.scale(rows.entropy, bonus)), -1));
  parameters_.clip_gradients(1);
  adam.step(parameters_, options_.rate);
  elite_.offer(drawn, scores);
  return scores;
}

/// One case, with what is remembered of it.
struct TransferTraining::Lesson {
  Lesson(const TransferCase& made_of, std::uint64_t seed, const GraphLayers& layers, ParameterSet& parameters)
      : timer(sim::make_fast_timer(*made_of.graph, *made_of.machine)),
        scorer(*timer, *made_of.machine, *made_of.groups),
        evaluator(scorer, kUnlimited),
        view(*made_of.graph, *made_of.machine, *made_of.groups, sim::stream_key(seed, 0, "train rl-transfer", made_of.name)),
        placer(layers, view),
        learner(view, placer, parameters, kTraining) {
    PlacementEvaluator few(scorer, kUnlimited);
    heft_s = sim::seconds_of(few.score(Heft().place(view, few)).makespan);
  }

  std::unique_ptr<sim::StepTimer> timer;
  TimerScorer scorer;
  PlacementEvaluator evaluator;
  PlacementView view;
  GraphPlacer placer;
  Reinforce learner;
  double heft_s = 0;
};

TransferTraining::TransferTraining(TransferSetup setup)
    : setup_(std::move(setup)),
      random_(sim::stream_key(setup_.seed, 0, "train rl-transfer", "weights")),
      layers_({parameters_, random_}) {
  sim::check(!setup_.cases.empty(), "a graph to learn on");
  for (const TransferCase& made_of : setup_.cases)
    lessons_.push_back(std::make_unique<Lesson>(made_of, setup_.seed, layers_, parameters_));
}

TransferTraining::~TransferTraining() = default;

void TransferTraining::iterate() {
  Lesson& lesson = *lessons_[static_cast<std::size_t>(iteration_) % lessons_.size()];
  const double left = std::max(0.0, 1 - static_cast<double>(iteration_) / setup_.iterations);
  lesson.learner.update(lesson.evaluator, adam_, static_cast<std::size_t>(kTraining.samples), left);
  ++iteration_;
}

double TransferTraining::time_ratio() {
  double sum = 0;
  for (const auto& lesson : lessons_) {
    Tape tape(static_cast<const ParameterSet&>(parameters_));
    PlacementEvaluator one(lesson->scorer, 1);
    const StepScore score = one.score(lesson->placer.sample(tape, {.drawn = {}, .likeliest = true}).placements.front());
    sum += std::log(sim::seconds_of(score.makespan) / lesson->heft_s * (score.fits() ? 1 : 2));
  }
  return std::exp(sum / static_cast<double>(lessons_.size()));
}

}  // namespace rehearse::policies
