#include "sim/replay/records.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"

namespace rehearse::sim {

namespace {

constexpr double kSame = 1e-8;  // of sums over many stages
constexpr double kCrumb = 1e-9;

bool is_same(double a, double b, double crumb = kCrumb) {
  return std::abs(a - b) <= kSame * std::max(std::abs(a), std::abs(b)) + crumb;
}

/// A number, and no less than nothing; `whole` is that of which rounding may leave crumbs.
bool is_amount(double part, double whole) { return std::isfinite(part) && part >= -kSame * std::abs(whole) - kCrumb; }

}  // namespace

std::string_view name_of(JobEvent event) {
  switch (event) {
    case JobEvent::submitted:
      return "submitted";
    case JobEvent::rejected:
      return "rejected";
    case JobEvent::started:
      return "started";
    case JobEvent::preloading:
      return "preloading";
    case JobEvent::starting_up:
      return "starting_up";
    case JobEvent::restoring:
      return "restoring";
    case JobEvent::collecting:
      return "collecting";
    case JobEvent::running:
      return "running";
    case JobEvent::preempted:
      return "preempted";
    case JobEvent::resized:
      return "resized";
    case JobEvent::interrupted:
      return "interrupted";
    case JobEvent::released:
      return "released";
    case JobEvent::paused:
      return "paused";
    case JobEvent::resumed:
      return "resumed";
    case JobEvent::finished:
      return "finished";
    case JobEvent::failed:
      return "failed";
  }
  return "";
}

double StageRecord::date_of(double course_s) const {
  return running_since_s + course_s / speed + writing_before(checkpoints, course_s);
}

void Books::add_stage(double start_s, double end_s, double devices, double usd, StageSums& sums) {
  check(end_s >= start_s && !(start_s < sums.end_s), "a stage begins before the last one ended", end_s);
  sums.device_s += devices * (end_s - start_s);
  sums.usd += usd;
  sums.end_s = end_s;
}

void Books::add_job(const JobRecord& record, const JobMeter& meter, const StageSums& stages) {
  const double end_s = record.end_s;
  // Dates are on a grid: a submission that is not may be beside it.
  check(end_s >= last_end_s_, "a job ends before one that ended earlier", end_s);
  check(!(record.start_s < record.job->submit_s - kDateGrid) && !(end_s < record.start_s), "a job starts outside its time",
        end_s);
  check(record.state != JobState::finished || record.start_s == record.start_s, "a job finished and never started", end_s);
  check(!(stages.end_s > end_s), "a job's stage ends after the job", end_s);
  last_end_s_ = end_s;

  const double held_s = record.time.held_s();
  for (const double part : {record.time.train_s, record.time.switch_s, record.time.lost_s})
    check(is_amount(part, end_s), "a job's time for something is less than none", end_s);
  check(is_amount(end_s - record.job->submit_s - held_s, end_s), "a job held devices for longer than it was there", end_s);
  for (const double part : {record.cost.compute_usd, record.cost.switch_usd, record.cost.lost_usd})
    check(is_amount(part, meter.usd), "a job's money for something is less than none", end_s);
  for (const double amount : {record.device_s, record.energy_j, meter.co2_kg, meter.usd})
    check(is_amount(amount, 0), "what a job had is less than nothing", end_s);

  // Differences of dates have the dates' own rounding.
  check(is_same(stages.device_s, record.device_s, kCrumb + kSame * end_s),
        "the device-seconds of a job's stages are not those of the job", end_s);
  if (billing_ != Billing::node)  // there a stage's money is read from the job's bill
    check(is_same(stages.usd, meter.usd), "the money of a job's stages is not the job's", end_s);
  if (billing_ == Billing::allocated)
    check(meter.marginal_usd == meter.usd, "a job that pays for its devices alone adds something else to the bill", end_s);
  if (billing_ == Billing::node)
    check(is_amount(meter.usd - meter.marginal_usd, meter.usd), "a job adds more to the bill than it pays", end_s);

  device_s_ += record.device_s;
  usd_ += record.cost.total();
  energy_j_ += record.energy_j;
  co2_kg_ += meter.co2_kg;
}

void Books::check_totals(std::span<const PoolTotals> pools, double parameter_servers_usd) const {
  PoolTotals all;
  for (const PoolTotals& pool : pools) {
    all.jobs_device_s += pool.jobs_device_s;
    all.jobs_usd += pool.jobs_usd;
    all.jobs_energy_j += pool.jobs_energy_j;
    all.jobs_co2_kg += pool.jobs_co2_kg;
  }
  check(is_same(device_s_, all.jobs_device_s), "the jobs' device-seconds are not those that the pools gave", last_end_s_);
  check(is_same(usd_, all.jobs_usd + parameter_servers_usd), "the jobs' money is not what the pools took", last_end_s_);
  check(is_same(energy_j_, all.jobs_energy_j), "the jobs' energy is not what the pools gave", last_end_s_);
  check(is_same(co2_kg_, all.jobs_co2_kg), "the jobs' carbon dioxide is not what the pools made", last_end_s_);
}

}  // namespace rehearse::sim
