// Jobs that need a part of a GPU, worked by hand: where they go, how they slow each other, what they pay.
#include <catch2/catch.hpp>
#include <map>

#include "policies/queue/least_attained_service.hpp"
#include "policies/queue/line_orders.hpp"
#include "tests/sim/replay/toy_queues.hpp"

using namespace toy;
using rehearse::policies::Fifo;
using rehearse::policies::LeastAttainedService;
using rehearse::policies::Priority;

namespace {

const Profile kX{.model = "x"}, kY{.model = "y"};

Job part(std::string name, const Profile* profile, double submit_s, double fraction, double duration_s) {
  Job job = rigid(std::move(name), submit_s, 1, duration_s);
  job.profile = profile;
  job.gpu_fraction = fraction;
  return job;
}

/// Where each job was, by name.
class Devices final : public Recorder {
 public:
  std::map<std::string, NodeShare> of;
  std::map<std::string, JobRecord> records;
  void on_job(const JobRecord& record) override { records[record.job->name] = record; }
  void on_devices(double, bool taken, const Job& job, const Configuration&, const Layout& layout) override {
    if (taken) of[job.name] = layout[0].front();
  }
};

}  // namespace

TEST_CASE("two jobs on one device: interference, money and energy until one has left") {
  // x beside y takes 2 times as long, y beside x 1.25 times: rates 0.5 and 0.8. y ends at 10/0.8 = 12.5 s, when x has done 6.25
  // of its 10 s; the other 3.75 s take as long: 16.25 s.
  World world{.cluster = cluster({{1, 1}})};
  world.sharing.set("x", "y", 2);
  world.sharing.set("y", "x", 1.25);
  Fifo queue;
  const ReplayTotals totals = world.run({part("x", &kX, 0, 0.5, 10), part("y", &kY, 0, 0.5, 10)}, queue);
  const JobRecord &x = world.keeper.of("x"), &y = world.keeper.of("y");
  CHECK(x.start_s == 0);
  CHECK(y.start_s == 0);
  CHECK(y.end_s == 12.5);
  CHECK(x.end_s == 16.25);
  // Half of 0.001 dollars a second.
  CHECK(x.cost.total() == Approx(0.5 * 0.001 * 16.25));
  CHECK(y.cost.total() == Approx(0.5 * 0.001 * 12.5));
  CHECK(totals.pools[0].idle_usd == Approx(0.5 * 0.001 * 3.75));
  CHECK(x.device_s == Approx(0.5 * 16.25));
  // Together they want 0.5 + 0.8 = 1.3 of the 200 W between idle and busy: each gets 1/1.3 of what it wants, and pays half of the
  // 100 W of an idle device. Alone x draws all 200 W. All of it: 300 W for 16.25 s.
  CHECK(x.energy_j == Approx((50 + 200 * 0.5 / 1.3) * 12.5 + 250 * 3.75));
  CHECK(y.energy_j == Approx((50 + 200 * 0.8 / 1.3) * 12.5));
  CHECK(totals.pools[0].idle_energy_j == Approx(50 * 3.75));
  CHECK(totals.pools[0].pool_energy_j == Approx(300 * 16.25));
  CHECK(totals.pools[0].busy_device_s == Approx(16.25));
}

TEST_CASE("a neighbour slows a job from its arrival to its end, and jobs of unknown models not at all") {
  // x does 4 s alone, 1 s of work in the 2 s of y, then the other 5 s: 11 s. The rigid ones of no model keep to their lengths.
  World world{.cluster = cluster({{2, 1}})};
  world.sharing.set("x", "y", 2);
  Fifo queue({.line = {.placement = Placement::consolidated}});
  world.run(
      {part("x", &kX, 0, 0.7, 10), part("u", nullptr, 0, 0.9, 10), part("y", &kY, 4, 0.3, 2), part("v", nullptr, 5, 0.1, 5)},
      queue);
  CHECK(world.keeper.of("x").end_s == 11);
  CHECK(world.keeper.of("y").end_s == 6);
  CHECK(world.keeper.of("u").end_s == 10);
  CHECK(world.keeper.of("v").end_s == 10);
}

