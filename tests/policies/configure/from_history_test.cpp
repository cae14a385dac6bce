#include "policies/configure/from_history.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "policies/learn/isotonic_learner.hpp"
#include "tests/policies/configure/strategies.hpp"

using namespace rehearse::policies;
namespace sim = rehearse::sim;
using rehearse::tests::configuration;
using rehearse::tests::MadeUp;
using rehearse::tests::PoolSheet;
using rehearse::tests::real_cluster;
using rehearse::tests::RealWorld;

namespace {

constexpr double kSamples = 50'000;
const PoolSheet kFast{"fast", "v100", 64, 1, 3.6};

PastRun run(int workers, double batch, double epochs, double time_s, double accuracy, std::string instance = "node of fast") {
  return {.model = "resnet18",
          .dataset = "cifar10",
          .instance = std::move(instance),
          .workers = workers,
          .batch_size = batch,
          .samples = kSamples,
          .epochs = epochs,
          .time_s = time_s,
          .accuracy = accuracy};
}

/// Seconds an epoch: 100 on 1 worker, 60 on 2, 40 on 4, at batch 128. Accuracy 0.6 after 5 epochs, 0.8 after 10, 0.9 after 20.
std::vector<PastRun> three_sizes() { return {run(1, 128, 5, 500, 0.6), run(2, 128, 10, 600, 0.8), run(4, 128, 20, 800, 0.9)}; }

/// Without a margin.
FromHistory isotonic(Frozen frozen = Frozen::nothing) {
  return FromHistory(std::make_unique<IsotonicLearner>(IsotonicOptions{.margin_quantile = 0}), HistoryUse{.frozen = frozen});
}

struct Predicting {
  RealWorld real;
  RunHistory history;
  sim::CostRules costs;
  IsotonicLearner learner{{.margin_quantile = 0}};
  HistoryPredictors predictors;
  sim::Job job{.name = "j", .profile = &real.profile(), .work = sim::Work::train};

  explicit Predicting(std::vector<PastRun> runs, std::vector<PoolSheet> pools = {kFast})
      : real(real_cluster(pools), {{"resnet18", "cifar10"}}),
        history(std::move(runs)),
        predictors(history, real.cluster, *real.belief, learner, false) {}
  sim::Prediction predict(const sim::Configuration& c) { return predictors.predict(job, c, costs); }
};

}  // namespace

TEST_CASE("a whole job predicted from past runs, by hand", "[history]") {
  Predicting p(three_sizes());
  p.job.target_accuracy = 0.75;
  // Two workers at batch 128: 60 s an epoch. The least accuracy at 9 epochs is that at 5, at 10 it is 0.8: 10 epochs.
  // 30 s of start + 10 x 60 s, at 2 x 0.001 dollars a second.
  const sim::Prediction two = p.predict(configuration(0, 2, 64));
  CHECK(two.feasible);
  CHECK_FALSE(two.extrapolated);
  CHECK(two.epochs == 10);
  CHECK(two.accuracy == Approx(0.8));
  CHECK(two.time_s == Approx(630));
  CHECK(two.note.empty());
  CHECK(p.predict(configuration(0, 1, 128)).time_s == Approx(30 + 10 * 100));
  // Exactly 20 epochs, no target.
  p.job.target_accuracy = sim::kUnset;
  p.job.epochs = 20;
  const sim::Prediction exact = p.predict(configuration(0, 4, 32));
  CHECK(exact.time_s == Approx(30 + 20 * 40));
  CHECK(exact.accuracy == Approx(0.9));
  // Money by the smooth time: worker-seconds midway between the envelopes at workers x {0.71, 1, 1.41} and batch x {0.71,
  // 1, 1.41}. Batch 90.5: (120 + 160)/2, 160, 160 (no run above: the most). Batch 128: 140, 160, 160. Batch 181: no run below, so
  // (100 + 160)/2 = 130 three times. Their mean is 1310/9; 4 workers at 0.001 dollars a second for 30 + 20 x 1310/9/4 seconds.
  CHECK(exact.cost_usd == Approx(4 * 0.001 * (30 + 20 * 1310.0 / 9 / 4)));
  // Ranked by what lies halfway to the safe 160; at most that, as the epochs are given.
  CHECK(exact.ranked_cost_usd == Approx(4 * 0.001 * (30 + 20 * (1310.0 / 9 + 160) / 2 / 4)));
  CHECK(exact.safe_cost_usd == Approx(4 * 0.001 * (30 + 20 * 160 / 4)));
}

