#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "experiments/studies/spot_parts.hpp"
#include "experiments/studies/spot_workers.hpp"
#include "report/statistics.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::scenarios {

namespace {

std::size_t place_of(const std::vector<std::string>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  sim::check(at != names.end(), "a spot policy that the tables need is missing");
  return static_cast<std::size_t>(at - names.begin());
}

double mean_usd(const std::vector<SpotScore>& scores) {
  double sum = 0;
  for (const SpotScore& score : scores) sum += score.usd;
  return sum / static_cast<double>(scores.size());
}

double worker_usd(const std::vector<WorkerScore>& scores) {
  double sum = 0;
  for (const WorkerScore& score : scores) sum += score.usd;
  return sum / static_cast<double>(scores.size());
}

/// What stands before the colon; of a name without one, the name.
std::string kind_of(const std::string& name) { return name.substr(0, name.find(':')); }

template <class Of>
double mean_of(const std::vector<WorkerScore>& scores, Of of) {
  double sum = 0;
  for (const WorkerScore& score : scores) sum += of(score);
  return sum / static_cast<double>(scores.size());
}

}  // namespace

std::vector<report::Table> spot_tables(const std::vector<SpotVariant>& variants, const std::vector<std::string>& names) {
  report::Table by_variant{.name = "spot",
                           .title = "A job on spot nodes, by zones, deadline (h) and restart (min)",
                           .columns = {{"zones", "zones", "{:g}"},
                                       {"deadline_h", "due", "{:g}"},
                                       {"restart_min", "restart", "{:g}"},
                                       {"policy", "policy"},
                                       {"jobs", ""},
                                       {"cost_usd", "$", "{:.2f}"},
                                       {"saving_usd", "saving, $", "{:.2f}"},
                                       {"saving_usd_ci95_low", "from", "{:.2f}"},
                                       {"saving_usd_ci95_high", "to", "{:.2f}"},
                                       {"gap_closed", "gap", "{:.2f}"},
                                       {"deadlines_missed", "missed", "{:g}"},
                                       {"overruled_steps", ""}}};
  report::Table overall{.name = "spot-policies",
                        .title = "Over all settings",
                        .columns = {{"policy", "policy"},
                                    {"cost_usd", "$", "{:.2f}"},
                                    {"gap_closed_mean", "gap, mean", "{:.2f}"},
                                    {"gap_closed_least", "least", "{:.2f}"},
                                    {"cheaper_than_uniform_progress", "cheaper in", "{:g}"},
                                    {"variants", "of", "{:g}"},
                                    {"over_staged_sdp_percent_most", "over sdp, %", "{:.1f}"},
                                    {"deadlines_missed", "missed", "{:g}"}}};
  const std::size_t rule = place_of(names, "uniform-progress"), programme = place_of(names, "staged-sdp"),
                    best = place_of(names, "omniscient");
  std::vector<std::vector<report::Cell>> rows;
  for (std::size_t p = 0; p < names.size(); ++p) {
    double usd = 0, gap_sum = 0, gap_least = 1e300, over_most = -1e300, missed_in_all = 0, cheaper = 0;
    for (const SpotVariant& variant : variants) {
      const std::vector<SpotScore>&own = variant.scores[p], &rules = variant.scores[rule];
      std::vector<double> savings;
      double missed = 0, overruled = 0;
      for (std::size_t job = 0; job < own.size(); ++job) {
        savings.push_back(rules[job].usd - own[job].usd);
        missed += own[job].kept ? 0 : 1;
        overruled += own[job].overruled;
      }
      const report::Estimate saving = report::estimate(savings);
      const double cost = mean_usd(own), gap = saving.mean / (mean_usd(rules) - mean_usd(variant.scores[best]));
      rows.push_back({static_cast<double>(variant.zones), variant.deadline_h, variant.restart_min, names[p],
                      static_cast<double>(own.size()), cost, saving.mean, saving.ci95_low, saving.ci95_high, gap, missed,
                      overruled});
      usd += cost;
      gap_sum += gap;
      gap_least = std::min(gap_least, gap);
      cheaper += saving.ci95_low > 0 ? 1 : 0;
      over_most = std::max(over_most, 100 * (cost / mean_usd(variant.scores[programme]) - 1));
      missed_in_all += missed;
    }
    const auto count = static_cast<double>(variants.size());
    overall.rows.push_back({names[p], usd / count, gap_sum / count, gap_least, cheaper, count, over_most, missed_in_all});
  }
  for (std::size_t v = 0; v < variants.size(); ++v)  // by setting, then policy
    for (std::size_t p = 0; p < names.size(); ++p) by_variant.rows.push_back(rows[p * variants.size() + v]);
  std::vector<report::Table> tables;
  tables.push_back(std::move(by_variant));
  tables.push_back(std::move(overall));
  return tables;
}

