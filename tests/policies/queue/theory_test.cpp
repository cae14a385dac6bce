// Mean waits against queueing theory, with exact seeds: the theoretical mean lies in the 99 % confidence interval of ten
// replications.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "policies/queue/line_orders.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"
#include "tests/sim/replay/toy.hpp"

using namespace rehearse::policies;
using namespace toy;

namespace {

/// One-GPU jobs at exponential gaps; `draw` gives each its duration and whatever else.
class Arrivals final : public JobSource {
 public:
  Arrivals(std::uint64_t seed, double mean_gap_s, int jobs, std::function<void(Random&, Job&)> draw)
      : random_(seed), mean_gap_s_(mean_gap_s), left_(jobs), draw_(std::move(draw)) {}
  std::optional<Job> next() override {
    if (left_-- <= 0) return std::nullopt;
    Job job = rigid(std::to_string(left_), date_s_ += random_.exponential(mean_gap_s_), 1, 0);
    draw_(random_, job);
    return job;
  }

 private:
  Random random_;
  double mean_gap_s_;
  int left_;
  std::function<void(Random&, Job&)> draw_;
  double date_s_ = 0;
};

/// Mean wait before the start, and mean time to the end, of the jobs after the warm-up that belong to a class.
class Waits final : public Recorder {
 public:
  explicit Waits(double priority) : priority_(priority) {}
  void on_job(const JobRecord& record) override {
    if (record.number < 2000 || record.job->priority != priority_) return;
    waited_s_ += record.end_s - record.job->submit_s - record.job->duration_s;
    ++jobs_;
  }
  double mean() const { return waited_s_ / jobs_; }

 private:
  double priority_;
  double waited_s_ = 0;
  int jobs_ = 0;
};

struct Case {
  int servers = 1;
  double mean_gap_s = 1;
  std::function<void(Random&, Job&)> draw;
  std::function<std::unique_ptr<Queue>()> queue = [] { return std::make_unique<Fifo>(); };
  double priority = 0;  ///< of the jobs that count
};

void check_mean_wait(const Case& c, double expected_s) {
  constexpr int kReplications = 10;
  double sum = 0, squares = 0;
  for (int r = 0; r < kReplications; ++r) {
    Arrivals arrivals(stream_key(1, static_cast<std::uint64_t>(r), "arrivals", "theory"), c.mean_gap_s, 22000, c.draw);
    Waits waits(c.priority);
    const Cluster one = cluster({{c.servers, 1}});
    const auto queue = c.queue();
    SameMenu menus;
    toy::DataParallel place;
    OneThread threads;
    replay({.cluster = &one,
            .policy = {.name = "theory", .configure = &menus, .place = &place, .threads = &threads, .queue = queue.get()},
            .sources = {&arrivals},
            .recorder = &waits},
           run_plain);
    sum += waits.mean();
    squares += waits.mean() * waits.mean();
  }
  const double mean = sum / kReplications;
  const double deviation = std::sqrt((squares - sum * mean) / (kReplications - 1));
  INFO("mean " << mean << " s, expected " << expected_s << " s, half width " << 3.25 * deviation / std::sqrt(kReplications));
  CHECK(std::abs(mean - expected_s) <= 3.25 * deviation / std::sqrt(kReplications));  // Student's t, 9 degrees, 99 %
  CHECK(deviation < 0.2 * expected_s);                                                // the interval says something
}

void exponential(Random& random, Job& job) { job.duration_s = random.exponential(1); }
void uniform(Random& random, Job& job) { job.duration_s = random.uniform(0.001, 2); }

}  // namespace

TEST_CASE("M/M/1: mean wait rho / (mu - lambda)", "[theory][slow]") {
  // lambda 0.7, mu 1: 0.7 / 0.3.
  check_mean_wait({.mean_gap_s = 1 / 0.7, .draw = exponential}, 0.7 / 0.3);
}

TEST_CASE("M/M/c: mean wait by Erlang's C formula", "[theory][slow]") {
  // 4 servers, a = 3: C = (27/8 x 4) / (1 + 3 + 9/2 + 27/6 + 27/8 x 4), as 3^4/4! = 27/8 and 1/(1 - 3/4) = 4; wait C / (4 - 3).
  const double c = 13.5 / (1 + 3 + 4.5 + 4.5 + 13.5);
  check_mean_wait({.servers = 4, .mean_gap_s = 1 / 3.0, .draw = exponential}, c / (4 - 3));
}

