#include "report/run_recorder.hpp"

#include <algorithm>
#include <cmath>

#include "report/outcome.hpp"
#include "report/statistics.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/memory.hpp"
#include "sim/base/units.hpp"
#include "sim/io/csv.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::report {

const RecordFile kJobsFile{
    "jobs.csv",
    "policy,repetition,job,user,model,dataset,submit_s,start_s,end_s,state,reason,pool,workers,batch_size,epochs,deadline_s,"
    "deadline_met,"
    "target_accuracy,accuracy,accuracy_met,cost_usd,effective_cost_usd,energy_j,device_s,preemptions,reconfigurations,"
    "cost_limit_usd,cost_limit_met,marginal_cost_usd"};
const std::string kJobsHeaderWithCarbon = std::string(kJobsFile.header) + ",co2_kg";
const RecordFile kJobsFileWithCarbon{"jobs.csv", kJobsHeaderWithCarbon};
const RecordFile kDecisionsFile{"decisions.csv",
                                "policy,repetition,time_s,job,decision,rank,pool,workers,batch_size,learning_rate,predicted_time_"
                                "s,predicted_accuracy,predicted_cost_usd,"
                                "feasible,extrapolated,note"};
const RecordFile kEventsFile{"events.jsonl", ""};
const RecordFile kStagesFile{"stages.csv",
                             "policy,repetition,job,stage,pool,workers,batch_size,learning_rate,start_s,end_s,step_s,progress,"
                             "noise_scale,noise_scale_seen,accuracy,"
                             "accuracy_measured,cost_usd,switch_cost_usd"};
const RecordFile kCurvesFile{"curves.csv", "policy,repetition,job,epoch,time_s,examples,accuracy,accuracy_measured,cost_usd"};
const RecordFile kPredictionsFile{"predictions.csv", "policy,repetition,job,quantity,predicted,actual"};
const RecordFile kUtilizationFile{
    "utilization.csv", "policy,repetition,time_s,pool,busy_devices,allocated_devices,queued_jobs,power_w,fragmentation"};
const RecordFile kLifeFile{"life.csv", "policy,repetition,job,held_s,train_s,switch_s,lost_s,cost_lost_usd,checkpoints,restarts"};
const RecordFile kNodesFile{"nodes.csv", "policy,repetition,job,pool,node,devices,start_s,end_s"};

std::string how_to_write(std::string_view file) {
  for (const RecordFile* record : {&kJobsFile, &kDecisionsFile, &kEventsFile, &kStagesFile, &kCurvesFile, &kPredictionsFile,
                                   &kUtilizationFile, &kLifeFile, &kNodesFile})
    if (record->name == file) return fmt::format(R"("output": {{"{}": "all"}} writes it)", file.substr(0, file.rfind('.')));
  return {};
}

RunRecorder::RunRecorder(RunRecorderSetup setup)
    : setup_(std::move(setup)), run_fields_(fmt::format("{},{}", sim::csv_text(setup_.policy), setup_.repetition)) {
  for (const sim::Pool& pool : setup_.cluster->pools) pool_fields_.push_back(sim::csv_text(pool.name));
  sim::reserve_table(outcome_.jobs, setup_.known_jobs);
  by_end_.reserve(setup_.known_jobs);
  jobs_ = open(setup_.cluster->carbon_g_per_kwh ? kJobsFileWithCarbon : kJobsFile, setup_.files.jobs);
  decisions_ = open(kDecisionsFile, setup_.files.decisions);
  events_ = open(kEventsFile, setup_.files.events);
  stages_ = open(kStagesFile, setup_.files.stages);
  curves_ = open(kCurvesFile, setup_.files.curves);
  predictions_ = open(kPredictionsFile, setup_.files.predictions);
  utilization_ = open(kUtilizationFile, setup_.files.utilization);
  life_ = open(kLifeFile, setup_.files.life);
  nodes_ = open(kNodesFile, setup_.files.nodes);
}

std::unique_ptr<RowWriter> RunRecorder::open(const RecordFile& file, bool wanted) const {
  if (!wanted || !setup_.folder) return nullptr;
  auto writer = std::make_unique<RowWriter>(setup_.folder.file(file.name));
  if (!file.header.empty()) writer->line(file.header);
  return writer;
}

std::string_view RunRecorder::pool_name(int pool) const {
  return pool < 0 ? std::string_view() : setup_.cluster->pools[static_cast<std::size_t>(pool)].name;
}

std::string_view RunRecorder::pool_field(int pool) const {
  return pool < 0 ? std::string_view() : pool_fields_[static_cast<std::size_t>(pool)];
}