TEST_CASE("a floor beyond the past runs takes the cap, and is not promised", "[history]") {
  Predicting p(three_sizes());
  p.job.target_accuracy = 0.95;
  p.job.epochs = 30;
  const sim::Prediction capped = p.predict(configuration(0, 2, 64));
  CHECK(capped.epochs == 30);
  CHECK(capped.accuracy == Approx(0.9));
  CHECK(capped.extrapolated);
  p.job.epochs = 0;  // without a cap of its own: three times the publication's 100 epochs
  CHECK(p.predict(configuration(0, 2, 64)).epochs == 300);
}

TEST_CASE("outside the data time is pessimistic and marked", "[history]") {
  Predicting p(three_sizes());
  p.job.epochs = 10;
  // Worker-seconds rise with the workers and fall with the batch: 100, 120, 160. Batch 64 lies beyond all of them: the most.
  const sim::Prediction smaller = p.predict(configuration(0, 2, 32));
  CHECK(smaller.extrapolated);
  CHECK(smaller.time_s == Approx(30 + 10 * 160 / 2.0));
  // Three workers lie between two and four: at most 160 worker-seconds.
  const sim::Prediction between = p.predict(configuration(0, 4, 32));
  CHECK(between.time_s == Approx(30 + 10 * 160 / 4.0));
}

TEST_CASE("steps of a trace are scaled to its measured duration", "[history]") {
  Predicting p(three_sizes());
  p.job.work = sim::Work::steps;
  p.job.steps = 3906.25;  // x 128 = 500,000 samples: ten epochs, 600 s on the 2 GPUs it had
  p.job.batch_size = 128;
  p.job.gpus = 2;
  CHECK(p.predict(configuration(0, 2, 64)).time_s == Approx(30 + 600));
  p.job.duration_s = 1200;  // measured: twice as long, everywhere
  CHECK(p.predict(configuration(0, 2, 64)).time_s == Approx(30 + 1200));
  CHECK(p.predict(configuration(0, 1, 128)).time_s == Approx(30 + 2 * 1000));
}

TEST_CASE("without runs of its own an instance borrows, and without any there is no prediction", "[history]") {
  const PoolSheet slow{"slow", "k80", 8, 1, 1};
  Predicting borrowed(three_sizes(), {kFast, slow});
  borrowed.job.epochs = 10;
  const sim::Prediction there = borrowed.predict(configuration(1, 2, 64)), here = borrowed.predict(configuration(0, 2, 64));
  CHECK(there.note == "times of another instance, scaled");
  CHECK(here.note.empty());
  // By the ratio of data-sheet times of the publication's batch of 128 on one worker.
  const auto& model = borrowed.real.models.of(borrowed.real.profile());
  const auto seconds = [&](std::size_t device) {
    const auto t = model.step.compute_time(borrowed.real.cluster.devices[device], {.batch = 128});
    return std::max(t.total_s(), t.host_s);
  };
  CHECK((there.time_s - 30) / (here.time_s - 30) == Approx(seconds(0) / seconds(1)));

  // What was measured of the model on that device counts, too.
  Predicting measured(three_sizes(), {kFast, slow});
  measured.job.epochs = 10;
  measured.real.cluster.devices[0].corrections = {{.model = "resnet18", .dataset = "cifar10", .time_factor = 3}};
  CHECK((measured.predict(configuration(1, 2, 64)).time_s - 30) / (there.time_s - 30) == Approx(3).epsilon(1e-3));

  Predicting none({});
  none.job.epochs = 10;
  const sim::Prediction nothing = none.predict(configuration(0, 2, 64));
  CHECK_FALSE(nothing.feasible);
  CHECK(std::isnan(nothing.time_s));
  CHECK(nothing.note == "no past run of this profile");
  std::vector<PastRun> other = three_sizes();
  for (PastRun& r : other) r.dataset = "imagenet";
  Predicting elsewhere(other);
  elsewhere.job.target_accuracy = 0.5;
  CHECK(elsewhere.predict(configuration(0, 2, 64)).note == "no past run of this profile");
  for (PastRun& r : other) {
    r.dataset = "cifar10";
    r.asynchronous = true;
  }
  Predicting otherwise(other);
  otherwise.job.target_accuracy = 0.5;
  const sim::Prediction blind = otherwise.predict(configuration(0, 2, 64));
  CHECK(std::isnan(blind.accuracy));
  CHECK(blind.note == "no past run of this profile that combined gradients likewise");
}