EarnedShare earned_share(const std::vector<WorkerScore>& policy, const std::vector<WorkerScore>& from,
                         const std::vector<WorkerScore>& to, int jobs, std::uint64_t seed) {
  constexpr int kShareResamples = 1000;
  const std::size_t of_each = static_cast<std::size_t>(jobs), processes = policy.size() / of_each;
  std::vector<double> saved(processes, 0), room(processes, 0);
  for (std::size_t job = 0; job < policy.size(); ++job) {
    saved[job / of_each] += from[job].usd - policy[job].usd;
    room[job / of_each] += from[job].usd - to[job].usd;
  }
  const double all_saved = std::accumulate(saved.begin(), saved.end(), 0.0),
               all_room = std::accumulate(room.begin(), room.end(), 0.0);
  if (all_room == 0) return {sim::kNan, sim::kNan, sim::kNan};
  EarnedShare earned{.share = all_saved / all_room};
  sim::Random random(sim::stream_key(seed, 0, "bootstrap", "spot workers"));
  std::vector<double> shares;
  for (int r = 0; r < kShareResamples; ++r) {
    double saved_sum = 0, room_sum = 0;
    for (std::size_t k = 0; k < processes; ++k) {
      const std::size_t process = random.below(processes);
      saved_sum += saved[process];
      room_sum += room[process];
    }
    if (room_sum != 0) shares.push_back(saved_sum / room_sum);
  }
  earned.ci95_low = report::quantile(shares, 0.025);
  earned.ci95_high = report::quantile(shares, 0.975);
  return earned;
}

