#include "traces/jobs/workload.hpp"

#include <algorithm>
#include <cmath>

#include "tests/traces/jobs/trace_file.hpp"
#include "traces/jobs/synthetic.hpp"

using namespace rehearse;
using namespace rehearse::tests;
using Catch::Matchers::Contains;

namespace {

traces::TraceJob job(double submit_s, double gpus, double duration_s) {
  traces::TraceJob job{.job_id = "j"};
  job.submit_s = submit_s, job.gpus = gpus, job.duration_s = duration_s;
  return job;
}

/// The greatest distance between the two samples' distribution functions (Kolmogorov, Smirnov).
double ks_distance(std::vector<double> a, std::vector<double> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double most = 0;
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const double x = std::min(a[i], b[j]);
    while (i < a.size() && a[i] == x) ++i;
    while (j < b.size() && b[j] == x) ++j;
    most = std::max(most, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                   static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return most;
}

struct Sample {
  traces::Workload workload;
  std::vector<double> durations, gpus, dates;
  void add(const traces::TraceJob& one) {
    workload.add(one);
    durations.push_back(one.duration_s);
    gpus.push_back(one.gpus);
    dates.push_back(one.submit_s);
  }
};

Sample drawn_from(const Sample& from, std::int64_t count, std::uint64_t seed) {
  traces::SyntheticTrace synthetic(from.workload, count, seed);
  Sample sample;
  while (const auto one = synthetic.next()) sample.add(*one);
  return sample;
}

void check_alike(const Sample& real, const Sample& drawn) {
  CHECK(drawn.workload.mean_load_gpus() == Approx(real.workload.mean_load_gpus()).epsilon(0.05));
  CHECK(ks_distance(real.durations, drawn.durations) <= 0.05);
  CHECK(ks_distance(real.gpus, drawn.gpus) <= 0.05);
  CHECK(std::is_sorted(drawn.dates.begin(), drawn.dates.end()));
}

}  // namespace

TEST_CASE("the distance of two samples") {
  // F_a: 1/2 at 1, 1 at 2. F_b: 1/4 at 1, 1/2 at 2, 1 at 3. Greatest at 2: 1 - 1/2.
  CHECK(ks_distance({1, 2}, {1, 2, 3, 3}) == 0.5);
  CHECK(ks_distance({1, 2}, {2, 1}) == 0);
}

TEST_CASE("a burst has no mean load") {
  traces::Workload workload;
  workload.add(job(0, 1, 3600));
  CHECK(workload.mean_load_gpus() == 0);
  workload.add(job(1, 1, 3600));  // 7,200 GPU-seconds within one second: two GPUs are busy, not 7,200
  CHECK(workload.mean_load_gpus() == 0);
  CHECK_THAT(to_string(workload),
             Contains("mean load           none: a burst, all jobs come within 10 mean durations; 2 GPU-hours"));
  // Ten mean durations: (2 x 3,600 + 30) / 3 = 2,410 s, times 10 = 24,100 s, after which the first second is behind.
  traces::Workload within = workload;
  within.add(job(24100, 1, 30));
  CHECK(within.mean_load_gpus() == 0);
  workload.add(job(24101, 1, 30));
  CHECK(workload.mean_load_gpus() == Approx(7230 / 24101.0));
}

TEST_CASE("a workload's figures by hand") {
  traces::Workload workload;
  workload.add(job(0, 2, 100));
  workload.add(job(10, 1, 300));
  workload.add(job(7200, 1, 300));
  traces::TraceJob steps{.job_id = "s", .model = "resnet50", .user = "u"};
  steps.submit_s = 7300;
  workload.add(steps);
  CHECK(workload.jobs() == 4);
  CHECK(workload.gpu_seconds() == 800);  // 2 x 100 + 300 + 300
  CHECK(workload.mean_load_gpus() == Approx(800 / 7300.0));
  CHECK(workload.durations().quantile(0.5) == Approx(300).epsilon(0.01));
  // Hours 0, 1, 2 have 2, 0, 2: mean 4/3, mean of squares 8/3, variance 8/3 - 16/9 = 8/9, over the mean 2/3.
  CHECK(workload.arrivals().mean == Approx(4.0 / 3));
  CHECK(workload.arrivals().dispersion == Approx(2.0 / 3));
  CHECK(workload.arrivals().most == 2);
  const std::string text = to_string(workload);
  CHECK_THAT(text, Contains("4, 3 of them with a duration") && Contains("users               1; u 25.0 %"));
  CHECK_THAT(text, Contains("       1           2     66.67         75.00"));  // 2 of 3 jobs, 600 of 800 GPU-seconds
}

TEST_CASE("quantiles are within 1 %, whatever the values") {
  sim::Random random(7);
  traces::LogHistogram histogram;
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i) histogram.add(values.emplace_back(100 * random.log_normal_factor(3)));
  std::sort(values.begin(), values.end());
  for (const double part : {0.001, 0.1, 0.5, 0.9, 0.999, 1.0}) {
    const double exact = values[static_cast<std::size_t>(std::ceil(part * 20000)) - 1];
    CHECK(histogram.quantile(part) == Approx(exact).epsilon(0.0101));
  }
  CHECK(histogram.bins().size() < 1500);
}