TEST_CASE("M/G/1: mean wait by Pollaczek and Khinchine", "[theory][slow]") {
  // Durations uniform from 0.001 to 2: E[S] = 1.0005, E[S^2] = (2^3 - 0.001^3)/(3 x 1.999). lambda 0.7: wait lambda E[S^2] / (2
  // (1 - rho)).
  const double squared = (8 - 1e-9) / (3 * 1.999);
  check_mean_wait({.mean_gap_s = 1 / 0.7, .draw = uniform}, 0.7 * squared / (2 * (1 - 0.7 * 1.0005)));
}

TEST_CASE("M/G/1 with priorities: Cobham's formula without preemption", "[theory][slow]") {
  // Two classes of equal rate 0.35, exponential durations: R = lambda E[S^2] / 2 = 0.7. Urgent: R / (1 - 0.35); others:
  // R / ((1 - 0.35)(1 - 0.7)). (Cobham, Operations Research 2, 1954.)
  const auto draw = [](Random& random, Job& job) {
    exponential(random, job);
    job.priority = random.below(2) == 0 ? 0 : 1;
  };
  const auto queue = [] { return std::make_unique<Priority>(PriorityParameters{.preempt = false}); };
  check_mean_wait({.mean_gap_s = 1 / 0.7, .draw = draw, .queue = queue, .priority = 1}, 0.7 / 0.65);
  check_mean_wait({.mean_gap_s = 1 / 0.7, .draw = draw, .queue = queue, .priority = 0}, 0.7 / (0.65 * 0.3));
}

TEST_CASE("M/M/1 with preemptive priorities", "[theory][slow]") {
  // Urgent jobs see a queue of their own: time in the system 1/(1 - 0.35), so they wait that less 1. Others: 1/((1 - 0.35)(1 -
  // 0.7)) less 1 (Kleinrock, Queueing Systems II, section 3.6, with mu = 1: (1/mu (1 - rho) + R)/((1 - rho_1)(1 - rho)) = (0.3 +
  // 0.7)/...).
  const auto draw = [](Random& random, Job& job) {
    exponential(random, job);
    job.priority = random.below(2) == 0 ? 0 : 1;
  };
  const auto queue = [] { return std::make_unique<Priority>(); };
  check_mean_wait({.mean_gap_s = 1 / 0.7, .draw = draw, .queue = queue, .priority = 1}, 1 / 0.65 - 1);
  check_mean_wait({.mean_gap_s = 1 / 0.7, .draw = draw, .queue = queue, .priority = 0}, 1 / (0.65 * 0.3) - 1);
}

TEST_CASE("M/M/1: shortest job first by Phipps, shortest remaining time by Schrage and Miller", "[theory][slow]") {
  // rho(x) = lambda x (load of jobs up to x) = lambda (1 - e^-x (1 + x)); E[S^2] up to x: 2 - e^-x (x^2 + 2x + 2).
  // SJF waits integral of lambda E[S^2]/2 / (1 - rho(x))^2 e^-x dx. SRPT: time in the system of a job of length x:
  // lambda (E[S^2; S <= x] + x^2 e^-x) / (2 (1 - rho(x))^2) + integral from 0 to x of dt / (1 - rho(t)).
  const double lambda = 0.7;
  double sjf = 0, srpt = 0, residence = 0;
  const double step = 1e-4;
  for (double x = step / 2; x < 40; x += step) {
    const double tail = std::exp(-x);
    const double idle = 1 - lambda * (1 - tail * (1 + x));
    const double squares = 2 - tail * (x * x + 2 * x + 2);
    sjf += lambda * 2 / 2 / (idle * idle) * tail * step;
    residence += step / idle / 2;
    srpt += (lambda * (squares + x * x * tail) / (2 * idle * idle) + residence - x) * tail * step;
    residence += step / idle / 2;
  }
  check_mean_wait({.mean_gap_s = 1 / lambda, .draw = exponential, .queue = [] { return std::make_unique<ShortestJob>(); }}, sjf);
  check_mean_wait({.mean_gap_s = 1 / lambda,
                   .draw = exponential,
                   .queue = [] { return std::make_unique<ShortestJob>(ShortestJobParameters{.preempt = true}); }},
                  srpt);
}