void RunRecorder::on_job(const sim::JobRecord& r) {
  const sim::Job& job = *r.job;
  JobOutcome outcome{.cost_usd = r.cost.total(),
                     .marginal_cost_usd = r.marginal_usd,
                     .profiling_usd = r.measured_usd,
                     .completion_s = r.end_s - job.submit_s,
                     .submit_s = job.submit_s,
                     .batch_size = r.batch_size,
                     .pool = r.pool,
                     .workers = r.workers,
                     .finished = r.state == sim::JobState::finished,
                     .has_deadline = job.has_deadline(),
                     .deadline_met = r.meets_deadline(),
                     .has_target = job.has_target(),
                     .accuracy_met = r.meets_accuracy(),
                     .keeps_limits = r.keeps_limits()};
  outcome.effective_cost_usd = outcome.cost_usd + (outcome.keeps_limits ? 0 : setup_.reference_cost_usd(job));
  if (job.has_deadline() && !outcome.deadline_met) outcome.seconds_late = std::max(0.0, r.end_s - job.submit_s - job.deadline_s);
  if (job.has_target()) outcome.accuracy_short = std::max(0.0, job.target_accuracy - (std::isnan(r.accuracy) ? 0.0 : r.accuracy));
  const bool fits_nowhere = job.work == sim::Work::rigid && r.reason == sim::FailureReason::does_not_fit;
  if (setup_.reference_alone && !fits_nowhere) {
    const AloneRun alone = setup_.reference_alone(job);
    outcome.alone_s = alone.time_s;
    outcome.alone_devices = alone.devices;
  }
  by_end_.push_back(static_cast<std::uint32_t>(r.number));
  if (outcome_.jobs.size() <= r.number) outcome_.jobs.resize(r.number + 1);
  outcome_.jobs[r.number] = outcome;
  if (job.work != sim::Work::rigid) {
    profile_of_.resize(std::max(profile_of_.size(), outcome_.jobs.size()), nullptr);
    profile_of_[r.number] = job.profile;
  }
  if (!setup_.measure || setup_.measure->has(job.submit_s)) add_to_sums(r);
  if (jobs_) write_row(r, outcome);
  if (life_) write_life(r);
  if (predictions_) write_predictions(r);
}

void RunRecorder::add_to_sums(const sim::JobRecord& r) {
  if (r.state == sim::JobState::finished && r.job->work != sim::Work::rigid) {
    const sim::Prediction& p = r.choice->predicted;
    if (!std::isnan(p.time_s)) sums_.time_errors.push_back(std::abs(p.time_s / (r.end_s - r.start_s) - 1));
    if (!std::isnan(p.cost_usd) && r.cost.total() > 0) sums_.cost_errors.push_back(std::abs(p.cost_usd / r.cost.total() - 1));
  }
  sums_.jobs_infeasible += !r.predicted_feasible;
  sums_.parts.compute_usd += r.cost.compute_usd;
  sums_.parts.switch_usd += r.cost.switch_usd;
  sums_.parts.wait_usd += r.cost.wait_usd;
  sums_.parts.lost_usd += r.cost.lost_usd;
  sums_.energy_j += r.energy_j;
  sums_.co2_kg += r.co2_kg;
  if (r.state == sim::JobState::finished) sums_.waiting_s += std::max(0.0, r.end_s - r.job->submit_s - r.time.held_s());
  sums_.held_device_s += r.device_s;
  sums_.devices.train_device_s += r.devices.train_device_s;
  sums_.devices.lost_device_s += r.devices.lost_device_s;
  sums_.devices.checkpoint_device_s += r.devices.checkpoint_device_s;
  sums_.checkpoint_usd += r.checkpoint_usd;
  sums_.checkpoints += static_cast<double>(r.checkpoints);
  sums_.restarts += r.restarts;
  sums_.preemption_s += r.preemption_s;
  sums_.jobs_rejected += r.reason == sim::FailureReason::rejected;
  sums_.preemptions += r.preemptions;
  sums_.reconfigurations += r.reconfigurations;
}

