#include <rapidcheck/catch.h>

#include <bit>
#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <utility>

#include "sim/base/random.hpp"
#include "sim/nodes/nodes.hpp"
#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;

namespace {

/// Asks the test what to do, and counts its calls.
class ScriptedQueue : public Queue {
 public:
  std::function<void(int call, const QueueView&, QueueAnswer&)> script;
  int calls = 0;
  void decide(const QueueView& view, QueueAnswer& answer) override { script(calls++, view, answer); }
};

class Knowing final : public OracleQueue {
 public:
  std::function<void(const Truth&, const QueueView&, QueueAnswer&)> script;
  void learn(const Truth& truth) override { truth_ = &truth; }
  void decide(const QueueView& view, QueueAnswer& answer) override { script(*truth_, view, answer); }

 private:
  const Truth* truth_ = nullptr;
};

std::vector<JobSlot> list(std::span<const JobSlot> slots) { return {slots.begin(), slots.end()}; }

Profile tenths_profile{.model = "toy", .dataset = "tenths"};

/// Sorted by node.
std::vector<std::pair<int, int>> taken(Nodes& nodes, Placement placement, int devices) {
  std::vector<NodeShare> out;
  nodes.take(placement, devices, out);
  std::vector<std::pair<int, int>> result;
  for (const NodeShare& share : out) result.emplace_back(share.node, share.devices);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

TEST_CASE("nodes with equal parts") {
  // Four nodes of 4, of which 2, 0, 3 and 4 are free.
  const auto made = [] {
    Nodes nodes(4, 4);
    nodes.take(std::vector<NodeShare>{{0, 2}, {1, 4}, {2, 1}});
    return nodes;
  };
  const auto shares = [&](Placement placement, int count, int each) {
    Nodes nodes = made();
    const Group group{.workers = count * each, .nodes = count};
    std::vector<std::pair<int, int>> result;
    if (!nodes.has_room_for(group)) return result;
    std::vector<NodeShare> out;
    nodes.take(placement, group, out);
    for (const NodeShare& share : out) result.emplace_back(share.node, share.devices);
    return result;
  };
  using Shares = std::vector<std::pair<int, int>>;
  CHECK(shares(Placement::consolidated, 1, 2) == Shares{{0, 2}});
  CHECK(shares(Placement::consolidated, 2, 2) == Shares{{0, 2}, {2, 2}});
  CHECK(shares(Placement::spread, 2, 2) == Shares{{3, 2}, {2, 2}});
  CHECK(shares(Placement::best_fit, 2, 3) == Shares{{2, 3}, {3, 3}});
  CHECK(shares(Placement::consolidated, 3, 1) == Shares{{0, 1}, {2, 1}, {3, 1}});
  CHECK(shares(Placement::consolidated, 2, 4).empty());  // 9 are free, whole is one node
  CHECK(shares(Placement::consolidated, 4, 1).empty());
  CHECK(made().nodes_with(3) == 2);
  // Racks {0, 1} and {2, 3}: one job of two nodes stays in the one that has two with enough.
  Nodes racks(4, 4, {0, 0, 1, 1});
  racks.take(std::vector<NodeShare>{{0, 2}, {1, 4}, {2, 1}});
  std::vector<NodeShare> out;
  racks.take(Placement::network_aware, {.workers = 4, .nodes = 2}, out);
  CHECK((out[0].node == 2 && out[1].node == 3));
}

TEST_CASE("a queue sees what a job holds, has had and still needs") {
  // 2 GPUs, 30 s to start, 10 s to checkpoint. 4 epochs at 50 samples: 2 steps of 1 s and an evaluation of 0.25 s, 2.25 s each.
  World world{.cluster = cluster({{1, 2}}), .costs = {.start_s = 30, .checkpoint_s = 10}};
  world.menus.menu.ranked = {choice(0, 2, 25)};
  world.menus.menu.ranked[0].predicted.time_s = 40;
  Job job{.name = "t", .profile = &tenths_profile, .work = Work::train, .epochs = 4, .walltime_s = 100};
  ScriptedQueue queue;
  queue.script = [](int call, const QueueView& view, QueueAnswer& answer) {
    const QueueJob& seen = view.jobs[0];
    const Service& s = seen.service;
    switch (call) {
      case 0:  // arrives
        CHECK(list(view.queued) == std::vector<JobSlot>{0});
        CHECK(s.state == JobState::queued);
        CHECK(seen.predicted_remaining_s(0, 0) == 40);
        CHECK(seen.user_remaining_s(0, 0) == 100);
        answer.starts.push_back({.job = 0});
        answer.wake_at_s = 10;
        break;
      case 1:  // 10 s into its start-up: 2 x 10 device-seconds
        CHECK(list(view.started) == std::vector<JobSlot>{0});
        CHECK(s.state == JobState::starting);
        CHECK((s.entry == 0 && s.devices == 2 && s.held_since_s == 0));
        CHECK(s.device_s_at(10) == 20);
        CHECK(seen.predicted_remaining_s(0, 10) == 30);
        CHECK(seen.user_remaining_s(0, 10) == 90);
        break;
      case 2:  // 30 s: begins to run
        CHECK(list(view.changed) == std::vector<JobSlot>{0});
        CHECK(list(view.started).empty());
        CHECK((s.state == JobState::running && s.since_s == 30 && s.ran_s == 0));
        CHECK(view.nodes[0].free_on(0) == 0);
        answer.wake_at_s = 33;
        break;
      case 3:  // 33 s: 3 s of work, 1 epoch of 2.25 s and a part of the next
        answer.preempts.push_back(0);
        break;
      case 4:  // the checkpoint has ended
        CHECK(view.now_s == 43);
        CHECK(list(view.queued) == std::vector<JobSlot>{0});
        CHECK((s.state == JobState::queued && s.entry == -1 && s.devices == 0 && s.ran_s == 3));
        CHECK(s.device_s_at(50) == 86);  // 2 x 43, and none while it waits
        CHECK(s.fraction_done > 0.25);   // of 4 epochs
        CHECK(s.fraction_done < 0.5);
        CHECK(seen.predicted_remaining_s(0, 43) == Approx((1 - s.fraction_done) * 40));
        CHECK(seen.user_remaining_s(0, 43) == 57);  // of 100 s in all, 43 were held
        answer.starts.push_back({.job = 0});
        break;
      default:
        break;
    }
  };
  world.run({job}, queue);
  CHECK(queue.calls > 5);
}

TEST_CASE("what is left of a job that starts again: first what it has lost, then its work") {
  // A quarter done before; it holds devices from 43 on, of which 30 s are for what was lost. Its work takes 40 s with its entry.
  QueueJob job{.job = {.name = "j"}, .menu = {{.ranked = {choice(0, 1, 1)}}}};
  job.menu.ranked[0].predicted.time_s = 40;
  job.service = {.state = JobState::running, .entry = 0, .held_since_s = 43, .restart_s = 30, .fraction_done = 0.25};
  const auto left = [&](double now_s) {
    const WorkLeft at = job.left_at(now_s);
    return std::pair(at.restart_s, at.part);
  };
  CHECK(left(53) == std::pair(20.0, 0.75));
  CHECK(left(73) == std::pair(0.0, 0.75));
  CHECK(left(83) == std::pair(0.0, 0.5));
  job.service.state = JobState::checkpointing;
  job.service.since_s = 83;
  CHECK(left(90) == std::pair(0.0, 0.5));
}

TEST_CASE("a checkpoint says when it lets go; what was rejected is told at the same date") {
  World world{.cluster = cluster({{1, 1}}), .costs = {.start_s = 0, .checkpoint_s = 10}};
  world.menus.menu.ranked = {choice(0, 1, 50)};
  Job job{.name = "t", .profile = &tenths_profile, .work = Work::train, .epochs = 4};
  ScriptedQueue queue;
  int told = 0;
  queue.script = [&](int call, const QueueView& view, QueueAnswer& answer) {
    if (call == 0) {
      answer.starts.push_back({.job = view.queued[0]});
      answer.rejects.push_back(view.queued[1]);
    } else if (call == 1) {
      CHECK(view.now_s == 0);
      CHECK(list(view.ended) == std::vector<JobSlot>{1});
      CHECK(view.jobs[1].service.state == JobState::failed);
      answer.wake_at_s = 1;
      ++told;
    } else if (view.now_s == 1) {
      answer.preempts.push_back(0);
      answer.wake_at_s = 5;
    } else if (view.now_s == 5) {
      CHECK(view.jobs[0].service.state == JobState::checkpointing);
      CHECK(view.jobs[0].service.lets_go_at_s == 11);
      CHECK(list(view.changed) == std::vector<JobSlot>{0});
      ++told;
    } else if (!view.queued.empty()) {
      answer.starts.push_back({.job = view.queued[0]});
    }
  };
  world.run({job, rigid("unwanted", 0, 1, 5)}, queue);
  CHECK(told == 2);
  CHECK(world.keeper.of("unwanted").reason == FailureReason::rejected);
  CHECK(world.keeper.of("t").state == JobState::finished);
}

TEST_CASE("only an oracle is told what remains in truth") {
  // Predicted 1000 s; in truth 4 epochs of 2.25 s. After 2 s of the rigid job's 10 s, 8 s remain.
  World world{.cluster = cluster({{1, 2}})};
  world.menus.menu.ranked = {choice(0, 1, 50)};
  world.menus.menu.ranked[0].predicted.time_s = 1000;
  Job job{.name = "t", .profile = &tenths_profile, .submit_s = 2, .work = Work::train, .epochs = 4};
  Knowing queue;
  int told = 0;
  queue.script = [&](const Truth& truth, const QueueView& view, QueueAnswer& answer) {
    for (const JobSlot slot : view.queued) answer.starts.push_back({.job = slot});
    if (view.now_s == 2 && !view.queued.empty()) {
      CHECK(truth.remaining_s(0, 0, 2) == 8);
      CHECK(truth.remaining_s(1, 0, 2) == Approx(9));
      CHECK(view.jobs[1].predicted_remaining_s(0, 2) == 1000);
      ++told;
    }
  };
  world.run({rigid("r", 0, 1, 10), job}, queue);
  CHECK(told == 1);
}

TEST_CASE("an oracle is told of all that remains, also where the job is asked again before") {
  // Asked after 2 of its 4 epochs of 2.25 s.
  World world{.cluster = cluster({{1, 2}})};
  world.menus.menu.ranked = {choice(0, 1, 50)};
  world.menus.menu.ranked[0].until_epochs = 2;
  Knowing queue;
  queue.script = [](const Truth& truth, const QueueView& view, QueueAnswer& answer) {
    for (const JobSlot slot : view.queued) {
      CHECK(truth.remaining_s(slot, 0, 0) == Approx(9));
      answer.starts.push_back({.job = slot});
      answer.wake_at_s = 2.25;
    }
    if (view.now_s == 2.25) CHECK(truth.remaining_s(0, 0, 2.25) == Approx(6.75));
  };
  world.run({{.name = "t", .profile = &tenths_profile, .work = Work::train, .epochs = 4}}, queue);
  CHECK(world.keeper.of("t").end_s == Approx(9));
}

TEST_CASE("placements by hand") {
  // Nodes with 4, 1, 3, 4 GPUs free.
  const auto pool = [] {
    Nodes nodes(4, 4);
    const std::vector<NodeShare> held{{1, 3}, {2, 1}};
    nodes.take(held);
    return nodes;
  };
  using Shares = std::vector<std::pair<int, int>>;
  Nodes nodes = pool();
  CHECK(taken(nodes, Placement::consolidated, 5) == Shares{{0, 4}, {1, 1}});  // fewest nodes, the rest in the smallest gap
  nodes = pool();
  CHECK(taken(nodes, Placement::best_fit, 2) == Shares{{2, 2}});  // the smallest gap that holds both
  nodes = pool();
  CHECK(taken(nodes, Placement::best_fit, 5) == Shares{{0, 4}, {1, 1}});  // no gap holds 5: the smallest, then what holds 4
  nodes = pool();
  CHECK(taken(nodes, Placement::best_fit, 7) == Shares{{0, 3}, {1, 1}, {2, 3}});
  nodes = pool();
  CHECK(taken(nodes, Placement::spread, 2) == Shares{{0, 1}, {3, 1}});
  nodes = pool();
  CHECK(taken(nodes, Placement::spread, 5) == Shares{{0, 2}, {2, 1}, {3, 2}});  // 4,3,4 -> 3,3,3 -> lowest index first
  CHECK(nodes.has_node_with(2));
  CHECK(!nodes.has_node_with(3));
}

TEST_CASE("free devices that a job cannot use, by hand") {
  // Nodes with 1, 2 and 4 of 4 free.
  Nodes nodes(3, 4);
  const std::vector<NodeShare> held{{0, 3}, {1, 2}};
  nodes.take(held);
  CHECK(nodes.unusable_for(1) == 0);
  CHECK(nodes.unusable_for(2) == 1);
  CHECK(nodes.unusable_for(3) == 1 + 2);
  CHECK(nodes.unusable_for(4) == 1 + 2);
  CHECK(nodes.unusable_for(9) == 1 + 2);  // whole nodes, and what is left over may go beside others
}

TEST_CASE("network-aware placement by hand") {
  // Racks of 2, 3 and 1 nodes of 4 GPUs; free: 1 4 | 4 3 2 | 4.
  Nodes nodes(6, 4, {7, 7, 2, 2, 2, 9});
  nodes.take(std::vector<NodeShare>{{0, 3}, {3, 1}, {4, 2}});
  const auto taken_of = [&](int devices) {
    Nodes copy = nodes;
    return taken(copy, Placement::network_aware, devices);
  };
  using Shares = std::vector<std::pair<int, int>>;
  CHECK(taken_of(4) == Shares{{1, 4}});                           // one node, though a rack has a gap
  CHECK(taken_of(5) == Shares{{0, 1}, {1, 4}});                   // the rack with 5 free, not the one with 9
  CHECK(taken_of(6) == Shares{{2, 4}, {4, 2}});                   // only one rack holds 6; the rest in its smallest gap
  CHECK(taken_of(11) == Shares{{2, 4}, {3, 3}, {4, 2}, {5, 2}});  // the emptiest rack, the rest where fewest are free
  nodes.withdraw(1);
  CHECK(taken_of(5) == Shares{{2, 4}, {4, 1}});
  nodes.restore(1);
  CHECK(taken_of(5) == Shares{{0, 1}, {1, 4}});
}

TEST_CASE("two racks are racks") {
  // Free: 4 3 | 2 4. Six devices are all of the second rack; without racks they would be the first node and the smallest gap.
  Nodes nodes(4, 4, {5, 5, 8, 8});
  nodes.take(std::vector<NodeShare>{{1, 1}, {2, 2}});
  CHECK(taken(nodes, Placement::network_aware, 6) == std::vector<std::pair<int, int>>{{2, 2}, {3, 4}});
}

TEST_CASE("network-aware placement uses the fewest racks") {
  rc::prop("brute force", [](std::uint64_t seed) {
    Random random(seed);
    std::vector<int> racks;
    for (int node = 0; node < 8; ++node) racks.push_back(static_cast<int>(random.below(4)));
    Nodes nodes(8, 3, racks);
    for (int node = 0; node < 8; ++node)
      if (const int held = static_cast<int>(random.below(4)); held > 0) nodes.take(std::vector<NodeShare>{{node, held}});
    if (nodes.free_devices() == 0) return;
    const int wanted = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(nodes.free_devices())));
    int fewest = 4;
    for (unsigned chosen = 1; chosen < 16; ++chosen) {
      int free = 0;
      for (int node = 0; node < 8; ++node)
        if ((chosen >> racks[static_cast<std::size_t>(node)] & 1U) != 0) free += nodes.free_on(node);
      if (free >= wanted) fewest = std::min(fewest, std::popcount(chosen));
    }
    std::set<int> used;
    for (const auto& [node, devices] : taken(nodes, Placement::network_aware, wanted))
      used.insert(racks[static_cast<std::size_t>(node)]);
    RC_ASSERT(static_cast<int>(used.size()) == fewest);
  });
}