TEST_CASE("three jobs on one device: factors multiply, and who finds no room waits") {
  // x alone beside one y: rate 1/2, beside two: 1/4; y is not slowed. 0 to 2: 1 s of x's work, 2 to 4: 0.5 s. Then b and c end
  // and d (half a device, submitted at 3) gets their room: 4 to 6 another 1 s. The last 5.5 s alone: 11.5 s.
  World world{.cluster = cluster({{1, 1}})};
  world.sharing.set("x", "y", 2);
  Fifo queue;
  const ReplayTotals totals = world.run(
      {part("x", &kX, 0, 0.5, 8), part("b", &kY, 0, 0.25, 4), part("c", &kY, 2, 0.25, 2), part("d", &kY, 3, 0.5, 2)}, queue);
  CHECK(world.keeper.of("b").end_s == 4);
  CHECK(world.keeper.of("c").end_s == 4);
  CHECK(world.keeper.of("d").start_s == 4);
  CHECK(world.keeper.of("d").end_s == 6);
  CHECK(world.keeper.of("x").end_s == 11.5);
  // x 0.5 x 11.5, b 0.25 x 4, c 0.25 x 2, d 0.5 x 2 device-seconds of 11.5.
  CHECK(totals.pools[0].jobs_device_s == Approx(8.25));
  CHECK(totals.pools[0].idle_device_s == Approx(3.25));
  // Between 2 and 4 x wants 0.25 and each y 1 of the device: 1/2.25 of that each.
  CHECK(world.keeper.of("c").energy_j == Approx(2 * (25 + 200 / 2.25)));
}

TEST_CASE("default_slowdown holds for modelled jobs whose pair is not in the table") {
  // 10 steps of 1 s each, at half speed beside each other: 20 s.
  World world{.cluster = cluster({{1, 1}})};
  world.cluster.devices[0].memory_bytes = 1000;
  world.menus.menu.ranked = {choice(0, 1, 100)};
  world.sharing.default_slowdown = 2;
  Job a = stepping("a", 0, 10), b = stepping("b", 0, 10);
  a.gpu_fraction = b.gpu_fraction = 0.5;
  Fifo queue;
  world.run({a, b}, queue);
  CHECK(world.keeper.of("a").end_s == 20);
  CHECK(world.keeper.of("b").end_s == 20);
}

TEST_CASE("jobs on parts of one device get slower together when the file system does not keep up") {
  // A step of 1 s reads 6 bytes of a file system that gives 8 a second. a alone: 6 of 8. With b, which is no burden beside it,
  // both get 4: a step takes 1.5 s. b's 20 steps from 10 to 40; a has done 10 + 20 of its 50 by then and ends at 60.
  World world{.cluster = cluster({{1, 1}})};
  world.cluster.devices[0].memory_bytes = 1000;
  world.cluster.instances[0].network.bandwidth_bytes_per_s = 10;
  world.cluster.storage_bandwidth_bytes_per_s = 8;
  world.steps.input_bytes = 6;
  world.menus.menu.ranked = {choice(0, 1, 25)};
  world.sharing.default_slowdown = 1;
  Job a = stepping("a", 0, 50), b = stepping("b", 10, 20);
  a.gpu_fraction = b.gpu_fraction = 0.5;
  Fifo queue;
  world.run({a, b}, queue);
  CHECK(world.keeper.of("b").start_s == 10);
  CHECK(world.keeper.of("b").end_s == 40);
  CHECK(world.keeper.of("a").end_s == 60);
}

TEST_CASE("fractions leave room, memory does not: the job waits, and one that fits goes beside") {
  // 1000 bytes, 940 of them usable. a and b need 600 each, c 300: b waits for a (10 s); c, first in a line of its own kind, goes
  // beside a at once under a discipline in which it is more urgent than b.
  World world{.cluster = cluster({{1, 1}})};
  world.cluster.devices[0].memory_bytes = 1000;
  world.steps.bytes_per_sample = 6;
  world.sharing.default_slowdown = 1;
  world.menus.menu.ranked = {choice(0, 1, 100)};
  Job a = stepping("a", 0, 10), b = stepping("b", 0, 10), c = part("c", nullptr, 0, 0.3, 5);  // 0.3 x 940 = 282 bytes
  a.gpu_fraction = b.gpu_fraction = 0.25;
  b.priority = -1;
  Priority queue({.preempt = false});
  world.run({a, b, c}, queue);
  CHECK(world.keeper.of("c").start_s == 0);
  CHECK(world.keeper.of("b").start_s == 10);
}