void RunRecorder::write_row(const sim::JobRecord& r, const JobOutcome& outcome) {
  const sim::Job& job = *r.job;
  RowWriter& out = begin(*jobs_).text(job.name).text(job.user);
  if (job.profile != nullptr)
    out.text(job.profile->model).text(job.profile->dataset);
  else
    out.empty().empty();
  out.date(job.submit_s).date(r.start_s).date(r.end_s).word(name_of(r.state)).word(name_of(r.reason)).word(pool_field(r.pool));
  out.integer(r.workers).number(r.batch_size).number(r.epochs);
  if (job.has_deadline())
    out.number(job.deadline_s).flag(outcome.deadline_met);
  else
    out.empty().empty();
  out.number(job.target_accuracy).number(r.accuracy);
  if (job.has_target())
    out.flag(outcome.accuracy_met);
  else
    out.empty();
  out.number(outcome.cost_usd)
      .number(outcome.effective_cost_usd)
      .number(r.energy_j)
      .number(r.device_s)
      .integer(r.preemptions)
      .integer(r.reconfigurations);
  if (job.has_cost_limit())
    out.number(job.cost_limit_usd).flag(r.meets_cost_limit());
  else
    out.empty().empty();
  out.number(outcome.marginal_cost_usd);
  if (setup_.cluster->carbon_g_per_kwh) out.number(r.co2_kg);
  out.end_row();
}

void RunRecorder::write_predictions(const sim::JobRecord& r) {
  if (r.choice == nullptr || r.state != sim::JobState::finished) return;
  const sim::Prediction& p = r.choice->predicted;
  const auto row = [&](std::string_view quantity, double predicted, double actual) {
    if (std::isnan(predicted) || std::isnan(actual)) return;
    begin(*predictions_).text(r.job->name).word(quantity).number(predicted).number(actual).end_row();
  };
  row("time_s", p.time_s, r.end_s - r.start_s);
  row("epochs", p.epochs, r.epochs);
  row("accuracy", p.accuracy, r.accuracy);
  row("cost_usd", p.cost_usd, r.cost.total());
}

void RunRecorder::write_life(const sim::JobRecord& r) {
  begin(*life_)
      .text(r.job->name)
      .number(r.time.held_s())
      .number(r.time.train_s)
      .number(r.time.switch_s)
      .number(r.time.lost_s)
      .number(r.cost.lost_usd)
      .integer(static_cast<std::int64_t>(r.checkpoints))
      .integer(r.restarts)
      .end_row();
}

void RunRecorder::on_decision(const sim::DecisionRecord& r) {
  if (!decisions_) return;
  const sim::Configuration& c = r.choice->configuration;
  const sim::Prediction& p = r.choice->predicted;
  begin(*decisions_)
      .date(r.time_s)
      .text(r.job->name)
      .word(r.decision)
      .integer(r.rank)
      .word(pool_field(c.groups.front().pool))
      .integer(c.workers());
  decisions_->number(c.batch_size())
      .number(c.learning_rate)
      .number(p.time_s)
      .number(p.accuracy)
      .number(p.cost_usd)
      .flag(p.feasible)
      .flag(p.extrapolated);
  if (!r.note.empty())
    decisions_->text(r.note);
  else if (p.note.empty() || r.remedy.empty())
    decisions_->text(p.note.empty() ? r.remedy : std::string_view(p.note));
  else
    decisions_->text(p.note + "; " + std::string(r.remedy));
  decisions_->end_row();
}

void RunRecorder::on_event(double time_s, sim::JobEvent event, const sim::Job& job, const sim::Configuration* c) {
  if (!events_) return;
  std::string line = fmt::format(R"({{"policy":{},"repetition":{},"time_s":{},"event":"{}","job":{})", json_string(setup_.policy),
                                 setup_.repetition, sim::date_text(time_s), name_of(event), json_string(job.name));
  if (c != nullptr)
    line += fmt::format(R"(,"pool":{},"workers":{},"batch_size":{})", json_string(pool_name(c->groups.front().pool)),
                        c->workers(), c->batch_size());
  events_->line(line + "}");
}

void RunRecorder::on_stage(const sim::StageRecord& r) {
  if (stages_) {
    const sim::Configuration& c = *r.configuration;
    begin(*stages_)
        .text(r.job->name)
        .integer(r.stage)
        .word(pool_field(c.groups.front().pool))
        .integer(c.workers())
        .number(c.batch_size())
        .number(c.learning_rate);
    stages_->date(r.start_s).date(r.end_s).number(r.course->step_s / r.speed).number(r.to.training.progress);
    double noise_scale = sim::kUnset;
    for (const sim::EpochPoint& point : r.course->epochs)
      if (!point.lost && point.after.epochs <= r.to.epochs) noise_scale = point.noise_scale;
    stages_->number(noise_scale)
        .number(r.noise_scale_seen)
        .number(r.to.accuracy)
        .number(r.to.measured_accuracy)
        .number(r.cost_usd)
        .number(r.switch_cost_usd)
        .end_row();
  }
  if (curves_) write_curve(r);
}

