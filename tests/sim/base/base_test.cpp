#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <charconv>
#include <cmath>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/base/linear_algebra.hpp"
#include "sim/base/random.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/text.hpp"
#include "sim/base/units.hpp"

using namespace rehearse::sim;

TEST_CASE("a mistake's message names place, expectation, finding and the nearest name") {
  const Mistake m{.file = "a.json",
                  .line = 3,
                  .column = 7,
                  .pointer = "/pools/0/nodes",
                  .expected = "a whole number of at least 1",
                  .found = "-2",
                  .nearest = ""};
  CHECK(to_string(m) == "a.json:3:7: /pools/0/nodes: expected a whole number of at least 1, found -2");
  CHECK(to_string(Mistake{.found = "unknown key \"nods\"", .nearest = "nodes"}) ==
        "found unknown key \"nods\"; did you mean \"nodes\"?");
}

TEST_CASE("a double becomes an integer only where one can hold it") {
  CHECK(whole<int>(2147483647.9, "gpus") == 2147483647);
  CHECK(whole<int>(-2147483648.0, "gpus") == std::numeric_limits<int>::min());
  CHECK(whole<std::int64_t>(-0x1p63, "bytes") == std::numeric_limits<std::int64_t>::min());
  CHECK(whole<std::uint64_t>(0x1.fffffffffffffp63, "checkpoints") == 0xFFFFFFFFFFFFF800u);
  CHECK_THROWS_AS(whole<int>(2147483648.0, "gpus"), InputError);
  CHECK_THROWS_AS(whole<std::int64_t>(0x1p63, "bytes"), InputError);
  CHECK_THROWS_AS(whole<std::uint64_t>(0x1p64, "checkpoints"), InputError);
  CHECK_THROWS_AS(whole<std::uint64_t>(-1.0, "checkpoints"), InputError);
  CHECK_THROWS_AS(whole<int>(std::nan(""), "gpus"), InputError);
  CHECK_THROWS_WITH(whole<std::uint64_t>(3.6e303, "checkpoints of a stage"),
                    "checkpoints of a stage: expected less than 1.845e+19, found 3.6e+303");
}

TEST_CASE("durations of the step level are counted in ticks up to 2^32 s") {
  CHECK(ticks_up(1 + 0x1p-31) == (Tick{1} << 30) + 1);
  CHECK(seconds_of(ticks_up(0x1p32 - 1)) == 0x1p32 - 1);
  CHECK_THROWS_AS(ticks_up(0x1p32), InputError);
  CHECK_THROWS_AS(ticks_up(std::nan("")), InputError);
}

TEST_CASE("mistakes beyond the limit are counted, not listed") {
  Mistakes all;
  CHECK_NOTHROW(all.throw_if_any());
  for (std::size_t i = 0; i < Mistakes::kMaxListed + 5; ++i) all.add({.found = "x"});
  try {
    all.throw_if_any();
    FAIL("nothing thrown");
  } catch (const InputError& error) {
    CHECK(error.mistakes().size() == Mistakes::kMaxListed);
    CHECK(error.left_out() == 5);
    CHECK(std::string(error.what()).find("and 5 more") != std::string::npos);
  }
}

TEST_CASE("a failed check names the simulated time") {
  CHECK_THROWS_WITH(check(false, "money is lost", 12.5), "check failed at simulated time 12.500000 s: money is lost");
  CHECK_NOTHROW(check(true, "fine", 1));
}

TEST_CASE("nearest_name finds slips of the finger and nothing else") {
  const std::vector<std::string> names{"resnet18", "resnet50", "vgg16", "static-isotonic"};
  CHECK(nearest_name("resnet5", names) == "resnet50");
  CHECK(nearest_name("RestNet18", names) == "resnet18");
  CHECK(nearest_name("vgg61", names) == "vgg16");
  CHECK(nearest_name("static_isotonic", names) == "static-isotonic");
  CHECK(nearest_name("lighthouse", names).empty());
  CHECK(nearest_name("", names).empty());
}

TEST_CASE("streams differ in each part of the key and repeat for the same key") {
  std::set<std::uint64_t> keys{stream_key(1, 0, "a", "b"), stream_key(2, 0, "a", "b"), stream_key(1, 1, "a", "b"),
                               stream_key(1, 0, "ab", ""), stream_key(1, 0, "", "ab"), stream_key(1, 0, "b", "a")};
  CHECK(keys.size() == 6);
  Random one(stream_key(1, 0, "a", "b")), two(stream_key(1, 0, "a", "b"));
  for (int i = 0; i < 10; ++i) CHECK(one.next() == two.next());
}

