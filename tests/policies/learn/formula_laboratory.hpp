// A laboratory whose truth is a formula, for tests of what is measured.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "policies/learn/active_probes.hpp"

namespace rehearse::policies::test {

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

  double price_usd(std::size_t candidate, double held_s) const override {
    asked.emplace_back(candidate, held_s);
    return candidates[candidate].usd_per_s * held_s;
  }
  Measured time_steps(std::size_t c, double most_s) override {
    ++timed;
    order.push_back(c);
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
    trainings.push_back({c, until, epochs, most_s});
    if (candidates[c].run.batch_size > most_trainable) return {};  // it diverges
    PastRun made = run(c, Told::run, 0);
    const double half = epochs_to(candidates[c].run.batch_size, 0.5);
    int reached = 0;
    const double affordable = std::floor((most_s - kStart) / epoch_s(c) * (1 + 1e-9));  // rounding takes none away
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

  struct Training {
    std::size_t candidate = 0;
    double until = 0, epochs = 0, most_s = 0;
    bool operator==(const Training&) const = default;
  };
  std::vector<ProbeCandidate> candidates;
  int timed = 0, trained = 0, refused = 0;
  std::vector<std::size_t> order;                             ///< in which steps were timed
  std::vector<Training> trainings;                            ///< that were asked for
  mutable std::vector<std::pair<std::size_t, double>> asked;  ///< what prices were asked of: candidate, seconds
  double most_samples = kUnbounded;                           ///< of a worker
  double most_trainable = kUnbounded;                         ///< batch
  double usd = 0;
  bool overcharges = false;

  /// What timing the steps of c would find, without price.
  PastRun known_time(std::size_t c) const { return run(c, Told::steps, 1); }

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

inline PastRun recipe() {
  return {.model = "m", .dataset = "d", .batch_size = 128, .samples = kExamples, .epochs = 100, .told = Told::recipe};
}

}  // namespace rehearse::policies::test