TEST_CASE("a budget is trained also where no past run says how long that takes", "[history]") {
  Predicting none({});
  none.job.target_accuracy = 0.75;
  none.job.stop = sim::Stop::budget;
  const sim::Prediction unknown = none.predict(configuration(0, 2, 64));
  CHECK_FALSE(unknown.feasible);
  CHECK(unknown.epochs == 300);  // the cap: three times the publication's 100
  none.job.epochs = 40;
  CHECK(none.predict(configuration(0, 2, 64)).epochs == 40);
}

TEST_CASE("static-isotonic-shared takes the cheapest choice that is predicted to keep the limits", "[isotonic]") {
  MadeUp view;
  view.history = RunHistory(three_sizes());
  for (const int workers : {1, 2, 4}) view.candidates.push_back(configuration(0, workers, 128 / workers));
  view.job.target_accuracy = 0.75;
  // Ten epochs: 1030 s for 1.03 dollars on one, 630 s for 1.26 on two, 430 s for 1.72 on four.
  view.job.deadline_s = 2000;
  CHECK(view.order(isotonic()) == std::vector<int>{1, 2, 4});
  view.job.deadline_s = 1000;
  CHECK(view.order(isotonic()) == std::vector<int>{2, 4, 1});
  view.job.deadline_s = 500;
  CHECK(view.order(isotonic()).front() == 4);
  // Nothing is in time: manual's choice, the first candidate, then the least late.
  view.job.deadline_s = 100;
  CHECK(view.order(isotonic()) == std::vector<int>{1, 4, 2});
  std::swap(view.candidates[0], view.candidates[1]);
  CHECK(view.order(isotonic()).front() == 2);
}

TEST_CASE("one strategy answers each job as one that was asked nothing before", "[isotonic]") {
  MadeUp view;
  view.history = RunHistory(three_sizes());
  for (const int workers : {1, 2, 4}) view.candidates.push_back(configuration(0, workers, 128 / workers));
  view.job.target_accuracy = 0.75;
  FromHistory kept = isotonic();
  const auto same = [&] { return view.order(kept) == view.order(isotonic()); };
  // The orders of the test above; each twice, the second time from memory.
  for (const double deadline_s : {2000.0, 1000.0, 1000.0, 2000.0, 500.0, 100.0, 2000.0}) {
    view.job.deadline_s = deadline_s;
    CHECK(same());
  }
  for (int j = 0; j < 40; ++j) {  // more than are kept
    view.job.deadline_s = 100 + 50.0 * j;
    CHECK(same());
  }
  view.job.objective = sim::Objective::min_time;
  CHECK(same());
  view.job.cost_limit_usd = 1.25;
  CHECK(same());
  view.job.target_accuracy = sim::kUnset;
  view.job.epochs = 5;
  CHECK(same());
  // A run that tells other times, and a run that was out of memory with 128 samples a worker.
  std::vector<PastRun> runs = three_sizes();
  runs.push_back(run(1, 128, 5, 5000, 0.6));
  view.history = RunHistory(runs);
  CHECK(same());
  runs.push_back(run(1, 128, 0, 0, 0));
  runs.back().told = Told::out_of_memory;
  view.history = RunHistory(runs);
  CHECK(same());
  std::swap(view.candidates[0], view.candidates[2]);
  CHECK(same());
}