TEST_CASE("distributions have their mean and deviation") {
  // 200,000 draws: the standard error of a mean with deviation 1 is 1/sqrt(200000) = 0.0022; 5 of them are allowed.
  Random random(stream_key(7, 0, "test", "moments"));
  const int n = 200'000;
  double normal = 0, squares = 0, exponential = 0, uniform = 0;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    normal += x;
    squares += x * x;
    exponential += random.exponential(3);
    uniform += random.uniform();
  }
  CHECK(std::abs(normal / n) < 0.011);
  CHECK(std::abs(squares / n - 1) < 0.016);
  CHECK(std::abs(exponential / n - 3) < 0.034);
  CHECK(std::abs(uniform / n - 0.5) < 0.0033);
  CHECK(random.log_normal_factor(0) == 1.0);
}

TEST_CASE("below(n) stays below n and reaches every value") {
  rc::prop("below", [](std::uint64_t key) {
    const auto n = *rc::gen::inRange<std::uint64_t>(1, 40);
    Random random(key);
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 2000; ++i) seen.insert(random.below(n));
    RC_ASSERT(*seen.rbegin() < n);
    RC_ASSERT(seen.size() == n);
  });
}

TEST_CASE("dates are rounded up to the grid, grid points stay") {
  rc::prop("grid", [](std::uint32_t whole) {
    const double x = static_cast<double>(whole) / 7.0;
    RC_ASSERT(on_date_grid(x) >= x);
    RC_ASSERT(on_date_grid(x) - x < kDateGrid);
    RC_ASSERT(on_date_grid(on_date_grid(x)) == on_date_grid(x));
    RC_ASSERT(on_date_grid(static_cast<double>(whole)) == static_cast<double>(whole));
  });
}

TEST_CASE("numbers read as people write them") {
  CHECK(grouped(133) == "133");
  CHECK(grouped(4970) == "4,970");
  CHECK(grouped(-1234567) == "-1,234,567");
  CHECK(figure(133.4) == "133");
  CHECK(figure(133.4, 4) == "133.4");
  CHECK(figure(0.06431) == "0.0643");
  CHECK(figure(2.5) == "2.5");
  CHECK(figure(9.9996) == "10");
  CHECK(figure(4970.2) == "4970");
  CHECK(figure(12345.6, 4) == "12,346");
  CHECK(figure(0) == "0");
  CHECK(figure(1.5e-7) == "1.5e-07");
  CHECK(figure(std::nan("")) == "-");
  CHECK(counted(1, "job") == "1 job");
  CHECK(counted(0, "job") == "0 jobs");
  CHECK(counted(4970, "job") == "4,970 jobs");
  CHECK(counted(2.5, "job") == "2.5 jobs");
  CHECK(counted(2, "policy", "policies") == "2 policies");
  CHECK(percent_words(0.6429) == "64 %");
  CHECK(percent_words(1) == "100 %");
  CHECK(percent_words(0.9996) == "99.9 %");  // not all of them
  CHECK(percent_words(0.064) == "6.4 %");
  CHECK(percent_words(0) == "0 %");
  CHECK(time_words(0.42) == "0.4 s");
  CHECK(time_words(45) == "45 s");
  CHECK(time_words(210) == "3.5 min");
  CHECK(time_words(4.5 * 3600) == "4.5 h");
  CHECK(time_words(100 * 3600.0) == "4.2 d");
  CHECK(money_words(12.4) == "12.40 $");
  CHECK(money_words(0.03124) == "0.0312 $");
  CHECK(money_words(1203.7) == "1,204 $");
}

TEST_CASE("grouped numbers without their commas are the numbers") {
  rc::prop("", [](std::int64_t number) {
    std::string text = grouped(number);
    for (std::size_t at = text.find(','); at != text.npos; at = text.find(',', at)) text.erase(at, 1);
    RC_ASSERT(text == std::to_string(number));
  });
}

TEST_CASE("a date is written with as few digits as give it back") {
  // 4.112 comes in between the ticks 4.111999511... and 4.112000465...; 24.996 likewise. 2^-20 is 0.00000095.
  CHECK(date_text(on_date_grid(4.112)) == "4.112");
  CHECK(date_text(on_date_grid(24.996)) == "24.996");
  CHECK(date_text(on_date_grid(85.589)) == "85.589");
  CHECK(date_text(0) == "0");
  CHECK(date_text(-0.0) == "0");
  CHECK(date_text(3600) == "3600");
  CHECK(date_text(0x1p-20) == "0.0000009");
  CHECK(date_text(1 - 0x1p-20) == "0.999999");
  CHECK(date_text(1.5) == "1.5");
  // No dates: as they are.
  CHECK(date_text(0x1p-21) == "4.76837158203125e-07");
  CHECK(date_text(-1.25) == "-1.25");
  CHECK(date_text(0x1p33) == "8589934592");
}

