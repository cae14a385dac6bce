// The ends of stages at which `configure` is asked again, worked by hand in the toy world: an epoch is 1.25 s on any devices, a
// node of one GPU costs 0.001 dollars a second.
#include <catch2/catch.hpp>
#include <utility>

#include "policies/queue/line_orders.hpp"
#include "sim/base/errors.hpp"
#include "sim/replay/stage.hpp"
#include "tests/sim/replay/toy.hpp"

namespace {

using namespace toy;
using rehearse::policies::Fifo;

/// One choice for each stage, in order; keeps what it was told.
class Staged final : public Configurator {
 public:
  std::vector<Menu> menus;
  std::vector<StageSeen> seen;
  Menu configure(const Job&, double) override { return menus.at(0); }
  Menu configure_again(const Job&, std::span<const StageSeen> stages, double) override {
    seen.push_back(stages.back());
    CHECK(stages.size() == seen.size());
    return seen.size() < menus.size() ? menus[seen.size()] : Menu{};
  }
};

Choice until(double epochs, Choice choice) {
  choice.until_epochs = epochs;
  return choice;
}

/// Ends after four epochs, when a tenth for each reaches the target.
Job four_epochs(std::string name) {
  static const Profile profile{.model = "toy", .dataset = "toy"};
  return {.name = std::move(name), .profile = &profile, .work = Work::train, .target_accuracy = 0.4};
}

TEST_CASE("a stage that keeps its configuration costs nothing to begin") {
  // Start-up 5 s, four epochs: 5 + 4 x 1.25 = 10 s at 0.001 dollars. Stages: 5 + 2.5 s, then 2.5 s.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  Staged staged;
  staged.menus = {{.ranked = {until(2, choice(0, 1, 100))}}, {.ranked = {choice(0, 1, 100)}}};
  Fifo fifo;
  world.run({four_epochs("t")}, fifo, &staged);
  const JobRecord& job = world.keeper.of("t");
  CHECK(job.end_s == Approx(10));
  CHECK(job.cost.total() == Approx(0.010));
  CHECK(job.reconfigurations == 0);
  REQUIRE(world.keeper.stage_costs.size() == 2);
  CHECK(world.keeper.stage_costs[0] == Approx(0.0075));
  CHECK(world.keeper.stage_costs[1] == Approx(0.0025));
}

TEST_CASE("another configuration costs a checkpoint on the old devices and a start on the new") {
  // 5 + 2.5 s, checkpoint 2 s on one GPU: 9.5 s at 0.001. Start 5 s and 2.5 s on two: 7.5 s at 0.002. Together 0.0245, 17 s.
  World world{.cluster = cluster({{2, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  Staged staged;
  staged.menus = {{.ranked = {until(2, choice(0, 1, 100))}}, {.ranked = {choice(0, 2, 50)}}};
  Fifo fifo;
  world.run({four_epochs("t")}, fifo, &staged);
  const JobRecord& job = world.keeper.of("t");
  CHECK(job.end_s == Approx(17));
  CHECK(job.cost.total() == Approx(0.0245));
  CHECK(job.cost.switch_usd == Approx(5 * 0.001 + 2 * 0.001 + 5 * 0.002));
  CHECK(job.reconfigurations == 1);
  CHECK(job.workers == 2);
  CHECK(job.accuracy == Approx(0.4));
}

/// Starts the one job at once, and resizes it at 6 s to its second entry.
class ResizesAtSix final : public Queue {
 public:
  void decide(const QueueView& view, QueueAnswer& answer) override {
    for (const JobSlot slot : view.queued) answer.starts.push_back({.job = slot, .entry = 0});
    if (view.now_s == 6 && !std::exchange(resized_, true)) answer.resizes.push_back({.job = 0, .entry = 1});
    if (view.now_s < 6) answer.wake_at_s = 6;
  }

 private:
  bool resized_ = false;
};

TEST_CASE("a queue resizes a job to a choice whose stage lies behind it: that stage is the rest of the epoch under way") {
  // One GPU: 4.8 of 8 epochs in 6 s. The other entry's stage ended after epoch 2, so that it asks again after epoch 5: a fifth of
  // an epoch on two GPUs, 20 samples of 50 a step in 0.2 x 1 s, and its evaluation of 0.25 s.
  World world{.cluster = cluster({{2, 1}})};
  Staged staged;
  staged.menus = {{.ranked = {until(8, choice(0, 1, 100)), until(2, choice(0, 2, 50))}}, {.ranked = {choice(0, 2, 50)}}};
  ResizesAtSix queue;
  Job job = four_epochs("t");
  job.target_accuracy = 0.8;
  world.run({job}, queue, &staged);
  REQUIRE(staged.seen.size() == 1);
  CHECK(staged.seen[0].epochs == 5);
  CHECK(staged.seen[0].examples == Approx(500));
  CHECK(staged.seen[0].noise_scale == 10);
  CHECK(staged.seen[0].step_s == 1);
  CHECK(world.keeper.of("t").state == JobState::finished);
  CHECK(world.keeper.of("t").accuracy == Approx(0.8));
}

TEST_CASE("what a strategy is told at the end of a stage") {
  // After 5 + 2 x 1.25 s on two GPUs: 7.5 s, 0.015 dollars, 200 samples. The job was submitted at 3 s.
  World world{.cluster = cluster({{2, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2}};
  Staged staged;
  staged.menus = {{.ranked = {until(2, choice(0, 2, 50))}}, {.ranked = {until(3, choice(0, 2, 50))}}};
  Fifo fifo;
  Job job = four_epochs("t");
  job.submit_s = 3;
  world.run({job}, fifo, &staged);
  REQUIRE(staged.seen.size() == 2);
  const StageSeen& seen = staged.seen[0];
  CHECK(seen.configuration == choice(0, 2, 50).configuration);
  CHECK(seen.stages == 1);
  CHECK(seen.epochs == 2);
  CHECK(seen.examples == 200);
  CHECK(seen.accuracy == Approx(0.2));
  CHECK(seen.noise_scale == 10);
  CHECK(seen.step_s == 1);
  CHECK(seen.elapsed_s == Approx(7.5));
  CHECK(seen.cost_usd == Approx(0.015));
  CHECK(staged.seen[1].cost_usd == Approx(0.015 + 0.0025));
}

TEST_CASE("a strategy is told how long steps took where they had to wait for their input") {
  // A step of 1 s reads 15 bytes, of which the file system gives 10 a second.
  World world{.cluster = cluster({{1, 1}})};
  world.cluster.storage_bandwidth_bytes_per_s = 10;
  world.steps.input_bytes = 15;
  Staged staged;
  staged.menus = {{.ranked = {until(2, choice(0, 1, 100))}}, {.ranked = {choice(0, 1, 100)}}};
  Fifo fifo;
  world.run({four_epochs("t")}, fifo, &staged);
  REQUIRE(staged.seen.size() == 1);
  CHECK(staged.seen[0].step_s == Approx(1.5));
}

TEST_CASE("what a strategy is told of money has the parameter servers of the stage in it") {
  // Two servers at 3.6 dollars an hour: 0.002 dollars a second beside the GPU's 0.001, from 3 s on; 5 + 2 x 1.25 s.
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 5, .checkpoint_s = 2, .parameter_server_usd_per_hour = 3.6}};
  Staged staged;
  staged.menus = {{.ranked = {until(2, choice(0, 1, 100))}}, {.ranked = {until(3, choice(0, 1, 100))}}};
  for (Menu& menu : staged.menus) menu.ranked.front().configuration.sync = {.kind = SyncKind::servers_sync, .servers = 2};
  Fifo fifo;
  Job job = four_epochs("t");
  job.submit_s = 3;
  world.run({job}, fifo, &staged);
  REQUIRE(staged.seen.size() == 2);
  CHECK(staged.seen[0].cost_usd == Approx(7.5 * 0.003));
  CHECK(staged.seen[1].cost_usd == Approx(8.75 * 0.003));
}

TEST_CASE("a stage's first choice that is free counts; a job never goes back to the queue") {
  // A holder has one of three GPUs for 100 s: three are not free, two are, those that the job holds included.
  World world{.cluster = cluster({{3, 1}})};
  Staged staged;
  staged.menus = {{.ranked = {until(2, choice(0, 1, 100))}}, {.ranked = {choice(0, 3, 50), choice(0, 2, 50)}}};
  Fifo fifo;
  world.run({rigid("holder", 0, 1, 100), four_epochs("t")}, fifo, &staged);
  CHECK(world.keeper.of("t").workers == 2);
  // With two holders nothing is free but what it has: it goes on with that.
  World full{.cluster = cluster({{3, 1}})};
  Staged again;
  again.menus = staged.menus;
  Fifo second;
  full.run({rigid("holder", 0, 2, 100), four_epochs("t")}, second, &again);
  CHECK(full.keeper.of("t").workers == 1);
  CHECK(full.keeper.of("t").reconfigurations == 0);
  CHECK(full.keeper.of("t").end_s == Approx(5));
}

TEST_CASE("that the limits are out of reach is said once") {
  World world{.cluster = cluster({{1, 1}})};
  Staged staged;
  const auto menu = [](double end, bool feasible) {
    return Menu{.ranked = {until(end, choice(0, 1, 100))}, .feasible = feasible, .remedy = feasible ? "" : "too late"};
  };
  staged.menus = {menu(1, true), menu(2, false), menu(3, false), {.ranked = {choice(0, 1, 100)}}};
  Fifo fifo;
  world.run({four_epochs("t")}, fifo, &staged);
  CHECK(std::count(world.keeper.remedies.begin(), world.keeper.remedies.end(), "too late") == 1);
}

TEST_CASE("a strategy without an answer keeps the configuration to the job's end") {
  World world{.cluster = cluster({{1, 1}})};
  Staged staged;
  staged.menus = {{.ranked = {until(1, choice(0, 1, 100))}}};
  Fifo fifo;
  world.run({four_epochs("t")}, fifo, &staged);
  CHECK(staged.seen.size() == 1);
  CHECK(world.keeper.of("t").end_s == Approx(5));
}

TEST_CASE("stages end with whole epochs that lie ahead") {
  const auto complaint = [](double first, double second) {
    World world{.cluster = cluster({{1, 1}})};
    Staged staged;
    staged.menus = {{.ranked = {until(first, choice(0, 1, 100))}}, {.ranked = {until(second, choice(0, 1, 100))}}};
    Fifo fifo;
    try {
      world.run({four_epochs("t")}, fifo, &staged);
    } catch (const PolicyError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(complaint(2, 3).empty());
  CHECK(complaint(1.5, 3) ==
        "policy \"toy\", configure, job \"t\", at 0.000000 s: a stage until epoch 1.5 of a job with 0 trained");
  CHECK(complaint(2, 2) == "policy \"toy\", configure, job \"t\", at 2.500000 s: a stage until epoch 2 of a job with 2 trained");
}

// Reading 4 bytes a parameter: 1e9 parameters at 5e8 bytes/s are 8 s beside the 5 s of a start.
TEST_CASE("starting again reads the checkpoint") {
  class Large final : public StepTimes {
   public:
    const OpGraph& graph(const Profile&) const override { return graph_; }
    StepTiming timing(const Job&, const Configuration&, const Layout&, std::span<const Plans>) const override { return {}; }
    double noise(const Job&, const Configuration&, const Layout&, int) const override { return 1; }

   private:
    OpGraph graph_{.parameters = 1e9};
  };
  const Job job = four_epochs("t");
  const CostRules rules{.start_s = 5, .restore_bytes_per_s = 5e8};
  const Large large;
  const Models with_checkpoint{.step_times = &large};
  CHECK(start_seconds(job, rules, with_checkpoint, false) == 5);
  CHECK(start_seconds(job, rules, with_checkpoint, true) == 13);
  CHECK(start_seconds(rigid("r", 0, 1, 10), rules, with_checkpoint, true) == 0);
}

TEST_CASE("another batch size warms the learning rate up, the same one does not") {
  const Job job = four_epochs("t");
  const Tenths tenths;  // 100 samples an epoch
  const CostRules rules{.warmup_epochs = 0.3};
  TrainingState state;
  take_up_batch(job, 0, 64, rules, {.convergence = &tenths}, state);
  CHECK(state.warmup_examples == 0);
  take_up_batch(job, 64, 64, rules, {.convergence = &tenths}, state);
  CHECK(state.warmup_examples == 0);
  take_up_batch(job, 64, 128, rules, {.convergence = &tenths}, state);
  CHECK(state.warmup_examples == Approx(30));
}

}  // namespace