TEST_CASE("every placement takes what was asked for, each node once") {
  rc::prop("", [](std::uint64_t seed) {
    Random random(seed);
    Nodes nodes(7, 5, {0, 0, 0, 1, 1, 2, 2});
    std::vector<std::vector<NodeShare>> held;
    for (int i = 0; i < 60; ++i) {
      if (!held.empty() && random.below(2) == 0) {
        const auto which = random.below(held.size());
        nodes.give_back(held[which]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
        continue;
      }
      if (nodes.free_devices() == 0) continue;
      const int devices = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(nodes.free_devices())));
      const int before = nodes.free_devices();
      held.emplace_back();
      nodes.take(static_cast<Placement>(random.below(4)), devices, held.back());
      RC_ASSERT(nodes.free_devices() == before - devices);
      std::vector<int> seen;
      int sum = 0;
      for (const NodeShare& share : held.back()) seen.push_back(share.node), sum += share.devices;
      std::sort(seen.begin(), seen.end());
      RC_ASSERT(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
      RC_ASSERT(sum == devices);
    }
  });
}

namespace {

/// A menu of its own for each job, made anew: equal for jobs of equal deadlines.
class MenuByDeadline final : public Configurator {
 public:
  Menu configure(const Job& job, double) override {
    std::vector<Choice> choices{choice(0, 1, 50), choice(0, 2, 50)};
    for (Choice& one : choices) one.predicted.feasible = job.deadline_s > 100;
    return {.ranked = std::move(choices)};
  }
};

/// Counts the menus that are kept for jobs which are there.
class MenuCounter final : public Queue {
 public:
  std::size_t most_jobs = 0, most_menus = 0;
  void decide(const QueueView& view, QueueAnswer& answer) override {
    for (const JobSlot slot : view.queued) there_.insert(slot);
    for (const JobSlot slot : view.ended) there_.erase(slot);
    std::set<const Choice*> menus;
    for (const JobSlot slot : there_) menus.insert(view.jobs[slot].menu.ranked.data());
    most_jobs = std::max(most_jobs, there_.size());
    most_menus = std::max(most_menus, menus.size());
    inner_.decide(view, answer);
  }

