#include "policies/staged/staged_agent.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::policies {

namespace {

constexpr Eigen::Index kHidden = 32;
constexpr double kPerExcess = 100;   ///< a plan that is 1 % dearer is e times less likely
constexpr double kMostExcess = 0.5;  ///< of what has no safe plan

double log_or_zero(double x) { return x > 0 ? std::log(x) : 0; }

/// What is the same for all options.
struct JobFacts {
  double log_parameters = 0, log_flops = 0;
  bool recurrent = false;
};

JobFacts facts_of(const sim::OpGraph& graph) {
  JobFacts facts;
  double flops = 0;
  for (const sim::Op& op : graph.ops) {
    flops += op.flops.per_sample;
    facts.recurrent = facts.recurrent || op.kind == sim::OpKind::rnn;
  }
  facts.log_parameters = log_or_zero(graph.parameters);
  facts.log_flops = log_or_zero(flops);
  return facts;
}

/// Measured over believed step time; 0 where the pool was not run on.
double log_measured(const workloads::Revision& revision, int pool) {
  const auto p = static_cast<std::size_t>(pool);
  return p < revision.slower_on_pool.size() ? log_or_zero(revision.slower_on_pool[p]) : 0;
}

bool measured(std::span<const sim::StageSeen> seen, int pool) {
  return std::any_of(seen.begin(), seen.end(),
                     [&](const sim::StageSeen& s) { return s.configuration.groups.front().pool == pool; });
}

/// The mask: what is believed to end in time even with the reserve; else what ends in time; else what ends soonest.
bool forbid(const Outlook& outlook, std::vector<double>& mask) {
  for (const bool safely : {true, false}) {
    bool any = false;
    for (std::size_t i = 0; i < outlook.options.size(); ++i) {
      const StageOption& o = outlook.options[i];
      const bool fits = std::isfinite(o.plan_usd) && (safely ? o.safest_s : o.fastest_s) <= outlook.time_left_s;
      mask[i] = fits ? 0 : kForbidden;
      any = any || fits;
    }
    if (any) return true;
  }
  const auto soonest = std::min_element(outlook.options.begin(), outlook.options.end(),
                                        [](const StageOption& a, const StageOption& b) { return a.fastest_s < b.fastest_s; });
  mask[static_cast<std::size_t>(soonest - outlook.options.begin())] = 0;
  return false;
}

/// The best score that is not masked; -1 when all are.
int best_of(std::span<const double> scores, const std::vector<double>& mask) {
  int best = -1;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (mask[i] == 0 && (best < 0 || scores[i] > scores[static_cast<std::size_t>(best)])) best = static_cast<int>(i);
  return best;
}

struct Scale {
  double usd = 1, safe_usd = 1, fastest_s = 1, time_left_s = 1;
  bool deadline = false, planned = false;

  double share_of_time(double seconds) const { return deadline ? std::min(3.0, seconds / time_left_s) : 0; }
  double excess(double usd_of, double over) const { return std::min(kMostExcess, usd_of / over - 1); }
};

Scale scale_of(const Outlook& outlook, const std::vector<double>& mask) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  Scale s{.usd = kNone, .safe_usd = kNone, .fastest_s = kNone};
  for (std::size_t i = 0; i < outlook.options.size(); ++i) {
    const StageOption& o = outlook.options[i];
    s.fastest_s = std::min(s.fastest_s, o.fastest_s);
    if (mask[i] != 0) continue;
    s.usd = std::min(s.usd, o.plan_usd);
    s.safe_usd = std::min(s.safe_usd, o.safe_usd);
  }
  const auto or_one = [](double x) { return std::isfinite(x) && x > 0 ? x : 1.0; };
  s.planned = std::isfinite(s.usd);
  if (!std::isfinite(s.safe_usd)) s.safe_usd = s.usd;
  s.usd = or_one(s.usd), s.safe_usd = or_one(s.safe_usd), s.fastest_s = or_one(s.fastest_s);
  s.deadline = outlook.time_left_s != sim::kNever;
  s.time_left_s = s.deadline ? std::max(1.0, outlook.time_left_s) : 1;
  return s;
}

}  // namespace

