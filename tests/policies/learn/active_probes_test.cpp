// What is measured because it repays itself: in a laboratory whose truth is a formula.
#include "policies/learn/active_probes.hpp"

#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "tests/policies/learn/formula_laboratory.hpp"

using namespace rehearse::policies;

namespace {

using test::Formula, test::kExamples, test::kStart, test::recipe;

struct Bought {
  Formula lab;
  double wait_s = 0, usd = 0;
  int probes = 0;
  std::vector<PastRun> known, in_the_end;
};

Bought bought(double reuse_jobs, double deadline_s = 5000) {
  Bought out;
  ActiveProbes probes(out.lab.candidates, recipe(), {.envelope = {.time_noise = 0.02}, .reuse_jobs = reuse_jobs}, out.lab);
  out.wait_s = probes.arrive({.floor = 0.8, .deadline_s = deadline_s, .epochs = 300}, 1000);
  out.known = probes.known(1000 + out.wait_s);
  out.in_the_end = probes.known(1e12);
  out.usd = probes.cost_usd();
  out.probes = probes.probes();
  return out;
}

}  // namespace

TEST_CASE("the more jobs are to come, the more is measured, and never for more than they could cost") {
  double before_usd = 0;
  int before = 0;
  for (const double reuse : {1.0, 100.0, 10'000.0}) {
    const Bought now = bought(reuse);
    CHECK(now.usd == Approx(now.lab.usd));
    CHECK(now.probes == now.lab.timed + now.lab.trained);
    CHECK(now.usd >= before_usd);
    CHECK(now.probes >= before);
    before_usd = now.usd;
    before = now.probes;
    // A job on the dearest candidate, to the recipe's end.
    double dearest_usd = 0;
    for (std::size_t c = 0; c < now.lab.candidates.size(); ++c)
      dearest_usd = std::max(dearest_usd, now.lab.price_usd(c, kStart + 100 * now.lab.epoch_s(c)));
    CHECK(now.usd < reuse * dearest_usd);
  }
  CHECK(bought(10'000).lab.trained > 0);
}

TEST_CASE("a probe that costs more than announced is a bug") {
  Formula lab;
  lab.overcharges = true;
  ActiveProbes probes(lab.candidates, recipe(), {.reuse_jobs = 100}, lab);
  CHECK_THROWS_AS(probes.arrive({.floor = 0.8, .deadline_s = 5000, .epochs = 300}, 0), rehearse::sim::CheckFailed);
}

TEST_CASE("a job waits for what it is worth to it, and not beyond what its deadline leaves") {
  const Bought many = bought(10'000);
  CHECK(many.wait_s > 0);
  CHECK(many.wait_s < 5000);
  CHECK(many.known.size() >= 3);  // the recipe, and steps on both instances
  CHECK(std::any_of(many.in_the_end.begin(), many.in_the_end.end(), [](const PastRun& run) { return run.told == Told::run; }));
  // With a deadline that nothing keeps it waits for the first wave alone: without that nothing is known.
  CHECK(bought(10'000, 100).wait_s <= 100);
}

TEST_CASE("a job for which no choice is sure waits for trainings while some choice is expected to keep its deadline") {
  // One configuration, 323.4 s an epoch, at most 100 epochs by the recipe: sure to be over after 108 of them, 8 % longer.
  // Expected are (100 - 1)/ln 100 = 21.5 of them and the start, and half of what that leaves of the deadline is waited.
  const auto waits = [](double deadline_s) {
    Formula lab;
    lab.candidates = {lab.candidates.at(1)};
    ActiveProbes probes(lab.candidates, recipe(), {.envelope = {.time_noise = 0}, .reuse_jobs = 100}, lab);
    const double wait_s = probes.arrive({.floor = 0.8, .deadline_s = deadline_s, .epochs = 300}, 0);
    const std::vector<PastRun> known = probes.known(wait_s);
    return std::pair(wait_s, std::any_of(known.begin(), known.end(), [](const PastRun& run) { return run.told == Told::run; }));
  };
  const double epoch_s = 3 * kExamples * (2e-3 + 0.02 / 128), expected_s = kStart + 99 / std::log(100) * epoch_s;
  REQUIRE(108 * 1.08 * epoch_s > 30'000);
  const auto [wait_s, knows_more] = waits(30'000);
  CHECK(wait_s == Approx((30'000 - expected_s) / 2));
  CHECK(knows_more);
  CHECK(waits(expected_s - 100).first < 100);
}

TEST_CASE("what was out of memory is paid for, and nothing larger is tried again") {
  Formula lab;
  lab.most_samples = 100;
  ActiveProbes probes(lab.candidates, recipe(), {.reuse_jobs = 10'000}, lab);
  for (int job = 0; job < 4; ++job) {
    probes.arrive({.floor = 0.8, .deadline_s = 5000, .epochs = 300}, job * 1e5);
    CHECK(probes.cost_usd() == Approx(lab.usd));
  }
  CHECK(lab.refused > 0);
  std::map<std::string, std::vector<double>> refused;  // samples of a worker, in the order in which they were tried
  for (const PastRun& run : probes.known(1e12)) {
    if (run.told != Told::out_of_memory) continue;
    refused[run.instance].push_back(run.batch_size / run.workers);
  }
  // Side by side two may be refused; later ones are smaller than all that were.
  for (const auto& [instance, samples] : refused) CHECK(samples.size() <= 3);
  for (const PastRun& run : probes.known(1e12))
    if (run.told == Told::run) CHECK(run.batch_size / run.workers <= lab.most_samples);
}

TEST_CASE("of runs that are told beforehand only those out of memory rule anything out") {
  // One cheap worker with 32 samples. How many of cheap workers with as many each are tried, the first of all aside?
  const auto tried = [](Told told) {
    Formula lab;
    PastRun run = lab.known_time(0);
    run.told = told;
    ActiveProbes probes(lab.candidates, recipe(), {.reuse_jobs = 10'000}, lab);
    probes.add(run);
    probes.arrive({.floor = 0.8, .deadline_s = 50'000, .epochs = 300}, 0);
    return std::count_if(lab.order.begin() + 2, lab.order.end(), [&](std::size_t c) {
      return lab.candidates[c].instance == "cheap" && lab.candidates[c].run.batch_size / lab.candidates[c].run.workers >= 32;
    });
  };
  CHECK(tried(Told::out_of_memory) == 0);
  CHECK(tried(Told::steps) > 0);
}

TEST_CASE("a run that is told is known from then on") {
  Formula lab;
  ActiveProbes probes(lab.candidates, recipe(), {.reuse_jobs = 1}, lab);
  probes.add(lab.known_time(5));
  const std::vector<PastRun> known = probes.known(0);
  REQUIRE(known.size() == 2);
  CHECK(known[0].told == Told::recipe);
  CHECK(known[1].workers == lab.candidates[5].run.workers);
  CHECK(known[1].time_s == lab.epoch_s(5));
}

TEST_CASE("the same jobs buy the same, and a later one sees what has ended by then") {
  const Bought a = bought(1000), b = bought(1000);
  CHECK(a.usd == b.usd);
  CHECK(a.known.size() == b.known.size());
  Formula lab;
  ActiveProbes probes(lab.candidates, recipe(), {.reuse_jobs = 1000}, lab);
  probes.arrive({.floor = 0.8, .deadline_s = 5000, .epochs = 300}, 0);
  std::size_t before = 0;
  for (const double at_s : {0.0, 100.0, 1000.0, 1e5, 1e7}) {
    CHECK(probes.known(at_s).size() >= before);
    before = probes.known(at_s).size();
  }
  CHECK(probes.known(0).size() == 1);  // the recipe
}

TEST_CASE("a training's price is that of the mean of its bounds' logarithms") {
  // The recipe ends after 100 epochs; nothing is known from below: sqrt(1 x 100) epochs are expected, on the one worker whose
  // seconds are known by then.
  Formula lab;
  lab.candidates = {lab.candidates.at(1)};
  REQUIRE(lab.candidates[0].run.batch_size == 128);
  ActiveProbes probes(lab.candidates, recipe(), {.envelope = {.time_noise = 0}, .reuse_jobs = 100}, lab);
  probes.arrive({.floor = 0.8, .deadline_s = 50'000, .epochs = 300}, 0);
  const double expected_s = kStart + 10 * lab.epoch_s(0);
  CHECK(std::any_of(lab.asked.begin(), lab.asked.end(),
                    [&](const auto& asked) { return std::abs(asked.second - expected_s) < 1e-6 * expected_s; }));
  CHECK(lab.order == std::vector<std::size_t>{0});
}

TEST_CASE("a training's evaluations are known as they are read") {
  Formula lab;
  ActiveProbes probes(lab.candidates, recipe(), {.envelope = {.time_noise = 0.02}, .reuse_jobs = 10'000}, lab);
  probes.arrive({.floor = 0.95, .deadline_s = 50'000, .epochs = 300}, 0);
  int trainings = 0;
  for (const PastRun& whole : probes.known(1e12)) {
    if (whole.told != Told::run) continue;
    ++trainings;
    const auto read_by = [&](double at_s) {
      for (const PastRun& run : probes.known(at_s))
        if (run.told == Told::run && run.batch_size == whole.batch_size) return run;
      return PastRun();
    };
    double before_s = 0, end_s = 1e7;
    for (int i = 0; i < 100; ++i) {
      const double middle_s = (before_s + end_s) / 2;
      (read_by(middle_s).curve.size() == whole.curve.size() ? end_s : before_s) = middle_s;
    }
    std::size_t c = 0;
    while (lab.candidates[c].instance != whole.instance || lab.candidates[c].run.workers != whole.workers ||
           lab.candidates[c].run.batch_size != whole.batch_size)
      ++c;
    REQUIRE(whole.curve.size() > 3);
    CHECK(read_by(end_s - 2.5 * lab.epoch_s(c)).epochs == whole.epochs - 3);  // the third last is under way
    std::size_t read = 0;
    for (double at_s = 0; at_s < end_s; at_s += end_s / 50) {
      const PastRun part = read_by(at_s);
      CHECK(part.curve.size() >= read);
      read = part.curve.size();
      CHECK(std::equal(part.curve.begin(), part.curve.end(), whole.curve.begin()));
      if (read == 0) continue;
      CHECK(part.epochs == static_cast<double>(read));
      CHECK(part.accuracy == part.curve.back());
      CHECK(part.time_s / part.epochs == Approx(whole.time_s / whole.epochs));
    }
  }
  CHECK(trainings > 0);
}

TEST_CASE("nothing is trained where a job has no choice") {
  // One configuration: whatever a training shows, it is taken. That 1 to 100 epochs cost more in the mean than in the mean of
  // three of them is no saving.
  Formula lab;
  lab.candidates = {lab.candidates.at(1)};
  ActiveProbes probes(lab.candidates, recipe(), {.envelope = {.time_noise = 0}, .reuse_jobs = 1e6}, lab);
  for (int job = 0; job < 4; ++job) probes.arrive({.floor = 0.8, .deadline_s = 50'000, .epochs = 300}, job * 1e5);
  CHECK(lab.order == std::vector<std::size_t>{0});
  CHECK(lab.trained == 0);
}

TEST_CASE("a measurement that changes no decision is worth exactly nothing, one that does what the decisions differ by") {
  int same = 0, other = 0;
  rc::prop("over all jobs and outcomes", [&](std::uint64_t seed) {
    rehearse::sim::Random random(seed);
    Formula lab;
    std::vector<PastRun> runs{recipe()};
    for (std::size_t c = 0; c < lab.candidates.size(); c += 1 + random.below(12))
      runs.push_back(lab.time_steps(c, kUnbounded).run);
    for (const char* instance : {"cheap", "fast"}) runs.push_back(lab.time_steps(instance[0] == 'c' ? 1 : 17, kUnbounded).run);
    const ActiveOptions options{.reuse_jobs = 100};
    std::vector<JobLimits> jobs;
    for (std::uint64_t j = 0; j <= random.below(3); ++j)
      jobs.push_back({.floor = random.uniform(0.3, 0.9), .deadline_s = random.uniform(500, 50'000), .epochs = 300});
    const ProbeOutlook now(lab.candidates, runs, options, jobs);
    const std::vector<ProbeOutlook::Decision> decided = now.decisions();
    const std::size_t c = random.below(lab.candidates.size()), slot = now.slot(c);
    const bool trains = random.below(2) == 0;
    const auto imagine = [&](ProbeOutlook& then, double share) {
      if (trains)
        then.imagine_training(slot, share);
      else
        then.imagine_time(c, share);
    };
    const std::vector<double> shares = now.shares_of_training(slot);
    bool changes = false;
    double saved_usd = 0;
    for (const double share : shares) {
      ProbeOutlook then = now;
      imagine(then, share);
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        const ProbeOutlook::Decision after = then.decide(j);
        if (after.candidate == decided[j].candidate) continue;
        changes = true;
        const bool was_sure = decided[j].candidate < lab.candidates.size();
        saved_usd += (was_sure ? then.expected_usd(j, decided[j].candidate) : after.unsure_usd) - after.usd;
      }
    }
    saved_usd /= static_cast<double>(shares.size() * jobs.size());
    const Foreseen foreseen = foresee(decided, now, shares, imagine);
    if (changes)
      RC_ASSERT(std::abs(foreseen.saved_usd() - saved_usd) <= 1e-9 * foreseen.unaware_usd);
    else
      RC_ASSERT(foreseen.saved_usd() == 0);
    (changes ? other : same) += 1;
  });
  CHECK(same > 5);
  CHECK(other > 5);
}

TEST_CASE("it thinks again for a job that asks for more than any before, and for others ever more seldom") {
  const auto thinks = [](double floor, double deadline_s) {
    Formula lab;
    // Nothing but the first times can be paid for, so that no training ends either.
    ActiveProbes probes(lab.candidates, recipe(), {.reuse_jobs = 1000, .budget = 0}, lab);
    for (const double at_s : {0.0, 1e5}) probes.arrive({.floor = 0.5, .deadline_s = 5000, .epochs = 300}, at_s);
    const std::size_t before = lab.asked.size();
    probes.arrive({.floor = floor, .deadline_s = deadline_s, .epochs = 300}, 2e5);
    return lab.asked.size() > before;
  };
  CHECK_FALSE(thinks(0.5, 5000));
  CHECK_FALSE(thinks(0.4, 5000));
  CHECK_FALSE(thinks(0.5, 6000));
  CHECK(thinks(0.6, 5000));
  CHECK(thinks(0.5, 4000));
}

TEST_CASE("a training that ended before a later job's floor goes on, and one under way is not begun again") {
  Formula lab;
  ActiveProbes probes(lab.candidates, recipe(), {.envelope = {.time_noise = 0.02}, .reuse_jobs = 10'000}, lab);
  const auto arrive = [&](double floor, double at_s) {
    lab.trainings.clear();
    probes.arrive({.floor = floor, .deadline_s = 50'000, .epochs = 300}, at_s);
  };
  arrive(0.3, 0);
  const auto begun = lab.trainings;
  REQUIRE(!begun.empty());
  double first_end_s = 0;
  const auto ended = [&](double at_s) {
    const std::vector<PastRun> runs = probes.known(at_s);
    return std::any_of(runs.begin(), runs.end(), [](const PastRun& run) { return run.told == Told::run; });
  };
  while (!ended(first_end_s)) ++first_end_s;
  arrive(0.35, first_end_s - 2);
  const auto is_of_same_batch = [&](const Formula::Training& a, const Formula::Training& b) {
    return lab.candidates[a.candidate].run.batch_size == lab.candidates[b.candidate].run.batch_size;
  };
  for (const auto& again : lab.trainings)
    CHECK(std::none_of(begun.begin(), begun.end(), [&](const auto& other) { return is_of_same_batch(other, again); }));
  // All have ended, some where the recipe ends: short of the last of these floors.
  for (const double floor : {0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9}) arrive(floor, 1e7 * (1 + floor));
  CHECK(std::any_of(lab.trainings.begin(), lab.trainings.end(), [&](const auto& again) {
    return again.until == 0.9 &&
           std::any_of(begun.begin(), begun.end(), [&](const auto& other) { return is_of_same_batch(other, again); });
  }));
}

namespace {

/// Goes on where the last training of a batch has ended: what has been read stays read, and is not paid for again.
class GoesOn final : public Laboratory {
 public:
  double price_usd(std::size_t c, double held_s) const override { return formula.price_usd(c, held_s); }
  Measured time_steps(std::size_t c, double most_s) override { return formula.time_steps(c, most_s); }
  Measured train(std::size_t c, double until, double epochs, double most_s) override {
    PastRun& before = trained[formula.candidates[c].run.batch_size];
    Measured now = formula.train(c, until, epochs, most_s + before.epochs * formula.epoch_s(c));
    if (now.run.epochs <= before.epochs) now.run = before;
    nothing_new += now.run.epochs == before.epochs;
    now.held_s = kStart + (now.run.epochs - before.epochs) * formula.epoch_s(c);
    now.usd = price_usd(c, now.held_s);
    before = now.run;
    return now;
  }
  Formula formula;
  std::map<double, PastRun> trained;
  int nothing_new = 0;
};

}  // namespace

TEST_CASE("a training that goes on though it has read all that it was to read: what is known stays known") {
  GoesOn lab;
  ActiveProbes probes(lab.formula.candidates, recipe(), {.envelope = {.time_noise = 0.02}, .reuse_jobs = 10'000}, lab);
  double now_s = 0;
  for (double floor = 0.3; floor < 0.9; floor += 0.01, now_s += 1e6) {
    probes.arrive({.floor = floor, .deadline_s = 50'000, .epochs = 300}, now_s);
    std::map<double, PastRun> known;
    for (const PastRun& run : probes.known(now_s + 1e6))
      if (run.told == Told::run) CHECK(known.emplace(run.batch_size, run).second);
    CHECK(known.size() == lab.trained.size());
    for (const auto& [batch, run] : lab.trained) CHECK(known[batch].curve == run.curve);
  }
  CHECK(lab.nothing_new > 0);
}

namespace {

/// What times are worth buying, by going through all of them: for one job that trains so many epochs whatever the batch, exact
/// measurements and no margins. Its own reckoning of bounds, worth and prices.
class PlainChooser {
 public:
  PlainChooser(const Formula& lab, const JobLimits& job, double reuse, double budget)
      : lab_(lab), job_(job), reuse_(reuse), budget_(budget), times_(lab.candidates.size(), {-kUnbounded, kUnbounded}) {}

  struct Outcome {
    std::vector<std::size_t> order;
    double usd = 0, wait_s = 0;
  };

  Outcome decide() {
    std::map<std::string, std::size_t> first;  // of each instance, the fewest workers
    for (std::size_t c = 0; c < times_.size(); ++c) {
      const auto [known, is_new] = first.emplace(lab_.candidates[c].instance, c);
      if (lab_.candidates[c].run.workers < lab_.candidates[known->second].run.workers) known->second = c;
    }
    std::vector<std::size_t> wave;
    for (const auto& [instance, c] : first) wave.push_back(c);
    measure(wave, 0);
    for (int wave_number = 0; wave_number < 4; ++wave_number) {
      const double soonest = soonest_s();
      wave = next_wave();
      if (wave.empty()) break;
      measure(wave, soonest);
    }
    return outcome_;
  }

 private:
  using Times = std::vector<LogBounds>;
  const ProbeCandidate& candidate(std::size_t c) const { return lab_.candidates[c]; }
  double usd(std::size_t c, double held_s) const { return candidate(c).usd_per_s * held_s; }

  /// After a time of c has shown so much.
  Times learned(Times times, std::size_t c, double log_s) const {
    const auto log_of = [this](std::size_t i) {
      return std::pair(std::log(candidate(i).run.workers), std::log(candidate(i).run.batch_size));
    };
    const TimePoint point{.workers = log_of(c).first, .batch = log_of(c).second, .seconds = log_s};
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (candidate(i).instance != candidate(c).instance) continue;
      const auto [workers, batch] = log_of(i);
      const double low = std::max(times[i].low, low_from(point, {}, workers, batch));
      const double high = std::min(times[i].high, high_from(point, {}, workers, batch));
      times[i] = low <= high ? LogBounds{low, high} : LogBounds{(low + high) / 2, (low + high) / 2};
    }
    return times;
  }

  double expected_s(const LogBounds& t) const {
    const double mean = t.width() < 1e-6 ? std::exp(t.middle()) : (std::exp(t.high) - std::exp(t.low)) / t.width();
    return kStart + job_.epochs * kExamples * mean;
  }
  double safe_s(const LogBounds& t) const { return kStart + job_.epochs * kExamples * std::exp(t.high); }
  double least_s(const LogBounds& t) const { return kStart + job_.epochs * kExamples * std::exp(t.low); }

  /// The job's choice; none: size.
  std::size_t choice(const Times& times) const {
    std::size_t best = times.size();
    double least = kUnbounded;
    for (std::size_t c = 0; c < times.size(); ++c) {
      if (std::isinf(times[c].high) || safe_s(times[c]) > job_.deadline_s) continue;
      const double ranked = (usd(c, expected_s(times[c])) + usd(c, safe_s(times[c]))) / 2;
      if (ranked < least) best = c;
      least = std::min(least, ranked);
    }
    return best;
  }
  /// Money of a choice; without one twice that of the fastest.
  double money(const Times& times, std::size_t chosen) const {
    if (chosen < times.size()) return usd(chosen, expected_s(times[chosen]));
    std::vector<std::pair<double, double>> all;
    for (std::size_t c = 0; c < times.size(); ++c)
      if (!std::isinf(times[c].high)) all.emplace_back(expected_s(times[c]), usd(c, expected_s(times[c])));
    return 2 * std::min_element(all.begin(), all.end())->second;
  }
  double worth(const Times& times) const { return money(times, choice(times)); }
  /// What today's choice costs more than tomorrow's, in the mean of what c's time may show.
  double worth_of_knowing(const Times& times, std::size_t c, const std::vector<double>& shares) const {
    double sum = 0;
    for (const double share : shares) {
      const Times then = learned(times, c, times[c].low + share * times[c].width());
      sum += money(then, choice(times)) - money(then, choice(then));
    }
    return sum / static_cast<double>(shares.size());
  }

  double soonest_s() const {
    double soonest = kUnbounded;
    for (const LogBounds& t : times_) soonest = std::min(soonest, safe_s(t));
    return soonest;
  }

  double price(const Times& times, std::size_t c) const {
    return usd(c, kStart + std::max(5.0, 50 * candidate(c).run.batch_size * std::exp(times[c].middle())));
  }

  std::vector<std::size_t> next_wave() {
    std::vector<std::size_t> wave;
    Times times = times_;
    double left = budget_ * reuse_ * worth(times) - outcome_.usd;
    while (wave.size() < 8) {
      const double now = worth(times);
      std::vector<std::pair<double, std::size_t>> tried;
      for (std::size_t c = 0; c < times.size(); ++c) {
        const bool is_timed =
            std::count(outcome_.order.begin(), outcome_.order.end(), c) + std::count(wave.begin(), wave.end(), c) > 0;
        if (is_timed || times[c].width() < 1e-3 || least_s(times[c]) > job_.deadline_s) continue;
        if (usd(c, least_s(times[c])) < now) tried.emplace_back(usd(c, least_s(times[c])), c);
      }
      std::sort(tried.begin(), tried.end());
      double most = 0;
      std::size_t best = times.size();
      const auto consider = [&](std::size_t c, double saved, double price_usd) {
        if (reuse_ * saved - price_usd <= most || price_usd > left) return;
        most = reuse_ * saved - price_usd;
        best = c;
      };
      for (const auto& [least, c] : tried) consider(c, worth_of_knowing(times, c, {1.0 / 6, 0.5, 5.0 / 6}), price(times, c));
      // Together with a training, which says nothing here.
      for (std::size_t i = 0; i < std::min<std::size_t>(8, tried.size()) && best == times.size(); ++i) {
        const std::size_t c = tried[i].second;
        consider(c, worth_of_knowing(times, c, {0.5}), price(times, c) + usd(c, expected_s(times[c])));
      }
      if (best == times.size()) break;
      left -= price(times, best);
      wave.push_back(best);
      times = learned(times, best, times[best].middle());
    }
    return wave;
  }

  void measure(const std::vector<std::size_t>& wave, double soonest) {
    double end_s = now_s_;
    for (const std::size_t c : wave) {
      const double step_s = lab_.epoch_s(c) / kExamples * candidate(c).run.batch_size;
      const double most_s = std::isinf(times_[c].high) ? 6 : candidate(c).run.batch_size * std::exp(times_[c].high);
      const double held_s = kStart + std::max(5.0, 50 * std::min(step_s, most_s));
      outcome_.order.push_back(c);
      outcome_.usd += usd(c, held_s);
      end_s = std::max(end_s, now_s_ + held_s);
    }
    for (const std::size_t c : wave) times_ = learned(times_, c, std::log(lab_.epoch_s(c) / kExamples));
    waits_ = waits_ && end_s + soonest <= job_.deadline_s;
    if (waits_) outcome_.wait_s = end_s;
    now_s_ = end_s;
  }

  const Formula& lab_;
  const JobLimits job_;
  const double reuse_, budget_;
  Times times_;
  Outcome outcome_;
  double now_s_ = 0;
  bool waits_ = true;
};

}  // namespace

TEST_CASE("what is measured is what going through all of it finds worth its price, and no more") {
  int beyond_the_first = 0, stopped = 0;
  rc::prop("order, money and waiting", [&](std::uint64_t seed) {
    rehearse::sim::Random random(seed);
    Formula lab;
    while (lab.candidates.size() > 7)
      lab.candidates.erase(lab.candidates.begin() + static_cast<std::ptrdiff_t>(random.below(lab.candidates.size())));
    for (ProbeCandidate& c : lab.candidates) {
      c.usd_per_s *= random.uniform(0.3, 3);
      c.run.batch_size *= random.uniform(0.8, 1.2);  // of two that are alike rounding would decide
    }
    const double epochs = 1 + static_cast<double>(random.below(50));
    // What is measured is in time: of what is not, the quickest counts, and bounds make several equally quick.
    double slowest_s = 0;
    for (std::size_t c = 0; c < lab.candidates.size(); ++c) slowest_s = std::max(slowest_s, kStart + epochs * lab.epoch_s(c));
    const JobLimits job{.floor = std::nan(""),
                        .deadline_s = random.below(3) == 0 ? kUnbounded : slowest_s * random.uniform(1, 3),
                        .epochs = epochs};
    const ActiveOptions options{.envelope = {.time_noise = 0},
                                .margins = {.time = 0, .epochs = 0},
                                .reuse_jobs = std::exp(random.uniform(0, 9)),
                                .budget = random.uniform(0, 0.1)};
    ActiveProbes probes(lab.candidates, {}, options, lab);
    const double wait_s = probes.arrive(job, 0);
    const PlainChooser::Outcome plain = PlainChooser(lab, job, options.reuse_jobs, options.budget).decide();
    RC_ASSERT(lab.order == plain.order);
    RC_ASSERT(std::abs(probes.cost_usd() - plain.usd) <= 1e-9 * plain.usd);
    RC_ASSERT(std::abs(wait_s - plain.wait_s) <= 1e-9 * (1 + plain.wait_s));
    std::set<std::string> instances;
    for (const ProbeCandidate& c : lab.candidates) instances.insert(c.instance);
    beyond_the_first += plain.order.size() > instances.size();
    stopped += plain.order.size() < lab.candidates.size();
  });
  CHECK(beyond_the_first > 5);
  CHECK(stopped > 5);
}
