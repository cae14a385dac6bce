#include "policies/queue/gavel_allocation.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <functional>

#include "sim/base/random.hpp"

using namespace rehearse::policies;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using rehearse::sim::Random;

namespace {

/// One device of each pool, one for each job.
GavelProblem problem_of(const MatrixXd& throughput, const VectorXd& price) {
  const auto jobs = throughput.rows(), pools = throughput.cols();
  return {.throughput = throughput,
          .devices = MatrixXd::Ones(jobs, pools),
          .capacity = VectorXd::Ones(pools),
          .weight = VectorXd::Ones(jobs),
          .usd_per_s = price.transpose().replicate(jobs, 1),
          .least_throughput = VectorXd::Zero(jobs)};
}

GavelProblem random_problem(Random& random) {
  const auto jobs = static_cast<Eigen::Index>(1 + random.below(8)), pools = static_cast<Eigen::Index>(1 + random.below(3));
  GavelProblem problem = problem_of(MatrixXd::Zero(jobs, pools), VectorXd::Zero(pools));
  VectorXd price(pools);
  for (Eigen::Index p = 0; p < pools; ++p) {
    problem.capacity(p) = 1 + static_cast<double>(random.below(16));
    price(p) = random.uniform(1e-4, 1e-2);
  }
  for (Eigen::Index j = 0; j < jobs; ++j) {
    problem.weight(j) = random.uniform(0.5, 2);
    const auto home = static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(pools)));
    for (Eigen::Index p = 0; p < pools; ++p) {
      problem.devices(j, p) = 1 + static_cast<double>(random.below(static_cast<std::uint64_t>(problem.capacity(p))));
      if (p == home || random.below(4) > 0) problem.throughput(j, p) = random.uniform(1e-6, 1e-3);
    }
  }
  problem.usd_per_s = problem.devices * price.asDiagonal();
  return problem;
}

bool feasible(const GavelProblem& problem, const GavelAllocation& x) {
  const VectorXd held = x.cwiseProduct(problem.devices).colwise().sum().transpose();
  return (x.array() >= 0).all() && (x.rowwise().sum().array() <= 1 + 1e-4).all() &&
         (held.array() <= problem.capacity.array() * (1 + 1e-4)).all() &&
         (problem.throughput.array() > 0 || x.array() == 0).all();
}

GavelAllocation random_allocation(const GavelProblem& problem, Random& random) {
  GavelAllocation x = MatrixXd::Zero(problem.jobs(), problem.pools());
  for (Eigen::Index j = 0; j < x.rows(); ++j)
    for (Eigen::Index p = 0; p < x.cols(); ++p)
      if (problem.throughput(j, p) > 0) x(j, p) = random.uniform(0, 1);
  for (Eigen::Index j = 0; j < x.rows(); ++j) x.row(j) /= std::max(1.0, x.row(j).sum());
  for (Eigen::Index p = 0; p < x.cols(); ++p)
    x.col(p) /= std::max(1.0, x.col(p).dot(problem.devices.col(p)) / problem.capacity(p));
  return x;
}

double slowest(const GavelProblem& problem, const GavelAllocation& x) {
  return problem.throughput.cwiseProduct(x).rowwise().sum().minCoeff();
}

}  // namespace

TEST_CASE("a linear programme: largest value, and none") {
  // x + y <= 4, x + 3 y <= 6: 3 x + 5 y is largest at (3, 1), 14.
  LinearProgramme programme(2);
  programme.at_most({{0, 1}, {1, 1}}, 4);
  programme.at_most({{0, 1}, {1, 3}}, 6);
  programme.maximise(0, 3);
  programme.maximise(1, 5);
  const auto values = programme.solve();
  REQUIRE(values);
  CHECK((*values)[0] == Approx(3));
  CHECK((*values)[1] == Approx(1));
  programme.at_least({{0, 1}}, 5);
  CHECK(!programme.solve());
}