TEST_CASE("the objective ranks what keeps the limits, money included", "[isotonic]") {
  MadeUp view;
  view.history = RunHistory(three_sizes());
  for (const int workers : {1, 2, 4}) view.candidates.push_back(configuration(0, workers, 128 / workers));
  view.job.target_accuracy = 0.75;
  view.job.deadline_s = 2000;
  const auto order = [&](sim::Objective objective, double cost_limit_usd) {
    view.job.objective = objective;
    view.job.cost_limit_usd = cost_limit_usd;
    return view.order(isotonic());
  };
  // As above: 1030 s on one worker, 630 s on two, 430 s on four at a milli-dollar a worker-second: safe are 1.03, 1.26, 1.72
  // dollars.
  CHECK(order(sim::Objective::min_time, sim::kNever) == std::vector<int>{4, 2, 1});
  CHECK(order(sim::Objective::min_time, 1.71) == std::vector<int>{2, 1, 4});
  CHECK(order(sim::Objective::min_time, 1.25) == std::vector<int>{1, 2, 4});
  // Batch 64 is cheaper than none of them but as accurate as any run: a job of ten epochs at 128 reaches 0.8 at least.
  view.job.target_accuracy = sim::kUnset;
  view.job.epochs = 10;
  view.candidates.push_back(configuration(0, 8, 64));  // batch 512: beyond the past runs, 0.6 at least
  CHECK(order(sim::Objective::max_accuracy, sim::kNever).back() == 8);
  CHECK(order(sim::Objective::max_accuracy, sim::kNever).front() == 1);  // of equals the cheapest
}

TEST_CASE("one knob frozen where manual has it", "[isotonic]") {
  MadeUp view;
  view.history = RunHistory(three_sizes());
  // Manual: 2 workers of 64. Others vary the workers, the batch, or both.
  view.candidates = {configuration(0, 2, 64),  configuration(0, 1, 128), configuration(0, 4, 32),
                     configuration(0, 2, 128), configuration(0, 2, 32),  configuration(0, 8, 64)};
  view.job.deadline_s = sim::kNever;
  const auto sorted = [&](Frozen frozen) {
    std::vector<int> names = view.order(isotonic(frozen));
    std::sort(names.begin(), names.end());
    return names;
  };
  CHECK(sorted(Frozen::nothing).size() == 6);
  CHECK(sorted(Frozen::batch) == std::vector<int>{1, 2, 4});      // batch 128
  CHECK(sorted(Frozen::resources) == std::vector<int>{2, 2, 2});  // two workers
}

TEST_CASE("bounds that no run sets say so, and manual's choice goes first", "[history]") {
  const RealWorld real(real_cluster({kFast}), {{"resnet18", "cifar10"}});
  rehearse::tests::Bundled bundled(real);
  const sim::Job job{
      .name = "j", .profile = &real.profile(), .work = sim::Work::train, .target_accuracy = 0.8, .deadline_s = 1e5};
  const sim::Menu menu = bundled.menu("static-isotonic", job);
  CHECK_FALSE(menu.feasible);
  CHECK(menu.ranked.front().configuration == bundled.menu("manual", job).ranked.front().configuration);
  CHECK(menu.ranked.front().predicted.note.find("too few past runs to say anything: manual's choice") != std::string::npos);
  // One run of the instance that trains to the floor says something.
  PastRun one = run(1, 128, 20, 2000, 0.9);
  bundled.history = RunHistory({one});
  CHECK(bundled.menu("static-isotonic", job).feasible);
}
