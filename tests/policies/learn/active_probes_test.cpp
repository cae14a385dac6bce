// What is measured because it repays itself: in a laboratory whose truth is a formula.
#include "policies/learn/active_probes.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "sim/base/errors.hpp"

using namespace rehearse::policies;

namespace {

constexpr double kExamples = 50'000, kStart = 30;

/// Instance "fast" takes a third of the time at four times the price. Batch 512 is far beyond what training needs.
class Formula final : public Laboratory {
 public:
  Formula() {
    for (const char* instance : {"cheap", "fast"})
      for (const int workers : {1, 2, 4, 8})
        for (const double batch : {32.0, 128.0, 512.0, 2048.0})
          candidates.push_back({.run = {.workers = workers, .batch_size = batch, .samples = kExamples},
                                .instance = instance,
                                .usd_per_s = workers * (instance[0] == 'c' ? 1e-4 : 4e-4),
                                .start_s = kStart});
  }
  double epoch_s(std::size_t c) const {
    const PlannedRun& run = candidates[c].run;
    const double slower = candidates[c].instance == "cheap" ? 3 : 1;
    return slower * kExamples * (2e-3 / run.workers + 0.02 / run.batch_size);
  }
  double epochs_to(double batch, double accuracy) const { return 20 * accuracy / (1 - accuracy) * (1 + batch / 512) / 2; }

  bool is_too_large(std::size_t c) const { return candidates[c].run.batch_size / candidates[c].run.workers > most_samples; }

  double price_usd(std::size_t candidate, double held_s) const override { return candidates[candidate].usd_per_s * held_s; }
  Measured time_steps(std::size_t c, double most_s) override {
    ++timed;
    if (is_too_large(c)) {
      ++refused;
      usd += price_usd(c, kStart);
      return {.run = run(c, Told::out_of_memory, 0), .held_s = kStart, .usd = price_usd(c, kStart)};
    }
    const double wanted_s = kStart + std::max(5.0, 50 * epoch_s(c) / kExamples * candidates[c].run.batch_size);
    return paid(c, run(c, Told::steps, 1), overcharges ? wanted_s + most_s : std::min(wanted_s, most_s));
  }
  Measured train(std::size_t c, double until, double epochs, double most_s) override {
    ++trained;
    PastRun made = run(c, Told::run, 0);
    const double half = epochs_to(candidates[c].run.batch_size, 0.5);
    int reached = 0;
    const double affordable = std::floor((most_s - kStart) / epoch_s(c));
    while (static_cast<double>(made.curve.size()) < std::min(epochs, affordable) && reached < 2) {
      const double e = static_cast<double>(made.curve.size()) + 1;
      made.curve.push_back(e / (half + e));
      reached = made.curve.back() >= until ? reached + 1 : 0;
    }
    made.epochs = static_cast<double>(made.curve.size());
    made.accuracy = made.curve.back();
    made.time_s = made.epochs * epoch_s(c);
    return paid(c, made, kStart + made.time_s);
  }

  std::vector<ProbeCandidate> candidates;
  int timed = 0, trained = 0, refused = 0;
  double most_samples = rehearse::policies::kUnbounded;  ///< of a worker
  double usd = 0;
  bool overcharges = false;

 private:
  PastRun run(std::size_t c, Told told, double epochs) const {
    return {.model = "m",
            .dataset = "d",
            .instance = candidates[c].instance,
            .workers = candidates[c].run.workers,
            .batch_size = candidates[c].run.batch_size,
            .samples = kExamples,
            .epochs = epochs,
            .time_s = epoch_s(c) * epochs,
            .told = told};
  }
  Measured paid(std::size_t c, PastRun of, double held_s) {
    Measured measured{.fits = true, .run = std::move(of), .held_s = held_s, .usd = price_usd(c, held_s)};
    usd += measured.usd;
    return measured;
  }
};

PastRun recipe() {
  return {.model = "m", .dataset = "d", .batch_size = 128, .samples = kExamples, .epochs = 100, .told = Told::recipe};
}

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