AgentInputs agent_inputs(const AgentView& view, const Outlook& outlook) {
  const std::size_t n = outlook.options.size();
  sim::check(n > 0, "a decision without options");
  AgentInputs inputs{.features = Matrix(static_cast<Eigen::Index>(n), kAgentFeatures),
                     .prior = std::vector<double>(n),
                     .mask = std::vector<double>(n, kForbidden)};
  inputs.feasible = forbid(outlook, inputs.mask);
  const Scale scale = scale_of(outlook, inputs.mask);
  inputs.plan_usd = scale.planned ? scale.usd : 0;
  const JobFacts facts = facts_of(view.table->model().graph);
  const sim::Job& job = *view.job;
  const double accuracy = view.seen.empty() ? 0 : view.seen.back().accuracy;
  const double before = view.seen.size() > 1 ? view.seen[view.seen.size() - 2].accuracy : 0;
  const double target = job.has_target() ? job.target_accuracy : 1;
  const double spent_usd = view.from->cost_usd;
  const double reference_batch = view.table->model().publication_batch;
  const double noise = outlook.noise_scale > 0 ? outlook.noise_scale : reference_batch;
  for (std::size_t i = 0; i < n; ++i) {
    const StageOption& o = outlook.options[i];
    const StageTable::Candidate& c = view.table->candidates()[static_cast<std::size_t>(o.candidate)];
    const double batch = view.table->configurations()[static_cast<std::size_t>(o.candidate)].batch_size();
    const double safe = scale.excess(o.safe_usd, scale.safe_usd), planned = scale.excess(o.plan_usd, scale.usd);
    inputs.prior[i] = -kPerExcess * safe;
    const std::array<double, kAgentFeatures> row{
        // The job and where it stands.
        outlook.progress_share, accuracy / target, 5 * (accuracy - before) / target, log_or_zero(noise / reference_batch) / 4,
        job.has_deadline() ? view.from->time_s / job.deadline_s : 0,
        scale.deadline ? std::clamp(std::log(scale.time_left_s / scale.fastest_s), -1.0, 4.0) / 2 : 2,
        spent_usd / (spent_usd + scale.usd), static_cast<double>(view.stages_left) / 5, (facts.log_parameters - 17) / 3,
        (facts.log_flops - 23) / 4, facts.recurrent ? 1.0 : 0.0,
        // The option.
        o.keeps ? 1.0 : 0.0, 10 * safe, 10 * planned, std::min(3.0, o.kept_usd / scale.usd - 1), scale.share_of_time(o.kept_s),
        scale.share_of_time(o.plan_s), scale.share_of_time(o.stage_s), scale.share_of_time(o.fastest_s),
        std::min(3.0, o.stage_usd / scale.usd), std::min(3.0, 10 * o.switch_usd / scale.usd), log_or_zero(batch / noise) / 4,
        log_or_zero(batch / reference_batch) / 4, std::log2(static_cast<double>(c.workers)) / 5,
        log_or_zero(3600 * c.usd_per_s / c.workers) / 2,
        5 * log_measured(*view.revision, c.pool) + (measured(view.seen, c.pool) ? 1.0 : 0.0), o.gain,
        // How sure the belief was before the job began.
        10 * view.prior->speed_spread(static_cast<std::size_t>(c.pool)), 3 * view.prior->noise_scale_spread};
    for (int j = 0; j < kAgentFeatures; ++j) {
      const double x = row[static_cast<std::size_t>(j)];
      inputs.features(static_cast<Eigen::Index>(i), j) = std::isfinite(x) ? std::clamp(x, -5.0, 5.0) : 5.0;
    }
  }
  inputs.leader = best_of(inputs.prior, inputs.mask);
  return inputs;
}

StagedAgent::StagedAgent(std::uint64_t seed)
    : random_(sim::stream_key(seed, 0, "agent", kKind)),
      trunk_({parameters_, random_}, "trunk", {.inputs = kAgentFeatures, .outputs = kHidden}),
      actor_({parameters_, random_}, "actor", {.inputs = kHidden, .outputs = 1, .gain = 0}),
      critic_({parameters_, random_}, "critic", {.inputs = kHidden, .outputs = 1, .gain = 0}) {}

NetworkBlueprint StagedAgent::blueprint() { return policies::blueprint(kKind, StagedAgent(0).parameters()); }

StagedAgent::Judgement StagedAgent::judge(Tape& tape, const AgentInputs& inputs) const {
  const auto options = static_cast<Eigen::Index>(inputs.prior.size());
  const Var hidden = tape.tanh(trunk_(tape, tape.constant(inputs.features)));
  const Var learned = tape.reshape(actor_(tape, hidden), {1, options});
  const std::int32_t leader[] = {inputs.leader};
  return {.scores = tape.add(learned, tape.constant({1, options}, inputs.prior)),
          .excess = critic_(tape, tape.gather(hidden, leader))};
}

int StagedAgent::best(Tape& tape, const AgentInputs& inputs) const {
  tape.clear();
  return best_of(numbers_of(tape.value(judge(tape, inputs).scores)), inputs.mask);
}

}  // namespace rehearse::policies
