#include "policies/staged/spot/worker_job.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

double WorkerTerms::usd(int action, int market) const {
  if (action == 0) return 0;
  const int count = workers[size_of(action)];
  return count * (is_spot(action) ? spot_usd[static_cast<std::size_t>(market - 1)] : on_demand_usd);
}

WorkerTerms make_worker_terms(const WorkerSpeeds& speeds, int stages, double work_stages) {
  WorkerTerms terms;
  terms.stages = stages;
  terms.work = static_cast<int>(std::ceil(work_stages * kWorkUnits - 1e-9));
  terms.workers = speeds.workers;
  const BatchTerms& batch = speeds.batch;
  for (int phase = 0; phase < (batch.sizes.empty() ? 1 : batch.phases); ++phase) {
    for (const int count : speeds.workers) {
      const double alone = std::pow(count, speeds.scaling);
      double speed = batch.sizes.empty() ? alone : 0;
      for (const int size : batch.sizes) speed = std::max(speed, batch.speed(alone, size, phase));
      const double units = kWorkUnits * speed;
      terms.full.push_back(static_cast<int>(std::lround(units)));
      terms.started.push_back(static_cast<int>(std::lround(units * (1 - speeds.restart_stages))));
    }
  }
  terms.plan_safely();
  return terms;
}

double BatchTerms::noise_scale(int phase) const {
  const double done = 1 - (phase + 0.5) / phases;
  return std::pow(noise_scale_begin, 1 - done) * std::pow(noise_scale_end, done);
}

double BatchTerms::speed(double workers_speed, int batch, int phase) const {
  const double noise = noise_scale(phase);
  const double samples = batch / (step_overhead_samples + batch / workers_speed),
               alone = reference / (step_overhead_samples + reference);
  return samples / alone * (noise + reference) / (noise + batch);
}

MarketChain make_market(const MarketTerms& terms) {
  const std::size_t levels = terms.shares.size();
  MarketChain chain(levels + 1, std::vector<double>(levels + 1, 0));
  const double comes = 1 - std::exp(-1 / terms.down_stages), moves = 1 - std::exp(-1 / terms.price_stages);
  chain[0][0] = 1 - comes;
  for (std::size_t to = 0; to < levels; ++to) chain[0][to + 1] = comes * terms.shares[to];
  for (std::size_t from = 0; from < levels; ++from) {
    const double goes = 1 - std::exp(-terms.revocation_factors[from] / terms.up_stages);
    chain[from + 1][0] = goes;
    for (std::size_t to = 0; to < levels; ++to)
      chain[from + 1][to + 1] = (1 - goes) * ((from == to ? 1 - moves : 0) + moves * terms.shares[to]);
  }
  return chain;
}

namespace {

std::uint8_t drawn_by(std::span<const double> shares, sim::Random& random) {
  double left = random.uniform();
  std::size_t at = 0;
  while (at + 1 < shares.size() && left >= shares[at]) left -= shares[at++];
  return static_cast<std::uint8_t>(at);
}

}  // namespace

std::vector<std::uint8_t> draw_market(const MarketChain& chain, std::span<const double> shares, int stages, sim::Random& random) {
  std::vector<std::uint8_t> path{static_cast<std::uint8_t>(1 + drawn_by(shares, random))};
  for (int t = 0; t < stages; ++t) path.push_back(drawn_by(chain[path.back()], random));
  return path;
}

void WorkerTerms::plan_safely() {
  const auto rows = static_cast<std::size_t>(work) + 1;
  fewest.assign(rows * static_cast<std::size_t>(actions()), 0);
  const auto after = [&](int left, int done, int held) { return 1 + fewest_stages(std::max(0, left - done), held); };
  for (int left = 1; left <= work; ++left) {
    for (int held = 0; held < actions(); ++held) {
      int best = stages + 1;  // longer is too late in any case
      if (held != 0) best = std::min(best, after(left, 0, 0));
      for (int action = 1; action < (is_spot(held) ? actions() : sizes() + 1); ++action) {
        const int done = progress(action, action != held, left);
        if (done <= 0) continue;
        const int lasts = after(left, done, action);
        best = std::min(best, is_spot(action) ? std::max(lasts, after(left, done / 2, 0)) : lasts);
      }
      fewest[static_cast<std::size_t>(held) * rows + static_cast<std::size_t>(left)] = best;
    }
  }
}

bool keeps_deadline(const WorkerView& view, int action) {
  const WorkerTerms& terms = view.terms;
  sim::check(!terms.fewest.empty(), "a job on workers whose safe way to the end is not planned");
  const int progress = terms.progress(action, action != view.held, view.work_left);
  const auto in_time = [&](int done, int held) {
    return terms.fewest_stages(std::max(0, view.work_left - done), held) <= terms.stages - view.time - 1;
  };
  // Less work left may need more stages where a phase is slower than the one before: that the run lasts is no harmless case.
  return in_time(progress, action) && (!terms.is_spot(action) || in_time(progress / 2, 0));
}

int fewest_that_keep(const WorkerView& view) {
  const int last = view.market > 0 ? view.terms.actions() : view.terms.sizes() + 1;
  for (int action = 1; action < last; ++action)
    if (keeps_deadline(view, action)) return action;
  sim::check(keeps_deadline(view, 0), "a job that cannot keep its deadline");
  return 0;
}

WorkerOutcome run_worker_job(const WorkerTerms& terms, std::span<const std::uint8_t> market, WorkerPolicy& policy) {
  sim::check(static_cast<int>(market.size()) > terms.stages, "a market that ends before the deadline");
  WorkerOutcome outcome;
  WorkerView view{.terms = terms, .work_left = terms.work};
  policy.begin();
  for (; view.time < terms.stages && view.work_left > 0; ++view.time) {
    view.market = market[static_cast<std::size_t>(view.time)];
    int action = policy.decide(view);
    sim::check(action >= 0 && action < terms.actions() && (!terms.is_spot(action) || view.market > 0),
               "a policy chose workers that are not there");
    if (!keeps_deadline(view, action)) {
      ++outcome.overruled;
      action = fewest_that_keep(view);
    }
    const bool starts = action != view.held;
    const int progress = terms.progress(action, starts, view.work_left);
    if (action == 0) {
      ++outcome.waited_stages;
      view.held = 0;
      continue;
    }
    outcome.starts += starts ? 1 : 0;
    ++(terms.is_spot(action) ? outcome.spot_stages : outcome.on_demand_stages);
    outcome.worker_stages += terms.workers[terms.size_of(action)];
    outcome.usd += terms.usd(action, view.market) * std::min(1.0, static_cast<double>(view.work_left) / progress);
    const bool revoked = terms.is_spot(action) && market[static_cast<std::size_t>(view.time) + 1] == 0;
    view.work_left = std::max(0, view.work_left - (revoked ? progress / 2 : progress));
    view.held = revoked ? 0 : action;
  }
  outcome.kept = view.work_left == 0;
  return outcome;
}

}  // namespace rehearse::policies
