// Which times and trainings are bought, in which order, for how long, and how long jobs wait for them: held against going through
// all of them. What decisions are worth is ProbeOutlook's, which active_probes_test.cpp holds against its own reckoning.
#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "policies/learn/active_probes.hpp"
#include "sim/base/random.hpp"
#include "tests/policies/learn/formula_laboratory.hpp"

using namespace rehearse::policies;
using test::Formula, test::kStart;

namespace {

/// Goes the same way with a laboratory of its own. What is known at a date it asks of the other: that is tested elsewhere.
class PlainBuyer {
 public:
  PlainBuyer(const Formula& other, const ActiveOptions& options, const ActiveProbes& probes)
      : lab(other), options_(options), probes_(probes), timed_(other.candidates.size(), false) {}

  /// Seconds that the job waits.
  double arrive(const JobLimits& job, double now_s) {
    jobs_.push_back(job);
    const double waited_s = thinks(job, now_s) ? buy(job, now_s) : 0;
    return waits(job, now_s, waited_s);
  }

  Formula lab;

 private:
  struct Pending {
    double batch = 0, known_s = 0, expected_s = 0;
  };
  struct Trained {
    double epochs = 0, reached = 0, end_s = 0;
  };

  ProbeOutlook outlook(double at_s, std::vector<JobLimits> of) const {
    return ProbeOutlook(lab.candidates, probes_.known(at_s), options_, std::move(of));
  }
  double batch(std::size_t c) const { return lab.candidates[c].run.batch_size; }
  double price(std::size_t c, double held_s) const { return lab.candidates[c].usd_per_s * (kStart + held_s); }
  double to_come() const { return std::max(0.0, options_.reuse_jobs + 1 - static_cast<double>(jobs_.size())); }
  double left(const ProbeOutlook& now) const {
    return std::isinf(now.worth_usd()) ? 0 : options_.budget * options_.reuse_jobs * now.worth_usd() - lab.usd;
  }