std::vector<report::Table> spot_worker_tables(const SpotWorkersQuestion& question, const std::vector<WorldScores>& worlds,
                                              std::uint64_t seed) {
  report::Table by_policy{.name = "spot-workers",
                          .title = "Workers and spot or on-demand nodes, stage by stage (up and down in h)",
                          .columns = {{"up_h", "up", "{:g}"},
                                      {"down_h", "down", "{:g}"},
                                      {"slack", "slack", "{:g}"},
                                      {"policy", "policy"},
                                      {"jobs", ""},
                                      {"cost_usd", "$", "{:.3f}"},
                                      {"over_static_percent", "over static, %", "{:+.1f}"},
                                      {"over_mpc_percent", "over mpc, %", "{:+.1f}"},
                                      {"room_earned", "earned", "{:.2f}"},
                                      {"room_earned_ci95_low", "", "{:.2f}"},
                                      {"room_earned_ci95_high", "", "{:.2f}"},
                                      {"workers", "", "{:.1f}"},
                                      {"starts", "", "{:.1f}"},
                                      {"overruled_stages", ""},
                                      {"deadlines_missed", "missed", "{:g}"}}};
  report::Table by_world{.name = "spot-worlds",
                         .title = "What is to be earned above re-planning, and what staged-rl earns of it",
                         .columns = {{"up_h", "up", "{:g}"},
                                     {"down_h", "down", "{:g}"},
                                     {"slack", "slack", "{:g}"},
                                     {"jobs", "", "{:g}"},
                                     {"processes", ""},
                                     {"best_static", "best static"},
                                     {"sdp_over_static_percent", "sdp, %", "{:+.1f}"},
                                     {"mpc_over_static_percent", "mpc, %", "{:+.1f}"},
                                     {"rl_over_static_percent", "rl, %", "{:+.1f}"},
                                     {"room_percent", "room, %", "{:.1f}"},
                                     {"room_earned", "earned", "{:.2f}"},
                                     {"room_earned_ci95_low", "from", "{:.2f}"},
                                     {"room_earned_ci95_high", "to", "{:.2f}"},
                                     {"jobs_for_15_points", ""},
                                     {"sdp_expected_over_paid_percent", ""},
                                     {"sdp_expected_over_paid_percent_error", ""}}};
  report::Table power{.title = "How sure that is: jobs that an interval of 15 points needs, and the programme's error",
                      .columns = {{"up_h", "up", "{:g}"},
                                  {"down_h", "down", "{:g}"},
                                  {"slack", "slack", "{:g}"},
                                  {"jobs", "jobs", "{:g}"},
                                  {"processes", "processes", "{:g}"},
                                  {"jobs_for_15_points", "jobs needed", "{:.0f}"},
                                  {"sdp_expected_over_paid_percent", "sdp expected over paid, %", "{:+.2f}"},
                                  {"sdp_expected_over_paid_percent_error", "+-", "{:.2f}"}}};
  const std::vector<std::string> names = spot_worker_names(question.speeds, question.ablations);
  const auto place = [&](std::string_view name) {
    const auto at = std::find(names.begin(), names.end(), name);
    sim::check(at != names.end(), "a policy that the tables need is missing");
    return static_cast<std::size_t>(at - names.begin());
  };
  const std::size_t mpc = place("staged-mpc"), sdp = place("staged-sdp"), rl = place("staged-rl");
  for (std::size_t w = 0; w < worlds.size(); ++w) {
    const std::vector<std::vector<WorkerScore>>& scores = worlds[w].scores;
    const SpotWorld& world = question.worlds[w];
    const auto jobs = static_cast<double>(scores[sdp].size());
    std::map<std::string, std::size_t> cheapest;  // by kind
    for (std::size_t p = 0; p < names.size(); ++p) {
      const auto [at, is_first] = cheapest.try_emplace(kind_of(names[p]), p);
      if (!is_first && worker_usd(scores[p]) < worker_usd(scores[at->second])) at->second = p;
    }
    const std::size_t best = cheapest.at("static");
    const auto over = [&](std::size_t p, std::size_t other) {
      return 100 * (worker_usd(scores[p]) / worker_usd(scores[other]) - 1);
    };
    for (std::size_t p = 0; p < names.size(); ++p) {
      const std::vector<WorkerScore>& own = scores[p];
      if (cheapest.at(kind_of(names[p])) != p) continue;
      const bool knows_all = p + 1 == names.size();  // and was not simulated
      const EarnedShare earned = earned_share(own, scores[mpc], scores[sdp], question.jobs, seed);
      const double stages = knows_all ? sim::kNan : question.deadline_h * 60 / question.stage_min;
      by_policy.rows.push_back({world.up_h, world.down_h, world.slack, names[p], jobs, worker_usd(own), over(p, best),
                                over(p, mpc), earned.share, earned.ci95_low, earned.ci95_high,
                                mean_of(own, [](const WorkerScore& s) { return s.worker_stages; }) / stages,
                                knows_all ? sim::kNan : mean_of(own, [](const WorkerScore& s) { return s.starts; }),
                                jobs * mean_of(own, [](const WorkerScore& s) { return s.overruled; }),
                                jobs * mean_of(own, [](const WorkerScore& s) { return s.kept ? 0 : 1; })});
    }
    const EarnedShare earned = earned_share(scores[rl], scores[mpc], scores[sdp], question.jobs, seed);
    const double half_width = (earned.ci95_high - earned.ci95_low) / 2;
    std::vector<double> surprises;
    for (std::size_t job = 0; job < scores[sdp].size(); ++job)
      surprises.push_back(100 * (worlds[w].expected_usd[job] - scores[sdp][job].usd) / worker_usd(scores[sdp]));
    const report::Estimate expected = report::estimate(surprises);
    const double needed = std::ceil(jobs * std::pow(half_width / 0.15, 2)), processes = question.processes;
    const double expected_error = (expected.ci95_high - expected.ci95_low) / 2;
    by_world.rows.push_back({world.up_h, world.down_h, world.slack, jobs, processes, names[best], over(sdp, best),
                             over(mpc, best), over(rl, best), over(mpc, sdp), earned.share, earned.ci95_low, earned.ci95_high,
                             needed, expected.mean, expected_error});
    power.rows.push_back({world.up_h, world.down_h, world.slack, jobs, processes, needed, expected.mean, expected_error});
  }
  std::vector<report::Table> tables;
  tables.push_back(std::move(by_policy));
  tables.push_back(std::move(by_world));
  tables.push_back(std::move(power));
  return tables;
}

}  // namespace rehearse::scenarios