TEST_CASE("a job that needs more memory than a device has is out of memory, and the device is free again") {
  World world{.cluster = cluster({{1, 1}})};
  world.cluster.devices[0].memory_bytes = 1000;
  world.steps.bytes_per_sample = 1;
  world.menus.menu.ranked = {choice(0, 1, 2000)};
  Job a = stepping("a", 0, 10);
  a.gpu_fraction = 0.25;
  Fifo queue;
  world.run({a, rigid("b", 0, 1, 3)}, queue);
  CHECK(world.keeper.of("a").reason == FailureReason::out_of_memory);
  CHECK(world.keeper.of("b").end_s == 3);
}

TEST_CASE("whole jobs need wholly free devices; parts go to the fullest device with room, or are spread") {
  const std::vector<Job> jobs{part("a", nullptr, 0, 0.3, 10), part("b", nullptr, 0, 0.8, 10), part("c", nullptr, 0, 0.2, 10),
                              rigid("whole", 0, 1, 10), part("d", nullptr, 1, 0.7, 10)};
  // Best fit: a opens device 0, b device 1, c closes the gap of 0.2 there. One device of three is left for the whole job; d goes
  // beside a.
  World world{.cluster = cluster({{3, 1}})};
  Devices best, even;
  world.recorder = &best;
  Fifo packed;
  world.run(jobs, packed);
  CHECK(best.of["c"].node == best.of["b"].node);
  CHECK(best.of["d"].shared_device == best.of["a"].shared_device);
  CHECK(best.of["whole"].shared_device == -1);
  CHECK(best.records["whole"].start_s == 0);
  // Spread: a, b and c have a device each. The whole job waits to 10, and d behind it.
  world.recorder = &even;
  Fifo spread({.line = {.placement = Placement::spread}});
  world.run(jobs, spread);
  CHECK(even.of["c"].node != even.of["a"].node);
  CHECK(even.of["c"].node != even.of["b"].node);
  CHECK(even.records["whole"].start_s == 10);
}

TEST_CASE("a more urgent job preempts only those on parts of devices that are in its way") {
  // Two devices: p and q share the first, h (urgent) and r the second. The whole job needs the first: r stays, although it comes
  // last. Then, with both devices taken, the urgent half t needs one half: q's, not p's.
  World world{.cluster = cluster({{2, 1}})};
  Job p = part("p", nullptr, 0, 0.5, 100), q = part("q", nullptr, 0, 0.5, 100), h = part("h", nullptr, 0, 0.5, 100),
      r = part("r", nullptr, 0, 0.5, 100), whole = rigid("whole", 5, 1, 10);
  h.priority = whole.priority = 1;
  h.submit_s = r.submit_s = 1;
  Priority queue;
  SECTION("the whole job") {
    world.run({p, q, h, r, whole}, queue);
    CHECK(world.keeper.of("p").preemptions == 1);
    CHECK(world.keeper.of("q").preemptions == 1);
    CHECK(world.keeper.of("r").preemptions == 0);
    CHECK(world.keeper.of("whole").start_s == 5);
    CHECK(world.keeper.of("whole").end_s == 15);
  }
  SECTION("half a device") {
    Job t = part("t", nullptr, 5, 0.5, 10);
    t.priority = r.priority = 0.75;
    world.run({p, q, h, r, t}, queue);
    CHECK(world.keeper.of("p").preemptions == 0);
    CHECK(world.keeper.of("q").preemptions == 1);
    CHECK(world.keeper.of("t").start_s == 5);
  }
}