TEST_CASE("a linear programme whose rows leave room only within the tolerance is decided") {
  // The last two rows meet x + y = 1 in one point, about (0.8213, 0.1787); CLP's primal simplex alone gives this one up.
  LinearProgramme programme(2);
  programme.at_most({{0, 1}, {1, 1}}, 1);
  programme.at_most({{0, 1}}, 11);
  programme.at_most({{1, 13}}, 14);
  programme.at_least({{0, 0.54371887724639889}, {1, 3.0970621959979399}}, 1 - 1e-7);
  programme.at_least({{0, 0.028634764526058624}, {1, -0.13160539157203191}}, 0);
  programme.maximise(0, 0.048236);
  programme.maximise(1, 0.274756);
  const auto values = programme.solve();
  if (!values) return;  // also an answer: the room may be less than none
  CHECK((*values)[0] == Approx(0.8213).margin(1e-3));
  CHECK((*values)[1] == Approx(0.1787).margin(1e-3));
}

TEST_CASE("max-min: the paper's example, section 4.1") {
  // One V100 and one K80, throughputs 40 10, 12 4, 100 50; half of the time on each: 25, 8, 75. With z the normalised throughput:
  // job 0 on the V100 for 25 z/40; job 2 always runs, 100 (1 - y) + 50 y = 75 z, so y = 2 - 3/2 z; job 1 has the rest of the K80:
  // 12 x + 4 (3/2 z - 1) = 8 z, x = z/6 + 1/3. The V100 is full: 5/8 z + z/6 + 1/3 + 3/2 z - 1 = 1, z = 8/11.
  const GavelProblem problem = problem_of((MatrixXd(3, 2) << 40, 10, 12, 4, 100, 50).finished(), VectorXd::Ones(2));
  const GavelAllocation x = gavel_max_min(problem);
  const MatrixXd expected = (MatrixXd(3, 2) << 5, 0, 5, 1, 1, 10).finished() / 11;
  CHECK((x - expected).cwiseAbs().maxCoeff() < 1e-5);
  CHECK((normalised_throughput(problem, x).array() - 8.0 / 11).abs().maxCoeff() < 1e-5);
}

TEST_CASE("max-min: weights and sizes") {
  // One pool of 3; jobs of 1, 2 and 1 devices, the last of weight 2: x0, 2 x1 and x2/2 are compared. x2 is at most 1, so the
  // least is at most 1/2. The two others then share the other 2 devices, whose sum counts each device once.
  GavelProblem problem = problem_of(MatrixXd::Ones(3, 1), VectorXd::Ones(1));
  problem.capacity(0) = 3;
  problem.devices << 1, 2, 1;
  problem.weight << 1, 1, 2;
  const GavelAllocation x = gavel_max_min(problem);
  CHECK(normalised_throughput(problem, x).minCoeff() == Approx(0.5));
  CHECK(x(2, 0) == Approx(1));
  CHECK(x(0, 0) + 2 * x(1, 0) == Approx(2));
}

TEST_CASE("makespan: two devices, jobs of one, one and two hours") {
  // 4 hours of work on 2 devices, and no job can run on both: 2 hours. The long job always runs, the others half of the time.
  GavelProblem problem = problem_of((MatrixXd(3, 1) << 1, 1, 0.5).finished() / 3600, VectorXd::Ones(1));
  problem.capacity(0) = 2;
  const GavelAllocation x = gavel_makespan(problem);
  CHECK((x - (MatrixXd(3, 1) << 0.5, 0.5, 1).finished()).cwiseAbs().maxCoeff() < 1e-5);
  CHECK(1 / slowest(problem, x) == Approx(7200));
}

TEST_CASE("cost: each job where a dollar does most, but for deadlines") {
  // 1 and 4 dollars a second. Job 0 does 1 or 2 a second: 1 or 1/2 a dollar. Job 1 does 1 or 8: 1 or 2 a dollar.
  GavelProblem problem = problem_of((MatrixXd(2, 2) << 1, 2, 1, 8).finished(), (VectorXd(2) << 1, 4).finished());
  GavelAllocation x = gavel_cost(problem);
  CHECK((x - MatrixXd::Identity(2, 2)).cwiseAbs().maxCoeff() < 1e-5);
  CHECK(progress_per_dollar(problem, x) == Approx(1));
  // Job 0 needs 1.5 a second: half of its time on each pool. Job 1 has the other half of pool 1: (1/2 + 1 + 2) worth for
  // (1/2 + 2 + 2) dollars, 7/9; half of pool 0 would be worth 1/4 for 1/2 dollar, less than that, so it does not take it.
  problem.least_throughput(0) = 1.5;
  x = gavel_cost(problem);
  CHECK((x - (MatrixXd(2, 2) << 0.5, 0.5, 0, 0.5).finished()).cwiseAbs().maxCoeff() < 1e-4);
  CHECK(progress_per_dollar(problem, x) == Approx(7.0 / 9));
  // 4 a second cannot be had: it gets the 2 that can.
  problem.least_throughput(0) = 4;
  CHECK(gavel_cost(problem)(0, 1) == Approx(1));
}