TEST_CASE("a synthetic trace has its model's load, sizes and durations, at any length") {
  Sample real;
  sim::Random random(3);
  double date_s = 0;
  for (int i = 0; i < 20000; ++i) {
    const double gpus = random.uniform() < 0.8 ? 1 : 8;
    // An atom at 60 s, and a heavy tail that is longer on 8 GPUs; nights are quiet.
    const double duration_s = random.uniform() < 0.2 ? 60 : 600 * gpus * random.log_normal_factor(1.5);
    date_s += random.exponential(std::fmod(date_s, 86400) < 28800 ? 600 : 120);
    real.add(job(date_s, gpus, duration_s));
  }
  const Sample same = drawn_from(real, 20000, 1);
  check_alike(real, same);
  check_alike(real, drawn_from(real, 50000, 2));
  check_alike(real, drawn_from(real, 3000, 2));
  // Dates: the same share by night.
  const auto by_night = [](const Sample& sample) {
    double count = 0;
    for (const double date : sample.dates) count += std::fmod(date - sample.dates[0], 86400) < 28800;
    return count / static_cast<double>(sample.dates.size());
  };
  CHECK(by_night(same) == Approx(by_night(real)).margin(0.02));
  // Durations depend on the size as in the model: KS of those on 8 GPUs alone.
  const auto on_8 = [](const Sample& sample) {
    std::vector<double> durations;
    for (std::size_t i = 0; i < sample.gpus.size(); ++i)
      if (sample.gpus[i] == 8) durations.push_back(sample.durations[i]);
    return durations;
  };
  CHECK(ks_distance(on_8(real), on_8(same)) <= 0.05);
  CHECK(drawn_from(real, 100, 9).durations == drawn_from(real, 100, 9).durations);
  CHECK(drawn_from(real, 100, 9).durations != drawn_from(real, 100, 8).durations);
}

TEST_CASE("bursts stay as strong") {
  // Counts an hour: Poisson of a rate that is 1 or 19, each half of the time: mean 10, variance 10 + 81, over the mean 9.1.
  Sample real;
  sim::Random random(5);
  for (int hour = 0; hour < 3000; ++hour)
    for (double at_s = 0, rate = random.uniform() < 0.5 ? 1 : 19; (at_s += random.exponential(3600 / rate)) < 3600;)
      real.add(job(3600.0 * hour + at_s, 1, 10));
  CHECK(real.workload.arrivals().dispersion == Approx(9.1).epsilon(0.1));
  CHECK(drawn_from(real, 30000, 1).workload.arrivals().dispersion == Approx(9.1).epsilon(0.15));
  // And a Poisson process stays one.
  Sample poisson;
  for (double at_s = 0; at_s < 3600 * 3000; at_s += random.exponential(360)) poisson.add(job(at_s, 1, 10));
  CHECK(drawn_from(poisson, 30000, 1).workload.arrivals().dispersion == Approx(1).epsilon(0.15));
}

TEST_CASE("nothing to draw from is refused; one job can be drawn") {
  traces::Workload empty, one;
  one.add(job(5, 1, 10));
  CHECK_THROWS_AS(traces::SyntheticTrace(empty, 10, 0), sim::InputError);
  CHECK_THROWS_AS(traces::SyntheticTrace(one, 10, 0), sim::InputError);
  one.add(job(25, 1, 10));
  traces::SyntheticTrace two(one, 1, 0);
  CHECK(two.next()->gpus == 1);
  CHECK_FALSE(two.next());
}

TEST_CASE("synthetic traces fitted to Philly and ElasticFlow") {
  struct Real {
    const char* format;
    const char* file;
  };
  for (const Real& file :
       {Real{"philly", "pollux_osdi21/traces/philly.csv.gz"}, Real{"elasticflow-rigid", "elasticflow/cluster01.csv.gz"},
        Real{"elasticflow-rigid", "elasticflow/cluster04.csv.gz"}}) {
    const std::string path = data_file(file.file);
    if (path.empty()) continue;
    CAPTURE(file.file);
    Sample real;
    traces::TraceStream stream(traces::trace_reader(file.format), path, {}, kModels);
    while (const traces::TraceJob* one = stream.next()) real.add(*one);
    for (const std::uint64_t seed : {1, 2}) check_alike(real, drawn_from(real, real.workload.jobs(), seed));
    check_alike(real, drawn_from(real, 3 * real.workload.jobs(), 3));
  }
}