  /// Five jobs at most: by deadline, the one in the middle of each fifth.
  std::vector<JobLimits> typical() const {
    if (jobs_.size() <= 5) return jobs_;
    std::vector<JobLimits> sorted = jobs_, middles;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.deadline_s < b.deadline_s; });
    for (const double middle : {0.1, 0.3, 0.5, 0.7, 0.9})
      middles.push_back(sorted[static_cast<std::size_t>(middle * static_cast<double>(sorted.size()) + 1e-9)]);
    return middles;
  }

  /// Not while steps are timed; else when a training has ended, for more than any job before, and for twice as many jobs.
  bool thinks(const JobLimits& job, double now_s) {
    if (now_s < busy_until_s_) return false;
    const auto ended = std::count_if(trainings_.begin(), trainings_.end(), [&](const Pending& p) { return p.known_s <= now_s; });
    const bool more = job.floor > most_floor_ || job.deadline_s < least_deadline_s_;
    if (ended == ended_ && !more && jobs_.size() < again_at_) return false;
    ended_ = ended;
    again_at_ = 2 * jobs_.size();
    most_floor_ = std::max(most_floor_, job.floor);
    least_deadline_s_ = std::min(least_deadline_s_, job.deadline_s);
    return true;
  }

  double buy(const JobLimits& job, double now_s) {
    double at_s = now_s, waited_s = 0;
    bool waits = true;
    const auto measured = [&](const std::vector<std::size_t>& wave, const ProbeOutlook& now, double soonest) {
      double end_s = at_s;
      for (const std::size_t c : wave) {
        timed_[c] = true;
        end_s = std::max(end_s, at_s + lab.time_steps(c, kStart + std::max(5.0, 50 * now.longest_step_s(c))).held_s);
      }
      at_s = end_s;
      waits = waits && at_s - now_s + soonest <= job.deadline_s;
      if (waits) waited_s = at_s - now_s;
    };
    if (std::count(timed_.begin(), timed_.end(), true) == 0) measured(first(), outlook(at_s, jobs_), 0);
    for (int wave = 0; wave < 4; ++wave) {
      const ProbeOutlook now = outlook(at_s, typical());
      const double soonest = outlook(at_s, {job}).soonest_s(0);
      const std::vector<std::size_t> chosen = times_worth_buying(now);
      if (chosen.empty()) break;
      measured(chosen, now, soonest);
    }
    busy_until_s_ = at_s;
    train(at_s);
    return waited_s;
  }

  /// Of each instance the batch nearest to the recipe's, then the fewest workers.
  std::vector<std::size_t> first() const {
    std::map<std::string, std::size_t> found;
    const auto far = [&](std::size_t c) {
      return std::pair(std::abs(std::log(batch(c)) - std::log(test::recipe().batch_size)), lab.candidates[c].run.workers);
    };
    for (std::size_t c = lab.candidates.size(); c-- > 0;) {  // of those alike the first
      const auto [at, is_new] = found.emplace(lab.candidates[c].instance, c);
      if (far(c) <= far(at->second)) at->second = c;
    }
    std::vector<std::size_t> wave;
    for (const auto& [instance, c] : found) wave.push_back(c);
    return wave;
  }

  /// About the epochs of a training of a batch: of the job that asks for most, the middle of what is possible.
  double epochs_about(const ProbeOutlook& now, std::size_t slot) const {
    double most = 0;
    for (std::size_t j = 0; j < now.limits().size(); ++j)
      most = std::max(most, (now.epochs(j, slot).low + now.likely_high(j, slot)) / 2);
    return std::exp(most);
  }

  /// The largest of what is saved less its price, if any is above 0 and there is money for it.
  struct Best {
    std::size_t candidate;
    double net = 0;
    void consider(std::size_t c, double saved_usd, double price_usd, double left_usd) {
      if (saved_usd - price_usd <= net || price_usd > left_usd) return;
      net = saved_usd - price_usd;
      candidate = c;
    }
  };

  std::vector<std::size_t> times_worth_buying(const ProbeOutlook& now) {
    ProbeOutlook imagined = now;
    std::vector<std::size_t> wave;
    double left_usd = left(now);
    const std::size_t none = lab.candidates.size();
    while (wave.size() < 8) {
      const auto decided = imagined.decisions();
      std::vector<std::pair<double, std::size_t>> tried;
      for (std::size_t c = 0; c < none; ++c) {
        double least = kUnbounded;
        for (std::size_t j = 0; j < decided.size(); ++j)
          if (imagined.may_keep(j, c)) least = std::min(least, imagined.least_usd(j, c) / decided[j].usd);
        const bool is_in_wave = std::find(wave.begin(), wave.end(), c) != wave.end();
        if (!timed_[c] && !is_in_wave && imagined.time(c).width() >= 1e-3 && least < 1) tried.emplace_back(least, c);
      }
      std::sort(tried.begin(), tried.end());
      const auto steps_usd = [&](std::size_t c) {
        return price(c, std::max(5.0, std::exp(imagined.time(c).middle()) * batch(c) * 50));
      };
      Best best{none};
      for (const auto& [least, c] : tried) {
        const auto imagine = [c = c](ProbeOutlook& then, double share) { then.imagine_time(c, share); };
        best.consider(c, to_come() * foresee(decided, imagined, kImaginedShares, imagine).saved_usd(), steps_usd(c), left_usd);
      }
      for (std::size_t i = 0; best.candidate == none && i < std::min<std::size_t>(8, tried.size()); ++i) {
        const std::size_t c = tried[i].second, slot = imagined.slot(c);
        const auto both = [&](ProbeOutlook& then, double share) {
          then.imagine_time(c, 0.5);
          then.imagine_training(slot, share);
        };
        const double saved = foresee(decided, imagined, imagined.shares_of_training(slot), both).saved_usd();
        const double train_usd = price(c, epochs_about(imagined, slot) * imagined.epoch_s(c));
        best.consider(c, to_come() * saved, steps_usd(c) + train_usd, left_usd);
        paired_ += best.candidate != none;
      }
      if (best.candidate == none) break;
      left_usd -= steps_usd(best.candidate);
      wave.push_back(best.candidate);
      imagined.imagine_time(best.candidate, 0.5);
    }
    return wave;
  }

  void train(double at_s) {
    double until = 0, cap = 1;
    for (const JobLimits& job : jobs_) {
      until = std::max(until, job.floor);
      cap = std::max(cap, job.epochs);
    }
    const ProbeOutlook now = outlook(at_s, typical());
    ProbeOutlook imagined = now;
    const double small_usd = 0.002 * to_come() * now.worth_usd();
    std::set<std::size_t> closed;
    for (std::size_t slot = 0; slot < now.batches(); ++slot) {
      const std::size_t c = first_of(slot);
      const auto known = trained_.find(batch(c));
      if (known == trained_.end()) continue;
      if (known->second.end_s > at_s) imagined.imagine_training(slot, 0.5);
      if (known->second.end_s > at_s || known->second.reached >= until) closed.insert(slot);
    }
    for (int bought = 0; bought < 8; ++bought) {
      const auto decided = imagined.decisions();
      Best best{lab.candidates.size()};
      double epochs_of_best = 0, about_of_best = 0;
      for (std::size_t slot = 0; slot < now.batches(); ++slot) {
        double width = 0, most = 0;
        for (std::size_t j = 0; j < now.limits().size(); ++j) {
          width = std::max(width, imagined.epochs(j, slot).width());
          most = std::max(most, now.likely_high(j, slot));
        }
        const double about = epochs_about(imagined, slot);
        const std::size_t c = now.trainer_of(slot, small_usd / about);
        if (closed.contains(slot) || c == lab.candidates.size() || width < 3 * options_.envelope.epoch_noise + 0.05) continue;
        const auto imagine = [slot](ProbeOutlook& then, double share) { then.imagine_training(slot, share); };
        const double saved = foresee(decided, imagined, imagined.shares_of_training(slot), imagine).saved_usd();
        const double more = std::max(1.0, about - trained_[batch(c)].epochs);
        const double before = best.net;
        best.consider(c, to_come() * saved, price(c, more * now.epoch_s(c)), left(now));
        if (best.net == before) continue;
        epochs_of_best = std::min(cap, std::ceil(std::exp(most)));
        about_of_best = std::min(cap, about);
      }
      const std::size_t c = best.candidate;
      if (c == lab.candidates.size()) return;
      closed.insert(now.slot(c));
      imagined.imagine_training(now.slot(c), 0.5);
      const double end_s = train_one(now, c, until, epochs_of_best, about_of_best, at_s);
      // Where it has got there, on to the recipe's end for small change.
      const double whole = std::min(cap, test::recipe().epochs), more = whole - trained_[batch(c)].epochs;
      if (trained_[batch(c)].reached == 0 || more < 1) continue;
      if (price(c, more * now.epoch_s(c)) > std::min(small_usd, left(now))) continue;
      train_one(now, c, 1, whole, whole, end_s);
      ++gone_on_;
    }
  }

  std::size_t first_of(std::size_t slot) const {
    std::size_t c = 0;
    while (std::log(batch(c)) != slots_of(slot)) ++c;
    return c;
  }
  /// Batches are numbered in the order in which candidates name them.
  double slots_of(std::size_t slot) const {
    std::vector<double> seen;
    for (std::size_t c = 0; c < lab.candidates.size(); ++c)
      if (std::find(seen.begin(), seen.end(), batch(c)) == seen.end()) seen.push_back(batch(c));
    return std::log(seen.at(slot));
  }

  /// When it ends.
  double train_one(const ProbeOutlook& now, std::size_t c, double until, double epochs, double about, double at_s) {
    Trained& of = trained_[batch(c)];
    const double most_s = kStart + std::max(1.0, epochs - of.epochs) * now.longest_epoch_s(c);
    const Laboratory::Measured measured = lab.train(c, until, epochs, most_s);
    if (!measured.fits) {
      of.reached = 1;
      ++diverged_;
      return at_s;
    }
    const std::vector<double>& curve = measured.run.curve;
    const bool twice = curve.size() > 1 && curve.back() >= until && curve[curve.size() - 2] >= until;
    const double expected_s = at_s + kStart + std::max(1.0, about - of.epochs) * now.epoch_s(c);
    of = {measured.run.epochs, twice ? until : of.reached, at_s + measured.held_s};
    trainings_.push_back({batch(c), of.end_s, expected_s});
    return of.end_s;
  }

  /// For the trainings under way that are expected first, as long as some choice keeps the deadline and a tenth is saved by each
  /// more.
  double waits(const JobLimits& job, double now_s, double waited_s) {
    std::vector<Pending> pending;
    for (const Pending& p : trainings_)
      if (p.known_s > now_s + waited_s) pending.push_back(p);
    std::stable_sort(pending.begin(), pending.end(), [](const auto& a, const auto& b) { return a.expected_s < b.expected_s; });
    const auto after = [&](double wait_s) {
      JobLimits later = job;
      later.deadline_s -= wait_s;
      return outlook(now_s + waited_s, {later});
    };
    const ProbeOutlook now = outlook(now_s + waited_s, {job});
    double soonest = now.soonest_s(0);
    if (soonest > job.deadline_s)
      for (std::size_t c = 0; c < lab.candidates.size(); ++c) soonest = std::min(soonest, now.expected_s(0, c));
    const double latest_s = std::isinf(job.deadline_s) ? kUnbounded : 0.5 * (job.deadline_s - soonest);
    const auto decided = after(waited_s).decisions();
    double best = 1, best_s = waited_s;
    for (std::size_t k = 0; k < pending.size(); ++k) {
      const double wait_s = std::max(waited_s, pending[k].expected_s - now_s);
      if (wait_s > latest_s) break;
      const Foreseen foreseen = foresee(decided, after(wait_s), kImaginedShares, [&](ProbeOutlook& then, double share) {
        for (std::size_t i = 0; i <= k; ++i)
          for (std::size_t slot = 0; slot < then.batches(); ++slot)
            if (slots_of(slot) == std::log(pending[i].batch)) then.imagine_training(slot, share);
      });
      const double part = foreseen.aware_usd / foreseen.unaware_usd;
      if (!(part < 0.9 * best)) continue;
      best = part;
      best_s = std::max(waited_s, std::min(pending[k].known_s - now_s, latest_s));
      ++waited_;
    }
    return best_s;
  }

  const ActiveOptions& options_;
  const ActiveProbes& probes_;
  std::vector<JobLimits> jobs_;
  std::vector<bool> timed_;
  std::vector<Pending> trainings_;
  std::map<double, Trained> trained_;  // by batch
  double busy_until_s_ = -kUnbounded, most_floor_ = 0, least_deadline_s_ = kUnbounded;
  std::ptrdiff_t ended_ = 0;
  std::size_t again_at_ = 1;

 public:
  int paired_ = 0, gone_on_ = 0, diverged_ = 0, waited_ = 0;  ///< how often what is rare has happened
};

}  // namespace