TEST_CASE("nothing to allocate") {
  const GavelProblem problem = problem_of(MatrixXd::Zero(0, 2), VectorXd::Ones(2));
  for (const auto& allocate : {gavel_max_min, gavel_makespan, gavel_cost, gavel_finish_time})
    CHECK(allocate(problem).rows() == 0);
}

TEST_CASE("one job on one device has all of it") {
  GavelProblem problem = problem_of(MatrixXd::Ones(1, 1), VectorXd::Ones(1));
  problem.elapsed_s = VectorXd::Zero(1);
  problem.alone_s = VectorXd::Ones(1);
  for (const auto& allocate : {gavel_max_min, gavel_makespan, gavel_cost, gavel_finish_time})
    CHECK(allocate(problem)(0, 0) == Approx(1));
}

TEST_CASE("allocations are feasible, and no random one is better") {
  rc::prop("least normalised throughput, makespan, progress a dollar", [](std::uint64_t seed) {
    Random random(seed);
    GavelProblem problem = random_problem(random);
    const GavelAllocation fair = gavel_max_min(problem), soonest = gavel_makespan(problem), cheapest = gavel_cost(problem);
    for (const GavelAllocation& x : {fair, soonest, cheapest}) RC_ASSERT(feasible(problem, x));
    RC_ASSERT(progress_per_dollar(problem, cheapest) > 1 - 1e-4);  // without deadlines nobody need be elsewhere
    for (int i = 0; i < 30; ++i) {
      const GavelAllocation x = random_allocation(problem, random);
      RC_ASSERT(feasible(problem, x));
      RC_ASSERT(normalised_throughput(problem, x).minCoeff() <= normalised_throughput(problem, fair).minCoeff() * (1 + 1e-4));
      RC_ASSERT(slowest(problem, x) <= slowest(problem, soonest) * (1 + 1e-4));
    }
  });
  rc::prop("deadlines that can be met are, at no more dollars than a random allocation that meets them", [](std::uint64_t seed) {
    Random random(seed);
    GavelProblem problem = random_problem(random);
    const GavelAllocation known = random_allocation(problem, random);
    problem.least_throughput = problem.throughput.cwiseProduct(known).rowwise().sum() * random.uniform(0.2, 1);
    const GavelAllocation x = gavel_cost(problem);
    RC_ASSERT(feasible(problem, x));
    const VectorXd got = problem.throughput.cwiseProduct(x).rowwise().sum();
    const VectorXd rounding = 2e-5 * problem.throughput.rowwise().maxCoeff();  // shares are multiples of 1e-6, from 1e-5 on
    RC_ASSERT((got.array() >= (problem.least_throughput - rounding).array()).all());
    RC_ASSERT(progress_per_dollar(problem, x) >= progress_per_dollar(problem, known) * (1 - 1e-4));
  });
}