TEST_CASE("a job of several parts holds them wherever there is room, and pays for parts") {
  // Two devices. a holds three halves and b one: four halves fill both, from 0 to 10. c, eight quarters, needs both alone and
  // waits to 10. GPU-seconds: 1.5 x 10 + 0.5 x 10 + 2 x 10 = 40, at 0.001 dollars a second.
  World world{.cluster = cluster({{2, 1}})};
  const auto parts = [](std::string name, double submit_s, int count, double fraction) {
    Job job = part(std::move(name), nullptr, submit_s, fraction, 10);
    job.gpus = count;
    return job;
  };
  Fifo queue;
  const ReplayTotals totals = world.run({parts("a", 0, 3, 0.5), parts("b", 0, 1, 0.5), parts("c", 0, 8, 0.25)}, queue);
  CHECK(world.keeper.of("a").end_s == 10);
  CHECK(world.keeper.of("b").end_s == 10);
  CHECK(world.keeper.of("c").start_s == 10);
  CHECK(world.keeper.of("a").device_s == Approx(15));
  CHECK(world.keeper.of("b").device_s == Approx(5));
  CHECK(world.keeper.of("c").device_s == Approx(20));
  CHECK(world.keeper.of("a").cost.total() == Approx(0.015));
  CHECK(world.keeper.of("c").cost.total() == Approx(0.02));
  CHECK(world.keeper.of("a").workers == 3);
  CHECK(totals.pools[0].jobs_device_s == Approx(40));
  CHECK(totals.pools[0].idle_device_s == Approx(0));
  // Between idle (100 W) and busy (300 W): both devices draw all of it to the end.
  CHECK(totals.pools[0].pool_energy_j == Approx(2 * 300 * 20));
}

TEST_CASE("the parts of a job go at the speed of the slowest") {
  // x has 0.6 of each of two devices, beside y on one and z on the other: beside z it takes 4 times as long, beside y twice.
  World world{.cluster = cluster({{2, 1}})};
  const Profile z{.model = "z"};
  world.sharing.set("x", "y", 2);
  world.sharing.set("x", "z", 4);
  Job x = part("x", &kX, 0.5, 0.6, 10);
  x.gpus = 2;
  Fifo queue;
  const ReplayTotals totals =
      world.run({part("y", &kY, 0, 0.4, 8), part("f", nullptr, 0, 0.6, 0.5), part("z", &z, 0.25, 0.4, 7.75), x}, queue);
  // y opens the first device, f fills it; z opens the second. f ends at 0.5, and x takes 0.6 of each.
  CHECK(world.keeper.of("x").start_s == 0.5);
  // 7.5 s at 1/4 are 1.875 s of its 10; the other 8.125 s alone.
  CHECK(world.keeper.of("x").end_s == 16.125);
  CHECK(world.keeper.of("x").device_s == Approx(1.2 * 15.625));
  CHECK(totals.pools[0].jobs_device_s == Approx(1.2 * 15.625 + 0.4 * 8 + 0.6 * 0.5 + 0.4 * 7.75));
}

TEST_CASE("a job whose parts need more devices than there are is not started, one that fits them exactly is") {
  // Parts of 0.6 do not go together: three of them need three devices. Six of 0.3 need two.
  World world{.cluster = cluster({{2, 1}})};
  Job three = part("three", nullptr, 0, 0.6, 10), six = part("six", nullptr, 0, 0.3, 10);
  three.gpus = 3, six.gpus = 6;
  Fifo queue;
  world.run({three, six}, queue);
  CHECK(world.keeper.of("three").reason == FailureReason::does_not_fit);
  CHECK(world.keeper.of("six").end_s == 10);
}

TEST_CASE("attained service counts the part of the device") {
  // Level 1 begins at 5 device-seconds: of a half device after 10 s, when the newcomer takes its place.
  World world{.cluster = cluster({{1, 1}})};
  LeastAttainedService queue({.threshold_device_s = 5});
  world.run({part("a", nullptr, 0, 0.5, 30), rigid("b", 1, 1, 5)}, queue);
  CHECK(world.keeper.of("b").start_s == 10);
  CHECK(world.keeper.of("a").end_s == 35);
}