void RunRecorder::write_curve(const sim::StageRecord& r) {
  if (r.course->epochs.empty()) return;
  const double held_s = r.end_s - r.start_s;
  const double usd_per_s = held_s > 0 ? r.cost_usd / held_s : 0;
  for (const sim::EpochPoint& point : r.course->epochs) {
    if (point.after.epochs > r.to.epochs) break;  // the stage was cut before
    // After hundred thousand pauses for checkpoints rounding may put the last one behind the end.
    const double time_s = std::min(r.date_of(point.end_s), r.end_s);
    begin(*curves_)
        .text(r.job->name)
        .integer(point.after.epochs)
        .number(time_s)
        .number(point.after.training.examples)
        .number(point.after.accuracy);
    curves_->number(point.after.measured_accuracy).number(r.cost_before_usd + usd_per_s * (time_s - r.start_s)).end_row();
  }
}

void RunRecorder::on_pool_sample(const sim::PoolSample& s) {
  if (!utilization_) return;
  begin(*utilization_)
      .date(s.time_s)
      .word(pool_field(s.pool))
      .number(s.busy_devices)
      .number(s.allocated_devices)
      .integer(s.queued_jobs)
      .number(s.power_w)
      .number(s.fragmentation)
      .end_row();
}

void RunRecorder::on_node(const sim::NodeEvent& event) {
  if (!events_) return;
  for (int node = event.first_node; node < event.first_node + event.nodes; ++node)
    events_->line(fmt::format(R"({{"policy":{},"repetition":{},"time_s":{},"event":"{}","node":{}}})", json_string(setup_.policy),
                              setup_.repetition, sim::date_text(event.date_s), name_of(event.change),
                              json_string(node_name(*setup_.cluster, event.pool, node))));
}

void RunRecorder::on_devices(double time_s, bool taken, const sim::Job& job, const sim::Configuration& c,
                             const sim::Layout& layout) {
  if (!nodes_) return;
  if (taken) {
    taken_s_[job.name] = time_s;
    return;
  }
  const double start_s = taken_s_[job.name];
  for (std::size_t g = 0; g < layout.size(); ++g)
    for (std::size_t i = 0; i < layout[g].size();) {  // parts of one node stand next to each other
      const int node = layout[g][i].node;
      int devices = 0;
      for (; i < layout[g].size() && layout[g][i].node == node; ++i) devices += layout[g][i].devices;
      begin(*nodes_)
          .text(job.name)
          .word(pool_field(c.groups[g].pool))
          .integer(node)
          .number(devices * c.share.fraction)
          .date(start_s)
          .date(time_s)
          .end_row();
    }
}

RunOutcome RunRecorder::finish(const sim::ReplayTotals& totals) {
  for (RowWriter* writer : {jobs_.get(), decisions_.get(), events_.get(), stages_.get(), curves_.get(), predictions_.get(),
                            utilization_.get(), life_.get(), nodes_.get()})
    if (writer != nullptr) writer->close();
  sim::check(outcome_.jobs.size() == totals.jobs, "not every job has a record");
  double usd = 0, pools_usd = totals.parameter_servers_usd + totals.shared_idle_usd;
  for (const JobOutcome& job : outcome_.jobs) usd += job.cost_usd;
  for (const sim::PoolTotals& pool : totals.pools) pools_usd += pool.jobs_usd;
  sim::check(std::abs(usd - pools_usd) <= 1e-9 * std::max(1e-9, pools_usd),
             "the money in the jobs' records is not what the pools earned");
  for (std::size_t j = 0; j < profile_of_.size() && setup_.profiling_usd; ++j)
    if (profile_of_[j] != nullptr) outcome_.jobs[j].profiling_usd += setup_.profiling_usd(*profile_of_[j]);
  count_active_jobs(outcome_.jobs, by_end_);
  if (setup_.measure) std::erase_if(outcome_.jobs, [&](const JobOutcome& job) { return !setup_.measure->has(job.submit_s); });
  outcome_.metrics = run_metrics(totals, outcome_.jobs, std::move(sums_));
  for (std::size_t p = 0; p < setup_.cluster->pools.size(); ++p)
    outcome_.metrics.devices +=
        static_cast<double>(setup_.cluster->pools[p].nodes) * sim::workers_per_node(*setup_.cluster, static_cast<sim::PoolId>(p));
  if (setup_.measure) measure_steady_state(outcome_);
  return std::move(outcome_);
}

}  // namespace rehearse::report
