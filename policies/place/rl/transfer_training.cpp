#include "policies/place/rl/transfer_training.hpp"

#include <cmath>
#include <limits>

#include "policies/place/methods/methods.hpp"
#include "sim/step/step_timer.hpp"

namespace rehearse::policies {

namespace {

constexpr ReinforceOptions kTraining{.samples = 8, .rate = 0.003};
constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

}  // namespace

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