namespace {

double read_date(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return on_date_grid(value);
}

}  // namespace

TEST_CASE("dates: what is written reads back as the same tick, and nothing shorter does") {
  rc::prop("over all magnitudes", [](std::uint64_t ticks, std::uint8_t magnitude) {
    ticks >>= 12 + magnitude % 52;  // below 2^52
    const double date_s = static_cast<double>(ticks) * kDateGrid;
    const std::string text = date_text(date_s);
    RC_ASSERT(text.size() < kDateText);
    RC_ASSERT(read_date(text) == date_s);
    const std::size_t point = text.find('.');
    if (point == std::string::npos) return;
    // With a digit less: the one below and the one above are other dates.
    const std::string below = text.substr(0, text.size() - 1);
    RC_ASSERT(read_date(below) != date_s);
    const double step = std::pow(10.0, -static_cast<double>(below.size() - point - 1));
    RC_ASSERT(on_date_grid(std::strtod(below.c_str(), nullptr) + step) != date_s);
  });
}

TEST_CASE("quantiles of the normal distribution and of Student's t") {
  CHECK(normal_quantile(0.975) == Approx(1.959963984540054).epsilon(1e-14));
  CHECK_THROWS_AS(normal_quantile(1), CheckFailed);
  // One degree of freedom is Cauchy's law: tan(pi (p - 1/2)), 1 at p = 3/4.
  CHECK(student_quantile(0.75, 1) == Approx(1).epsilon(1e-14));
  CHECK(student_upper_quantile(0.25, 1) == Approx(1).epsilon(1e-14));
  CHECK(student_quantile(0.975, 9) == Approx(2.262157162798205).epsilon(1e-12));
}

TEST_CASE("decompositions of dense matrices") {
  Eigen::MatrixXd a(2, 2), tall(3, 2);
  a << 4, 2, 2, 5;  // = l l' with l = (2 0; 1 2); its determinant is 16
  tall << 1, 0, 1, 1, 1, 2;
  const Eigen::VectorXd b = Eigen::Vector2d(8, 20), y = Eigen::Vector3d(1, 3, 5);
  const Eigen::MatrixXd root = cholesky_root(a);
  CHECK(root == (Eigen::Matrix2d() << 2, 0, 1, 2).finished());
  CHECK(solve_lower(root, b) == Eigen::Vector2d(4, 8));               // 2 x = 8, x + 2 y = 20
  CHECK(solve_lower_transposed(root, b) == Eigen::Vector2d(-1, 10));  // 2 y = 20, 2 x + y = 8
  const Eigen::Matrix2d inverted = (Eigen::Matrix2d() << 5, -2, -2, 4).finished() / 16;
  CHECK(inverse(a).isApprox(inverted));
  CHECK(inverse_by_root(root).isApprox(inverted));
  CHECK(solve_symmetric(a, b).isApprox(Eigen::Vector2d(0, 4)));  // 4 x + 2 y = 8, 2 x + 5 y = 20
  CHECK(solve_symmetric(a, a).isApprox(Eigen::Matrix2d::Identity()));

  CHECK(product(tall, a) == (Eigen::MatrixXd(3, 2) << 4, 2, 6, 7, 8, 12).finished());
  CHECK(transposed_product(tall, tall) == (Eigen::Matrix2d() << 3, 3, 3, 5).finished());
  CHECK(weighted_square(tall, Eigen::Vector3d(1, 2, 3)) == (Eigen::Matrix2d() << 6, 8, 8, 14).finished());

  CHECK(least_squares(tall, y).isApprox(Eigen::Vector2d(1, 2)));  // 1 + 2 x goes through all three
  const Eigen::MatrixXd twice = Eigen::MatrixXd::Ones(3, 2);      // x + y = 3 fits best, x = y is the shortest
  CHECK(shortest_least_squares(twice, y).isApprox(Eigen::Vector2d(1.5, 1.5)));
  const Eigen::MatrixXd triangle = triangle_of_columns(tall);
  CHECK(triangle.rows() == 2);
  CHECK(triangle(1, 0) == 0);
  CHECK((triangle.transpose() * triangle).isApprox(tall.transpose() * tall));
}