TEST_CASE("times and trainings are bought, and waited for, as going through all of them finds") {
  std::size_t trained = 0;
  int paired = 0, gone_on = 0, diverged = 0, waited = 0, again = 0;
  rc::prop("order, lengths, money and waiting", [&](std::uint64_t seed) {
    rehearse::sim::Random random(seed);
    Formula lab;
    while (lab.candidates.size() > 8)
      lab.candidates.erase(lab.candidates.begin() + static_cast<std::ptrdiff_t>(random.below(lab.candidates.size())));
    for (ProbeCandidate& c : lab.candidates) c.usd_per_s *= random.uniform(0.3, 3);
    if (random.below(4) == 0) lab.most_trainable = 200;
    const ActiveOptions options{.envelope = {.time_noise = 0.02 * static_cast<double>(random.below(2)), .epoch_noise = 0.05},
                                .reuse_jobs = std::exp(random.uniform(2, 10)),
                                .budget = random.uniform(0.01, 0.3)};
    ActiveProbes probes(lab.candidates, test::recipe(), options, lab);
    PlainBuyer plain(lab, options, probes);
    double now_s = 0;
    const std::uint64_t jobs = 1 + random.below(9);
    for (std::uint64_t j = 0; j < jobs; ++j) {
      // A fourth is reached by the first two readings.
      const JobLimits job{.floor = random.below(4) == 0 ? random.uniform(0.01, 0.1) : random.uniform(0.3, 0.95),
                          .deadline_s = random.below(4) == 0 ? kUnbounded : std::exp(random.uniform(6, 12)),
                          .epochs = 20 + static_cast<double>(random.below(300))};
      const double wait_s = probes.arrive(job, now_s), plain_s = plain.arrive(job, now_s);
      RC_ASSERT(lab.order == plain.lab.order);
      RC_ASSERT(lab.trainings == plain.lab.trainings);
      RC_ASSERT(std::abs(probes.cost_usd() - plain.lab.usd) <= 1e-9 * plain.lab.usd);
      RC_ASSERT(std::abs(wait_s - plain_s) <= 1e-9 * (1 + plain_s));
      again += j > 0 && !lab.trainings.empty();
      now_s += std::exp(random.uniform(3, 12));
    }
    trained += lab.trainings.size();
    paired += plain.paired_;
    gone_on += plain.gone_on_;
    diverged += plain.diverged_;
    waited += plain.waited_;
  });
  CAPTURE(trained, paired, gone_on, diverged, waited, again);
  CHECK(trained > 50);
  CHECK(std::min({paired, gone_on, diverged, waited, again}) > 5);
}
