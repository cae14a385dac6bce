#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/replay/records.hpp"

using namespace rehearse::sim;

namespace {

/// Two devices at 1 USD/h each, from 10 s to 110 s and from 200 s to 300 s: 400 device-seconds, 400/3600 USD; 20 s of each stage
/// are start-up, 5 s of the first one's training are lost.
struct Case {
  Job job{.name = "a", .submit_s = 0};
  JobRecord record{.job = &job,
                   .start_s = 10,
                   .end_s = 300,
                   .cost = {.compute_usd = 310.0 / 3600, .switch_usd = 80.0 / 3600, .lost_usd = 10.0 / 3600},
                   .time = {.train_s = 155, .switch_s = 40, .lost_s = 5},
                   .energy_j = 1e5,
                   .device_s = 400};
  JobMeter meter{
      .device_s = 400, .energy_j = 1e5, .co2_kg = 0, .usd = 400.0 / 3600, .marginal_usd = 400.0 / 3600, .usd_of_pool = {}};
  std::vector<double> stage_dates{10, 110, 200, 300};
  PoolTotals pool{};
  Billing billing = Billing::allocated;

  Case() {
    pool.jobs_device_s = 400;
    pool.jobs_usd = 400.0 / 3600;
    pool.jobs_energy_j = 1e5;
  }
  void enter() const {
    Books books(billing);
    StageSums sums;
    Books::add_stage(stage_dates[0], stage_dates[1], 2, 200.0 / 3600, sums);
    Books::add_stage(stage_dates[2], stage_dates[3], 2, 200.0 / 3600, sums);
    books.add_job(record, meter, sums);
    books.check_totals(std::vector{pool}, 0);
  }
};

void refused(const std::function<void(Case&)>& broken, const char* what) {
  INFO(what);
  Case changed;
  broken(changed);
  changed.record.job = &changed.job;
  CHECK_THROWS_AS(changed.enter(), CheckFailed);
}

}  // namespace

TEST_CASE("books of a job that balance are taken") {
  Case().enter();
  Case by_node;
  by_node.billing = Billing::node;
  by_node.meter.marginal_usd /= 2;  // beside others
  by_node.enter();
}

TEST_CASE("every rule of the books tells when it is broken") {
  refused([](Case& c) { c.record.start_s = -1; }, "starts before it comes");
  refused([](Case& c) { c.record.start_s = 301; }, "starts after its end");
  refused([](Case& c) { c.record.start_s = kUnset; }, "finished, never started");
  refused([](Case& c) { c.record.end_s = 250; }, "ends before its last stage");
  refused([](Case& c) { c.stage_dates[2] = 109; }, "stages overlap");
  refused([](Case& c) { c.stage_dates[1] = 9; }, "a stage runs backwards");
  refused([](Case& c) { c.record.time = {.train_s = 205, .switch_s = -10, .lost_s = 5}; }, "time below nothing");
  refused([](Case& c) { c.record.time.train_s = 300; }, "held for longer than it was there");
  refused([](Case& c) { c.record.cost.compute_usd -= 0.2, c.record.cost.lost_usd += 0.2; }, "money below nothing");
  refused([](Case& c) { c.record.energy_j = -1; }, "energy below nothing");
  refused([](Case& c) { c.record.device_s = 401; }, "device-seconds that no stage had");
  refused([](Case& c) { c.meter.usd = c.meter.marginal_usd = 401.0 / 3600; }, "money that no stage cost");
  refused([](Case& c) { c.meter.marginal_usd = 0.1; }, "a bill that is not the job's");
  refused([](Case& c) { c.billing = Billing::node, c.meter.marginal_usd = 0.2; }, "adds more than it pays");
  refused([](Case& c) { c.pool.jobs_device_s = 399; }, "device-seconds that no job had");
  refused([](Case& c) { c.pool.jobs_usd *= 1.001; }, "money that no job paid");
  refused([](Case& c) { c.pool.jobs_energy_j = 99990; }, "energy that no job took");
  refused([](Case& c) { c.pool.jobs_co2_kg = 1e-3; }, "carbon dioxide of no job");
}

TEST_CASE("jobs are booked in the order of their ends") {
  const Case one;
  Books books(Billing::allocated);
  StageSums sums{.device_s = 400, .usd = 400.0 / 3600, .end_s = 300};
  books.add_job(one.record, one.meter, sums);
  JobRecord earlier = one.record;
  earlier.end_s = 299;
  sums.end_s = 299;
  CHECK_THROWS_AS(books.add_job(earlier, one.meter, sums), CheckFailed);
}