 private:
  std::set<JobSlot> there_;
  Greedy inner_;
};

}  // namespace

TEST_CASE("jobs whose menus are alike have one menu together") {
  // 40 jobs wait for one device, half of them with a deadline that their choices do not keep: two menus.
  World world{.cluster = cluster({{1, 2}})};
  std::vector<Job> jobs;
  for (int j = 0; j < 40; ++j)
    jobs.push_back({.name = std::to_string(j),
                    .profile = &tenths_profile,
                    .work = Work::train,
                    .epochs = 1,
                    .deadline_s = j % 2 == 0 ? 50.0 : 500.0});
  MenuByDeadline menus;
  MenuCounter queue;
  CHECK(world.run(jobs, queue, &menus).finished == 40);
  CHECK(queue.most_jobs == 40);
  CHECK(queue.most_menus == 2);
}

TEST_CASE("choices are shared until one is changed, and only where they say the same") {
  const auto made = [](double time_s) {
    std::vector<Choice> choices{choice(0, 1, 50), choice(1, 2, 25)};
    choices[1].predicted.time_s = time_s;
    return Choices(std::move(choices));
  };
  SharedChoices shared;
  Choices first = made(10), second = made(10), third = made(11), fourth = made(kUnset), fifth = made(kUnset);
  for (Choices* choices : {&first, &second, &third, &fourth, &fifth}) shared.share(*choices);
  const auto at = [](const Choices& choices) { return choices.data(); };
  CHECK(at(first) == at(second));
  CHECK(at(third) != at(first));
  CHECK(at(fourth) == at(fifth));  // what is not predicted is alike, too
  second[0].configuration.groups[0].batch_per_worker = 10;
  CHECK(at(first) != at(second));
  CHECK(std::as_const(first)[0].configuration.groups[0].batch_per_worker == 50);
}