TEST_CASE("a shared device has room for what its tenants leave of it and of its memory, while its node is there") {
  DeviceShares shares(10);
  const int device = shares.open(3);
  shares.put(device, {.fraction = 0.5, .memory_bytes = 4});
  CHECK(shares.has_room(device, {.fraction = 0.5, .memory_bytes = 6}));
  CHECK(!shares.has_room(device, {.fraction = 0.75, .memory_bytes = 6}));
  CHECK(!shares.has_room(device, {.fraction = 0.5, .memory_bytes = 7}));
  CHECK(!shares.has_room(device + 1, {.fraction = 0.1}));  // not open
  shares.set_out(3, true);
  CHECK(!shares.has_room(device, {.fraction = 0.5, .memory_bytes = 6}));
}

TEST_CASE("parts go on the fullest devices with room before a free one is opened, or each on a free one") {
  // One device has 0.75 taken, one 0.25: of quarters, one and three have room.
  const auto shares = [] {
    DeviceShares open(10);
    open.put(open.open(0), {.fraction = 0.75});
    open.put(open.open(1), {.fraction = 0.25});
    return open;
  };
  const auto quarters = [](int parts) { return DeviceShare{.fraction = 0.25, .parts = parts}; };
  CHECK(shares().to_open(quarters(4), Placement::best_fit, true, 0) == 0);
  CHECK(shares().to_open(quarters(5), Placement::best_fit, true, 0) == DeviceShares::kNone);
  CHECK(shares().to_open(quarters(9), Placement::best_fit, true, 5) == 2);
  CHECK(shares().to_open(quarters(5), Placement::best_fit, false, 2) == 2);
  CHECK(shares().to_open(quarters(3), Placement::spread, true, 2) == 2);
  CHECK(shares().to_open({.fraction = 0.25, .memory_bytes = 4, .parts = 5}, Placement::best_fit, true, 5) ==
        1);  // two each by memory
  CHECK(shares().put_all(quarters(3), Placement::best_fit, true, {}) == std::vector{0, 1, 1});
  CHECK(shares().put_all(quarters(3), Placement::spread, true, {4, 5}) == std::vector{2, 3, 1});
  CHECK(shares().put_all(quarters(5), Placement::best_fit, false, {4, 5}) == std::vector{2, 2, 2, 2, 3});
  CHECK(DeviceShare{.fraction = on_share_grid(1.0 / 3), .parts = 7}.devices() == 3);
}

TEST_CASE("a model's speed beside another is the mean over those with which it was set") {
  SharingRules rules;
  rules.set("x", "y", 2);
  rules.set("x", "z", 4.0 / 3);
  rules.set("x", "w", 1, 4);  // on devices of pool 1, for types
  const Profile of_data{.model = "x", .dataset = "d"}, other{.model = "y", .dataset = "d"};
  CHECK(rules.mean_speed({.profile = &of_data, .work = Work::train}, 1) == Approx((1.0 / 2 + 3.0 / 4) / 2));
  CHECK(rules.mean_speed({.profile = &kX, .work = Work::train}, 0) == Approx((1.0 / 2 + 3.0 / 4) / 2));
  CHECK(rules.mean_speed({.profile = &kX, .work = Work::train}, 1) == Approx((1.0 / 2 + 3.0 / 4 + 1.0 / 4) / 3));
  CHECK(rules.mean_speed({.profile = &other, .work = Work::train}, 0) == Approx(1 / kMeasuredSlowdown));
  CHECK(rules.mean_speed({.work = Work::rigid}, 0) == 1);
}

TEST_CASE("epochs that diverge beside another job are lost as long as they took") {
  // Three epochs of two steps, each step twice as long: 12 s on half of a GPU.
  World world{.cluster = cluster({{1, 1}})};
  world.sharing.set("x", "y", 2);
  world.menus.menu.ranked = {choice(0, 1, 50)};
  world.menus.menu.ranked[0].configuration.learning_rate = 9;
  world.menus.menu.ranked[0].configuration.share = {.fraction = 0.5};
  Job x{.name = "x", .profile = &kX, .work = Work::train, .epochs = 5};
  x.gpu_fraction = 0.5;
  Fifo queue;
  world.run({x, part("y", &kY, 0, 0.5, 100)}, queue);
  const JobRecord& record = world.keeper.of("x");
  CHECK(record.reason == FailureReason::cannot_converge);
  CHECK(record.end_s == Approx(12));
  CHECK(record.cost.lost_usd == Approx(0.5 * 0.001 * 12));
}