TEST_CASE("max-min, makespan and cost against brute force on a grid") {
  // Two jobs on two pools of one device, shares in twentieths: no point of the grid is better, and the best one is not far off.
  rc::prop("all grid points", [](std::uint64_t seed) {
    Random random(seed);
    GavelProblem problem = problem_of(MatrixXd::Zero(2, 2), VectorXd::Zero(2));
    for (Eigen::Index i = 0; i < 4; ++i) problem.throughput(i / 2, i % 2) = random.uniform(1, 5);
    for (Eigen::Index p = 0; p < 2; ++p) problem.usd_per_s.col(p).setConstant(random.uniform(1, 3));
    constexpr int kParts = 20;
    double fair = 0, soonest = 0, cheapest = 0;
    GavelAllocation x(2, 2);
    for (int a = 0; a <= kParts; ++a)
      for (int b = 0; a + b <= kParts; ++b)
        for (int c = 0; a + c <= kParts; ++c)
          for (int d = 0; c + d <= kParts && b + d <= kParts; ++d) {
            x << a, b, c, d;
            x /= kParts;
            fair = std::max(fair, normalised_throughput(problem, x).minCoeff());
            soonest = std::max(soonest, slowest(problem, x));
            if (a + b + c + d > 0) cheapest = std::max(cheapest, progress_per_dollar(problem, x));
          }
    const auto equals = [](double found, double grid) { return grid <= found * (1 + 1e-4) && grid > found * 0.85; };
    RC_ASSERT(equals(normalised_throughput(problem, gavel_max_min(problem)).minCoeff(), fair));
    RC_ASSERT(equals(slowest(problem, gavel_makespan(problem)), soonest));
    RC_ASSERT(equals(progress_per_dollar(problem, gavel_cost(problem)), cheapest));
  });
}

TEST_CASE("finish-time fairness by programme: who has waited gets more") {
  // One device, two jobs with 10 s left, of which the second came 10 s ago; alone, on half of it, each takes 20 s. Both are as
  // badly off where 10/x = 10 + 10/(1 - x): x^2 - 3 x + 1 = 0, x = (3 - sqrt 5)/2 = 0.382, and 10/0.382/20 = 1.309.
  GavelProblem problem{.throughput = Eigen::MatrixXd::Constant(2, 1, 0.1),
                       .devices = Eigen::MatrixXd::Ones(2, 1),
                       .capacity = Eigen::VectorXd::Ones(1),
                       .weight = Eigen::VectorXd::Ones(2),
                       .usd_per_s = Eigen::MatrixXd::Ones(2, 1),
                       .least_throughput = Eigen::VectorXd::Zero(2)};
  problem.elapsed_s = Eigen::VectorXd(2);
  problem.elapsed_s << 0, 10;
  problem.alone_s = Eigen::VectorXd::Constant(2, 20);
  CHECK(equal_shares(problem)(0, 0) == 0.5);
  CHECK(worst_finish_time(problem, equal_shares(problem)) == Approx(1.5));  // (10 + 20)/20
  const GavelAllocation shares = gavel_finish_time(problem);
  CHECK(worst_finish_time(problem, shares) == Approx(1.309).epsilon(2e-3));
  CHECK(shares(0, 0) == Approx((3 - std::sqrt(5)) / 2).epsilon(5e-3));
  CHECK(shares(1, 0) == Approx((std::sqrt(5) - 1) / 2).epsilon(5e-3));
}

namespace {

/// The largest least row of factors x share, and then the largest sum of all, with a row for each job: the programme as it is
/// written down in section 4.1.
std::pair<double, double> optimum_job_by_job(const GavelProblem& problem, const MatrixXd& factors) {
  const auto jobs = problem.jobs(), pools = problem.pools();
  const auto variable = [&](Eigen::Index j, Eigen::Index p) { return static_cast<int>(j * pools + p); };
  const int least = static_cast<int>(jobs * pools);
  LinearProgramme programme(least + 1);
  for (Eigen::Index j = 0; j < jobs; ++j) {
    LinearProgramme::Terms time, progress{{least, -1}};
    for (Eigen::Index p = 0; p < pools; ++p) {
      if (!(problem.throughput(j, p) > 0)) continue;
      time.emplace_back(variable(j, p), 1);
      progress.emplace_back(variable(j, p), factors(j, p));
    }
    programme.at_most(time, 1);
    programme.at_least(progress, 0);
  }
  for (Eigen::Index p = 0; p < pools; ++p) {
    LinearProgramme::Terms held;
    for (Eigen::Index j = 0; j < jobs; ++j)
      if (problem.throughput(j, p) > 0) held.emplace_back(variable(j, p), problem.devices(j, p));
    programme.at_most(held, problem.capacity(p));
  }
  programme.maximise(least, 1);
  const double best = programme.solve().value().back();
  programme.keep_at_least(least, best * (1 - 1e-7));
  programme.maximise(least, 0);
  for (Eigen::Index j = 0; j < jobs; ++j)
    for (Eigen::Index p = 0; p < pools; ++p)
      if (problem.throughput(j, p) > 0) programme.maximise(variable(j, p), factors(j, p));
  const std::vector<double> values = programme.solve().value();
  double sum = 0;
  for (Eigen::Index j = 0; j < jobs; ++j)
    for (Eigen::Index p = 0; p < pools; ++p) sum += factors(j, p) * values[static_cast<std::size_t>(variable(j, p))];
  return {best, sum};
}

/// Some jobs, each of them several times, at different points of their work.
GavelProblem repeated(const GavelProblem& kinds, Random& random) {
  std::vector<Eigen::Index> kind;
  for (Eigen::Index j = 0; j < kinds.jobs(); ++j) kind.insert(kind.end(), 1 + random.below(6), j);
  const auto jobs = static_cast<Eigen::Index>(kind.size());
  GavelProblem problem = problem_of(MatrixXd::Zero(jobs, kinds.pools()), VectorXd::Zero(kinds.pools()));
  problem.capacity = kinds.capacity;
  for (Eigen::Index j = 0; j < jobs; ++j) {
    const Eigen::Index of = kind[static_cast<std::size_t>(j)];
    problem.throughput.row(j) = kinds.throughput.row(of) / random.uniform(0.01, 1);
    problem.devices.row(j) = kinds.devices.row(of);
    problem.weight(j) = kinds.weight(of);
    problem.usd_per_s.row(j) = kinds.usd_per_s.row(of);
  }
  return problem;
}

}  // namespace

TEST_CASE("max-min: jobs that are alike, together, have the optimum of a row each") {
  rc::prop("to 1e-6", [](std::uint64_t seed) {
    Random random(seed);
    const GavelProblem problem = repeated(random_problem(random), random);
    const VectorXd equal = problem.throughput * (problem.capacity / problem.capacity.sum());
    const VectorXd scale = (equal.array() * problem.weight.array()).inverse();
    const MatrixXd factors = scale.asDiagonal() * problem.throughput.cwiseProduct(problem.devices);
    const auto [least, sum] = optimum_job_by_job(problem, factors);
    const VectorXd had = normalised_throughput(problem, gavel_max_min(problem));
    // Shares are rounded to 1e-6, those below 1e-5 left out: so much of a row's progress may be missing.
    const double grid = 1.1e-5 * static_cast<double>(problem.pools()) * factors.maxCoeff();
    RC_ASSERT(feasible(problem, gavel_max_min(problem)));
    RC_ASSERT(std::abs(had.minCoeff() - least) <= 1e-6 * least + grid);
    RC_ASSERT(std::abs(had.sum() - sum) <= 1e-6 * sum + grid * static_cast<double>(problem.jobs()));
  });
}

TEST_CASE("max-min: jobs that are alike have equal shares, and the same problem is not solved again") {
  // One pool of 2; three jobs of one device, of which 1/2, 1/3 and all is left: 2/3 of the time each.
  GavelProblem problem = problem_of((MatrixXd(3, 1) << 2, 3, 1).finished(), VectorXd::Ones(1));
  problem.capacity(0) = 2;
  GavelMemory memory;
  CHECK((gavel_max_min(problem, memory).array() - 2.0 / 3).abs().maxCoeff() < 2e-6);
  CHECK(memory.solved == 1);
  problem.throughput *= 1.25;  // time has passed
  gavel_max_min(problem, memory);
  CHECK(memory.solved == 1);
  problem.capacity(0) = 1;
  CHECK((gavel_max_min(problem, memory).array() - 1.0 / 3).abs().maxCoeff() < 2e-6);
  CHECK(memory.solved == 2);
}

TEST_CASE("a linear programme goes on from where it was") {
  // x + y <= 4: y is largest at 4; then, with y at least 1, 2 x + y at (3, 1), 7.
  LinearProgramme programme(2);
  programme.at_most({{0, 1}, {1, 1}}, 4);
  programme.maximise(1, 1);
  CHECK(programme.solve().value()[1] == Approx(4));
  programme.maximise(0, 2);
  programme.keep_at_least(1, 1);
  const auto values = programme.solve().value();
  CHECK(values[0] == Approx(3));
  CHECK(values[1] == Approx(1));
}
