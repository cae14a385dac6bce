#include "workloads/calibration/calibration.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tests/workloads/devices.hpp"
#include "workloads/calibration/error_summary.hpp"
#include "workloads/calibration/robust_fit.hpp"
#include "workloads/calibration/validation.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
namespace tests = rehearse::tests;

namespace {

Measurement step(const char* model, const char* dataset, double batch) {
  return {.model = model, .dataset = dataset, .device = "v100", .batch_per_worker = batch, .source = "test"};
}

/// Three groups of rows with an offset each, and a slope of all: y = a x + b_group.
FitProblem grouped(std::vector<std::vector<Eigen::Index>> moves) {
  const auto residuals = [](const Eigen::VectorXd& theta) {
    Eigen::VectorXd r(12);
    for (Eigen::Index i = 0; i < r.size(); ++i)
      r[i] = theta[0] * static_cast<double>(i) + std::sinh(theta[1 + i % 3]) - 0.1 * static_cast<double>(i * i % 7);
    return r;
  };
  return {.residuals = residuals,
          .prior_sd = Eigen::VectorXd::Ones(4),
          .low = Eigen::VectorXd::Constant(4, -2),
          .high = Eigen::VectorXd::Constant(4, 2),
          .moves = std::move(moves)};
}

/// What the model says of a device with other efficiencies: measurements without noise.
std::vector<Measurement> made_up(const sim::Device& truth, std::initializer_list<std::pair<const char*, const char*>> models) {
  std::vector<Measurement> all;
  for (const auto& [model, dataset] : models)
    for (const double batch : {8, 16, 32, 64, 128}) all.push_back(step(model, dataset, batch));
  const MeasurementModel model(all);
  for (Measurement& m : all) m.step_s = model.step_s(m, {.device = truth});
  return all;
}

/// On a V100 as it is believed to be.
Calibration fit_v100(const std::vector<Measurement>& rows) {
  const std::vector<Site> sites(rows.size(), {.device = tests::v100()});
  return calibrate(rows, sites, MeasurementModel(rows));
}

std::vector<Compared> compare(const std::vector<Measurement>& rows, const sim::Device& device) {
  const MeasurementModel model(rows);
  std::vector<Compared> pairs;
  for (const Measurement& m : rows) pairs.push_back({model.step_s(m, {.device = device}), m.step_s});
  return pairs;
}

}  // namespace

TEST_CASE("parameters of different rows are differentiated together, to the same bit", "[calibration]") {
  int asked = 0;
  const auto counted = [&asked](FitProblem problem) {
    asked = 0;
    problem.residuals = [&asked, residuals = problem.residuals](const Eigen::VectorXd& theta) {
      ++asked;
      return residuals(theta);
    };
    return fit(problem);
  };
  const FitResult one_by_one = counted(grouped({}));
  const int asked_one_by_one = asked;
  const FitResult together = counted(grouped({{}, {0, 3, 6, 9}, {1, 4, 7, 10}, {2, 5, 8, 11}}));
  CHECK(asked < 0.7 * asked_one_by_one);  // 4 evaluations a derivative instead of 8
  CHECK(together.theta == one_by_one.theta);
  CHECK(together.covariance == one_by_one.covariance);
  CHECK(together.scale == one_by_one.scale);
}

TEST_CASE("errors, by hand", "[calibration]") {
  // |p/m - 1|: 0.1, 0.5, 0, 1. In order 0, 0.1, 0.5, 1: median 0.3; the 0.9 quantile is at 2.7: 0.5 + 0.7 x 0.5 = 0.85.
  // Bias: (1.1 x 0.5 x 1 x 2)^(1/4) - 1 = 1.1^(1/4) - 1.
  const Compared pairs[] = {{1.1, 1}, {1, 2}, {3, 3}, {4, 2}};
  const ErrorSummary s = summarise(pairs);
  CHECK(s.rows == 4);
  CHECK(s.median == Approx(0.3));
  CHECK(s.p90 == Approx(0.85));
  CHECK(s.bias == Approx(std::pow(1.1, 0.25) - 1));
  CHECK(std::isnan(summarise({}).median));
}

TEST_CASE("a robust fit with a prior, by hand", "[calibration]") {
  // One parameter, five residuals theta - 0.5 of scale 0.05 and one of theta - 9. With Cauchy's loss the wild one pulls by
  // r/s^2 / (1 + (r/(2.385 s))^2), r = 8.5: 3400 / 5082 = 0.669; the five pull 5/0.0025 = 2000 a unit, the prior of sd 1 by 1 a
  // unit: theta is (2000 x 0.5 + 0.669) / 2001 = 0.50008. Least squares would give 1.92.
  FitProblem problem{.residuals =
                         [](const Eigen::VectorXd& theta) {
                           Eigen::VectorXd r = Eigen::VectorXd::Constant(6, theta[0] - 0.5);
                           r[5] = theta[0] - 9;
                           return r;
                         },
                     .prior_sd = Eigen::VectorXd::Constant(1, 1),
                     .low = Eigen::VectorXd::Constant(1, -20),
                     .high = Eigen::VectorXd::Constant(1, 20)};
  const FitResult fitted = fit(problem);
  CHECK(fitted.scale == Approx(0.05));
  CHECK(fitted.theta[0] == Approx(0.50008).epsilon(1e-5));
  // Precision: 5/0.0025 + 1 + the wild one's weight 1/5082 / 0.0025 = 0.08.
  CHECK(fitted.sd[0] == Approx(1 / std::sqrt(2001 + 0.08)).epsilon(1e-5));
  // A bound holds.
  problem.high[0] = 0.2;
  CHECK(fit(problem).theta[0] == Approx(0.2));
}

TEST_CASE("a fit of no parameters has the residuals' scale, by hand", "[calibration]") {
  // 1.4826 times the median of 0.1, 0.2 and 0.3.
  const FitResult fitted =
      fit({.residuals = [](const Eigen::VectorXd&) { return Eigen::VectorXd(Eigen::Vector3d(0.1, -0.3, 0.2)); }});
  CHECK(fitted.scale == Approx(0.29652));
  CHECK(fitted.theta.size() == 0);
  CHECK(fitted.covariance.size() == 0);
}

TEST_CASE("a device that made the measurements is found again", "[calibration]") {
  sim::Device truth = tests::v100();
  truth.efficiency.conv = 0.4;
  truth.efficiency.launch_s = 4e-5;
  const auto rows = made_up(truth, {{"resnet50", "imagenet"}, {"vgg16", "imagenet"}, {"inception-v3", "imagenet"}});
  REQUIRE(summarise(compare(rows, tests::v100())).median > 0.2);
  const Calibration c = fit_v100(rows);
  CHECK(summarise(compare(rows, calibrated(tests::v100(), c))).p90 < 0.03);
  // Three models cannot tell a slow device from slow software of their own: a fourth is foretold better, but not exactly.
  const auto fourth = made_up(truth, {{"resnet152", "imagenet"}});
  const sim::Device fitted = calibrated(tests::v100(), c);
  CHECK(summarise(compare(fourth, fitted)).median < 0.7 * summarise(compare(fourth, tests::v100())).median);
  for (const FittedParameter& p : c.parameters) {
    INFO(p.name);
    CHECK(p.relative_sd > 0);
    CHECK(p.relative_sd <= p.prior_sd);
    // Kept, but for an overhead that launches hide: it is assumed.
    if (!p.determined) CHECK(p.value == (p.name == "step_overhead_s" ? assumed_overhead_s() : p.before));
  }
  CHECK(c.warnings.empty());
}

TEST_CASE("kernels tell a device's efficiencies", "[calibration]") {
  sim::Device truth = tests::v100();
  truth.efficiency.conv = 0.4;
  truth.efficiency.launch_s = 4e-5;
  truth.efficiency.repeat_s = 1e-4;
  std::vector<Measurement> rows;
  for (const int batch : {1, 4, 16, 64}) {
    const Measurement row{.device = "v100", .source = "test"};
    for (const int side : {1, 3})
      for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::filter_gradient}) {
        rows.push_back(row);
        rows.back().kernel = ConvKernel{batch, 28, 28, 128, 256, {side, side, 1, 1, side / 2, side / 2}, pass};
      }
    for (const int steps : {5, 50}) {
      rows.push_back(row);
      rows.back().kernel = RecurrentKernel{.batch = batch, .hidden = 512, .steps = steps};
    }
  }
  const MeasurementModel model(rows);
  for (Measurement& m : rows) m.step_s = model.step_s(m, {.device = truth});
  const Calibration c = fit_v100(rows);
  CHECK(c.efficiency.conv == Approx(0.4).epsilon(0.05));
  CHECK(c.efficiency.launch_s == Approx(4e-5).epsilon(0.1));
  CHECK(c.efficiency.repeat_s == Approx(1e-4).epsilon(0.05));
}

TEST_CASE("what measurements cannot tell keeps its default, and is said", "[calibration]") {
  const auto convolutions = made_up(tests::v100(), {{"resnet50", "imagenet"}});
  const Calibration c = fit_v100(convolutions);
  const auto parameter = [&](std::string_view name) {
    return *std::find_if(c.parameters.begin(), c.parameters.end(), [&](const FittedParameter& p) { return p.name == name; });
  };
  CHECK(parameter("launch_s").determined);    // what does not grow with the batch
  CHECK_FALSE(parameter("conv").determined);  // one model's software may be as slow as the device
  CHECK_FALSE(parameter("rnn").determined);   // there is no recurrent layer
  CHECK(parameter("rnn").value == tests::kGpuEfficiency.rnn);
  REQUIRE(c.warnings.size() == 1);
  CHECK(c.warnings[0].find("only resnet50/imagenet") == 0);

  const std::vector<Measurement> one{convolutions[0]};
  CHECK(fit_v100(one).warnings.size() == 2);  // and one batch size
  // A kernel so slow that no value of a parameter explains it: all of them are kept, and nothing is left to fit.
  Measurement softmax{.device = "v100", .step_s = 40, .source = "test"};
  softmax.kernel = RowsKernel{RowsOf::softmax, 4096, 1024};
  const Calibration kept = fit_v100({softmax});
  CHECK(std::none_of(kept.parameters.begin(), kept.parameters.end(), [](const FittedParameter& p) { return p.determined; }));
  CHECK(kept.efficiency.bandwidth == tests::kGpuEfficiency.bandwidth);
  const Calibration none = fit_v100({});
  CHECK(none.efficiency.conv == tests::kGpuEfficiency.conv);
  CHECK(none.warnings.size() == 1);
}

namespace {

FittedParameter parameter(const Calibration& c, std::string_view name) {
  return *std::find_if(c.parameters.begin(), c.parameters.end(), [&](const FittedParameter& p) { return p.name == name; });
}

constexpr std::pair<const char*, const char*> kSixNetworks[] = {{"resnet50", "imagenet"},     {"vgg16", "imagenet"},
                                                                {"inception-v3", "imagenet"}, {"alexnet", "imagenet"},
                                                                {"resnet152", "imagenet"},    {"resnet18", "cifar10"}};

}  // namespace

TEST_CASE("an overhead of every step is found, and is not taken for launches", "[calibration]") {
  // 40 ms that no operation explains. Launches alone would have to take hundreds of microseconds.
  sim::Device truth = tests::v100();
  truth.efficiency.step_overhead_s = 0.04;
  const auto rows = made_up(truth, {kSixNetworks[0], kSixNetworks[2], kSixNetworks[3], kSixNetworks[5]});
  const Calibration c = fit_v100(rows);
  CHECK(parameter(c, "step_overhead_s").determined);
  CHECK(c.efficiency.step_overhead_s == Approx(0.04).epsilon(0.1));
  CHECK(c.efficiency.launch_s < 3e-5);
  // A network that was not measured has it too.
  const auto other = made_up(truth, {kSixNetworks[1]});
  CHECK(summarise(compare(other, calibrated(tests::v100(), c))).median < 0.05);
  // Where there is none, none is found.
  const Calibration none = fit_v100(made_up(tests::v100(), {kSixNetworks[0], kSixNetworks[2]}));
  CHECK(none.efficiency.step_overhead_s < 1e-3);
}

TEST_CASE("an overhead that is not told from launches is assumed where the rows are more probable with it", "[calibration]") {
  // The lower quartile of a log-normal prior around 10 ms: 10 exp(-0.6745 x 1.4) = 10 exp(-0.9443) = 3.89 ms.
  CHECK(assumed_overhead_s() == Approx(3.89e-3).epsilon(1e-3));
  const auto at_one_batch = [](const sim::Device& truth) {
    auto rows = made_up(truth, {kSixNetworks[0], kSixNetworks[1]});
    std::erase_if(rows, [](const Measurement& m) { return m.batch_per_worker < 128; });
    return rows;
  };
  // One batch size of a slow stack: an overhead explains a part of what the models' factors would have to.
  sim::Device slow = tests::v100();
  slow.efficiency.step_overhead_s = 0.02;
  const auto rows = at_one_batch(slow);
  const Calibration assumed = fit_v100(rows);
  CHECK(assumed.efficiency.step_overhead_s == assumed_overhead_s());
  CHECK_FALSE(parameter(assumed, "step_overhead_s").determined);
  CHECK(parameter(assumed, "step_overhead_s").before == 0);  // the data sheet's, which is not kept
  CHECK(std::ranges::any_of(assumed.notes, [](const std::string& n) { return n.find("3.9 ms are assumed") != n.npos; }));
  // What was seen alone has none.
  const std::vector<Site> sites(rows.size(), {.device = tests::v100()});
  CHECK(calibrate(rows, sites, MeasurementModel(rows), {.assumes_overhead = false}).efficiency.step_overhead_s == 0);
  // Nor has a device that is as fast as its data sheet.
  CHECK(fit_v100(at_one_batch(tests::v100())).efficiency.step_overhead_s == 0);
}

TEST_CASE("the spread between models, by hand", "[calibration]") {
  // Four deviations of squares that add up to 1, prior 1: t^4 + 4 t^2 - 1 = 0, t^2 = sqrt(5) - 2.
  CHECK(most_probable_spread(4, 1, 1) == Approx(std::sqrt(std::sqrt(5.0) - 2)));
  // A wide prior leaves the mean square: 0.5.
  CHECK(most_probable_spread(4, 1, 1e3) == Approx(0.5).epsilon(1e-3));
  CHECK(most_probable_spread(4, 0, 1) == 0);
}

TEST_CASE("an unseen model inherits what the measured ones have in common", "[calibration]") {
  // Software that takes 1.6 times as long for every network.
  sim::Device slow = tests::v100();
  slow.efficiency.model_factor = 1.6;
  const auto six = made_up(slow, {kSixNetworks[0], kSixNetworks[1], kSixNetworks[2], kSixNetworks[3], kSixNetworks[5]});
  const auto unseen = made_up(slow, {kSixNetworks[4]});
  const Calibration c = fit_v100(six);
  const sim::Device fitted = calibrated(tests::v100(), c);
  CHECK(std::abs(summarise(compare(unseen, fitted)).bias) < 0.1);
  CHECK(c.model_spread < kModelSpread / 2);  // they are alike
  CHECK(c.unseen_sd >= c.model_spread);
  CHECK(std::none_of(c.notes.begin(), c.notes.end(), [](const std::string& n) { return n.find("prior's") != n.npos; }));
  // Its interval is wider than a measured one's, and holds what was made up.
  std::vector<Measurement> all = six;
  all.insert(all.end(), unseen.begin(), unseen.end());
  const MeasurementModel model(all);
  const double of_unseen = prediction_sd(unseen[2], {.device = tests::v100()}, model, c);
  CHECK(of_unseen > prediction_sd(six[2], {.device = tests::v100()}, model, c));
  for (const Measurement& m : unseen)
    CHECK(std::abs(std::log(model.step_s(m, {.device = fitted}) / m.step_s)) <
          1.645 * prediction_sd(m, {.device = tests::v100()}, model, c));
  // Two models identify no spread: the prior's, said.
  const Calibration two = fit_v100(made_up(slow, {kSixNetworks[0], kSixNetworks[1]}));
  CHECK(two.model_spread == kModelSpread);
  CHECK(
      std::any_of(two.notes.begin(), two.notes.end(), [](const std::string& n) { return n.find("2 models are measured") == 0; }));
  // Nothing measured: the priors.
  CHECK(prediction_sd(unseen[2], {.device = tests::v100()}, model, uncalibrated(tests::v100())) > of_unseen);
}

TEST_CASE("between measured batch sizes a model's factor is a mean, beyond them it fades, by hand", "[calibration]") {
  // 1.2 at 16 and 0.9 at 64. At 32 each is a third of three doublings away: sinh(1/3)/sinh(2/3) = 0.47345 of both logarithms,
  // 0.47345 (0.18232 - 0.10536) = 0.036437. A doubling beyond keeps exp(-1/3) = 0.71653 of the logarithm.
  const sim::ModelCorrection known{.model = "m", .batches = {{16, 1.2}, {64, 0.9}}};
  CHECK(sim::batch_factor(known, 32) == Approx(std::exp(0.036437)).epsilon(1e-5));
  CHECK(sim::batch_factor(known, 16) == 1.2);
  CHECK(sim::batch_factor(known, 64) == 0.9);
  CHECK(sim::batch_factor(known, 128) == Approx(std::exp(-0.71653 * 0.10536)).epsilon(1e-5));
  CHECK(sim::batch_factor(known, 8) == Approx(std::exp(0.71653 * 0.18232)).epsilon(1e-5));
  CHECK(sim::batch_factor({.model = "m"}, 32) == 1);
  // What is left open, of 0.15: nothing where it was measured; a doubling beyond sqrt(1 - exp(-2/3)) = 0.69756 of it; in the
  // middle (1 - exp(-2/3)) / sqrt(1 - exp(-4/3)) = 0.56702.
  CHECK(batch_sd(known, 16) == 0);
  CHECK(batch_sd(known, 32) == Approx(0.15 * 0.56702).epsilon(1e-4));
  CHECK(batch_sd(known, 128) == Approx(0.15 * 0.69756).epsilon(1e-4));
  CHECK(batch_sd(known, 8) == Approx(0.15 * 0.69756).epsilon(1e-4));
}

TEST_CASE("what batch sizes make of one model is learned, and stays that model's", "[calibration]") {
  // ResNet-50's time a sample rises with the batch, as nothing does that is modelled: padding, or a cache that overflows.
  auto rows = made_up(tests::v100(), {kSixNetworks[0], kSixNetworks[1]});
  for (Measurement& m : rows)
    if (m.model == "resnet50") m.step_s *= std::pow(m.batch_per_worker / 32, 0.25);
  std::vector<Measurement> known, held;
  for (const Measurement& m : rows) (m.batch_per_worker == 16 || m.batch_per_worker == 64 ? held : known).push_back(m);
  const Calibration c = fit_v100(known);
  const sim::Device fitted = calibrated(tests::v100(), c);
  CHECK(summarise(compare(held, fitted)).p90 < 0.04);
  const sim::ModelCorrection& own = correction_of(fitted, "resnet50", "imagenet");
  REQUIRE(own.batches.size() == 5);  // the three that were measured, and three doublings to both sides
  CHECK(own.batches.front().batch == 1);
  CHECK(own.batches.back().batch == 1024);
  CHECK(sim::batch_factor(own, 128) > 1.1);
  // It is not taken for the device's: another network is as it was.
  CHECK(summarise(compare(made_up(tests::v100(), {kSixNetworks[2]}), fitted)).p90 < 0.1);
  // Its own rows tell a model; so does an interval.
  const MeasurementModel model(rows);
  for (const Measurement& m : held)
    CHECK(std::abs(std::log(model.step_s(m, {.device = fitted}) / m.step_s)) <
          1.645 * prediction_sd(m, {.device = tests::v100()}, model, c));
}

TEST_CASE("what grows with the batch goes on growing beyond what was measured", "[calibration]") {
  // Of 8 to 64 a sample takes 2^0.15 times as long with every doubling; 128 was not measured.
  auto rows = made_up(tests::v100(), {kSixNetworks[0], kSixNetworks[1]});
  for (Measurement& m : rows)
    if (m.model == "resnet50") m.step_s *= std::pow(m.batch_per_worker / 32, 0.15);
  std::vector<Measurement> known, held;
  for (const Measurement& m : rows) (m.batch_per_worker == 128 ? held : known).push_back(m);
  const sim::Device fitted = calibrated(tests::v100(), fit_v100(known));
  const sim::ModelCorrection& own = correction_of(fitted, "resnet50", "imagenet");
  CHECK(sim::batch_factor(own, 128) > sim::batch_factor(own, 64));
  CHECK(sim::batch_factor(own, 256) > sim::batch_factor(own, 128));
  CHECK(summarise(compare(held, fitted)).p90 < 0.1);  // 0.13 where nothing grows
}

TEST_CASE("nine of ten, by hand", "[calibration]") {
  // The 18th of 19, as ceil(0.9 x 20) = 18; of nine the largest.
  std::vector<double> nineteen;
  for (int i = 19; i >= 1; --i) nineteen.push_back(0.01 * i);
  CHECK(tail_sd(nineteen) == Approx(0.18 / 1.645));
  CHECK(tail_sd({0.3, 0.1, 0.2}) == Approx(0.3 / 1.645));
}

TEST_CASE("each kind of kernel has an interval that holds nine of ten of shapes held out", "[calibration]") {
  // Products are met; convolutions are off by up to 60 % either way, evenly: more than the median says of all.
  std::vector<Measurement> rows;
  for (int m = 1; m <= 8; ++m)
    for (int n = 1; n <= 20; ++n) {
      rows.push_back({.kernel = GemmKernel{64 * m, 64 * n, 512}, .device = "v100", .source = "test"});
      if (m > 2) continue;
      rows.push_back({.kernel = ConvKernel{.batch = 8 * m,
                                           .height = 4 + 2 * n,
                                           .width = 4 + 2 * n,
                                           .channels = 64,
                                           .filters = 64,
                                           .window = {.height = 3, .width = 3, .pad_height = 1, .pad_width = 1}},
                      .device = "v100",
                      .source = "test"});
    }
  const MeasurementModel model(rows);
  int drawn = 0;
  for (Measurement& m : rows) {
    m.step_s = model.step_s(m, {.device = tests::v100()});
    if (subject(m) != "gemm") m.step_s *= std::exp(0.6 * (2 * std::fmod(0.618034 * ++drawn, 1) - 1));
  }
  const std::vector<Site> sites(rows.size(), {.device = tests::v100()});
  const auto predicted = predict(rows, sites, model, HoldOut::batches);
  std::map<std::string, std::pair<int, int>> inside;  // of how many
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& [within, of] = inside[subject(rows[i])];
    within += std::abs(std::log(predicted[i].model_s / rows[i].step_s)) <= 1.645 * predicted[i].log_sd ? 1 : 0;
    ++of;
  }
  CHECK(inside["gemm"].first == inside["gemm"].second);
  CHECK(inside["conv forward"].first >= 0.8 * inside["conv forward"].second);
  const Calibration c = fit_v100(rows);
  CHECK(c.residual_sd_of.at("conv forward") > 4 * c.residual_sd_of.at("gemm"));
}

TEST_CASE("a stack without the fast forms of convolutions is found", "[calibration]") {
  sim::Device plain = tests::v100();
  plain.efficiency.fast_forms = 0;
  const auto rows = made_up(plain, {kSixNetworks[0], kSixNetworks[1], kSixNetworks[2], kSixNetworks[3], kSixNetworks[4]});
  const Calibration c = fit_v100(rows);
  CHECK(c.efficiency.fast_forms < 0.3);  // the prior, of width 0.5 at 1, holds it back a little
  CHECK(parameter(c, "fast_forms").determined);
  CHECK(fit_v100(made_up(tests::v100(), {kSixNetworks[0], kSixNetworks[1], kSixNetworks[2]})).efficiency.fast_forms > 0.8);
}

TEST_CASE("what belongs to models and software goes from one device to another", "[calibration]") {
  // By hand: of launches two thirds of two devices' mean change are the software's: twice and four times as long as believed are
  // (2 x 4)^(1/3) = 2 times there. Overheads of 10 and 30 ms are 20; a model's factors 1.2 and 1.8 are sqrt(2.16).
  FittedDevice a{.before = tests::p100(), .calibration = {.efficiency = tests::p100().efficiency}}, b = a;
  a.calibration.efficiency.launch_s *= 2;
  b.calibration.efficiency.launch_s *= 4;
  a.calibration.efficiency.step_overhead_s = 0.01;
  b.calibration.efficiency.step_overhead_s = 0.03;
  a.calibration.corrections = {{.model = "m", .dataset = "d", .time_factor = 1.2, .batches = {{8, 1.1}, {16, 1}}}};
  b.calibration.corrections = {{.model = "m", .dataset = "d", .time_factor = 1.8, .batches = {{8, 1.3}, {16, 1}}},
                               {.model = "n", .dataset = "d", .time_factor = 3}};
  const FittedDevice both[] = {a, b};
  const sim::Device to = transferred(tests::v100(), both);
  CHECK(to.efficiency.launch_s == Approx(tests::v100().efficiency.launch_s * 2));
  CHECK(to.efficiency.step_overhead_s == Approx(0.02));
  CHECK(to.efficiency.conv == Approx(tests::v100().efficiency.conv));
  CHECK(to.peak_fp32_flops == tests::v100().peak_fp32_flops);
  CHECK(correction_of(to, "m", "d").time_factor == Approx(std::sqrt(1.2 * 1.8)));
  CHECK(correction_of(to, "n", "d").time_factor == Approx(3));
  CHECK(batch_factor(correction_of(to, "m", "d"), 8) == Approx(std::sqrt(1.1 * 1.3)));

  // Two devices of one software: a V100 that nobody measured is foretold by the P100's rows.
  sim::Device slow_p100 = tests::p100(), slow_v100 = tests::v100();
  for (sim::Device* device : {&slow_p100, &slow_v100}) {
    device->efficiency.step_overhead_s = 0.03;
    device->efficiency.model_factor = 1.3;
  }
  const auto networks = {kSixNetworks[0], kSixNetworks[2], kSixNetworks[3]};
  std::vector<Measurement> rows = made_up(slow_p100, networks);
  for (Measurement& m : rows) m.device = "p100";
  const auto there = made_up(slow_v100, networks);
  rows.insert(rows.end(), there.begin(), there.end());
  std::vector<Site> sites(there.size(), {.device = tests::p100()});
  sites.resize(rows.size(), {.device = tests::v100()});
  std::vector<Compared> before, after;
  const MeasurementModel model(rows);
  const auto predicted = predict(rows, sites, model, HoldOut::devices);
  for (std::size_t i = there.size(); i < rows.size(); ++i) {
    before.push_back({model.step_s(rows[i], sites[i]), rows[i].step_s});
    after.push_back({predicted[i].model_s, rows[i].step_s});
  }
  // From one device nobody knows how far another is from it: as wide as for a device that nobody measured.
  CHECK(predicted.back().log_sd > 0.2);
  CHECK(summarise(before).median > 0.25);
  CHECK(summarise(after).median < 0.06);
}

TEST_CASE("a worker that talks to parameter servers is fitted with the links of its site", "[calibration]") {
  std::vector<Measurement> rows = made_up(tests::v100(), {{"resnet50", "imagenet"}});
  const Site site{.device = tests::v100(), .inside = {1e10, 1e-5}, .network = {1e9, 5e-5}};
  for (Measurement& m : rows) m.sync = {sim::SyncKind::servers_sync, 1};
  const MeasurementModel model(rows);
  for (Measurement& m : rows) m.step_s = model.step_s(m, site);
  const std::vector<Site> sites(rows.size(), site);
  // Made by the device as it is: nothing needs to move.
  CHECK(calibrate(rows, sites, model).efficiency.conv == Approx(tests::kGpuEfficiency.conv).epsilon(0.01));
  for (const HoldOut by : {HoldOut::batches, HoldOut::models})
    for (const Predicted& p : predict(rows, sites, model, by)) CHECK(std::isfinite(p.model_s));
}

TEST_CASE("rows of several thread counts find what a CPU's core draws from memory", "[calibration]") {
  sim::Device truth = tests::knl();
  truth.core_bandwidth_bytes_per_s = 6e9;
  truth.efficiency.gemm = 0.5;
  std::vector<Measurement> rows;
  for (const int threads : {1, 4, 17, 68}) {
    for (const int numbers : {1'000'000, 3'000'000, 10'000'000, 30'000'000})
      rows.push_back({.kernel = ElementwiseKernel{numbers, 2}, .device = "knl-7250", .threads = threads});
    for (const int n : {256, 512, 1024, 2048})
      rows.push_back({.kernel = GemmKernel{n, n, n}, .device = "knl-7250", .threads = threads});
  }
  const MeasurementModel model(rows);
  for (Measurement& m : rows) m.step_s = model.step_s(m, {.device = truth});
  const std::vector<Site> sites(rows.size(), {.device = tests::knl()});
  const Calibration c = calibrate(rows, sites, model);
  CHECK(c.core_bandwidth_bytes_per_s == Approx(6e9).epsilon(0.1));
  CHECK(calibrated(tests::knl(), c).core_bandwidth_bytes_per_s == c.core_bandwidth_bytes_per_s);
  CHECK(c.efficiency.gemm == Approx(0.5).epsilon(0.1));
  CHECK(c.parameters.back().name == "core_bandwidth_bytes_per_s");
  CHECK(c.parameters.back().determined);
  // All cores together draw what memory gives: a core's share cannot be told, and stays. 68 x 12 GB/s is more than 450 x 0.84.
  std::vector<Measurement> all_cores;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(all_cores), [](const Measurement& m) { return m.threads == 68; });
  const Calibration blind = calibrate(all_cores, std::vector<Site>(all_cores.size(), {.device = tests::knl()}), model);
  CHECK_FALSE(blind.parameters.back().determined);
  CHECK(blind.core_bandwidth_bytes_per_s == 12e9);
  // Different sizes are different shapes to hold back: two folds, of four shapes a kind each alternate.
  CHECK(folds(rows, HoldOut::batches).size() == 2);
}

TEST_CASE("folds hold everything back once", "[calibration]") {
  std::vector<Measurement> rows;
  for (const double batch : {64, 8, 16, 32}) rows.push_back(step("resnet50", "imagenet", batch));
  rows.push_back(step("vgg16", "imagenet", 8));
  // In order of batch: 8, 16, 32, 64 of ResNet-50 alternate; VGG-16's only batch goes to the first fold.
  const auto by_batch = folds(rows, HoldOut::batches);
  REQUIRE(by_batch.size() == 2);
  CHECK(by_batch[0] == std::vector<std::size_t>{1, 3, 4});
  CHECK(by_batch[1] == std::vector<std::size_t>{2, 0});
  const auto by_model = folds(rows, HoldOut::models);
  REQUIRE(by_model.size() == 2);
  CHECK(by_model[0].size() == 4);
  CHECK(by_model[1] == std::vector<std::size_t>{4});
}

TEST_CASE("baselines, by hand", "[calibration]") {
  // Steps of 0.1 + 0.01 batch: a straight line through the other batches is exact. Twice the model's seconds with two workers.
  std::vector<Measurement> rows;
  for (const double batch : {10, 20, 40}) {
    rows.push_back(step("resnet50", "imagenet", batch));
    rows.back().step_s = 0.1 + 0.01 * batch;
  }
  rows.push_back(rows[1]);
  rows[3].workers = rows[3].workers_per_node = 2;
  rows[3].step_s = 0.36;
  const MeasurementModel model(rows);
  const std::vector<Site> sites(rows.size(), {.device = tests::v100(), .inside = {1e10, 1e-5}, .network = {1e9, 5e-5}});
  const auto predicted = predict(rows, sites, model, std::nullopt);
  for (int i = 0; i < 3; ++i) CHECK(predicted[i].straight_line_s == Approx(rows[i].step_s));
  CHECK(predicted[3].perfect_linear_s == 0.1 + 0.01 * 20);
  const double slowdown = model.step_s(rows[3], sites[3]) / model.step_s(rows[1], sites[1]);
  CHECK(slowdown > 1);
  CHECK(predicted[3].scaled_s == Approx(0.3 * slowdown));

  // A CPU's rows of two threads have a line of their own: 0.08 + 0.006 batch.
  for (std::size_t i = 0; i < 3; ++i) {
    rows[i].threads = 1;
    rows.push_back(rows[i]);
    rows.back().threads = 2;
    rows.back().step_s = 0.08 + 0.006 * rows[i].batch_per_worker;
  }
  const std::vector<Site> cpus(rows.size(), {.device = tests::knl(), .inside = {1e10, 1e-5}, .network = {1e9, 5e-5}});
  const auto by_threads = predict(rows, cpus, MeasurementModel(rows), std::nullopt);
  for (const std::size_t i : {0, 1, 2, 4, 5, 6}) CHECK(by_threads[i].straight_line_s == Approx(rows[i].step_s));
}

TEST_CASE("kernels are the layers' own operations", "[calibration]") {
  // 1760 x 16 x 1760: 2 m n k FLOPs, 4 (m k + k n + m n) bytes.
  const auto gemm = kernel_work(GemmKernel{1760, 16, 1760});
  REQUIRE(gemm.size() == 1);
  CHECK(gemm[0].flops.fixed == 2.0 * 1760 * 16 * 1760);
  CHECK(gemm[0].bytes.fixed == 4.0 * (1760 * 1760 + 2 * 16 * 1760));
  // An addition of two tensors of 1,000 numbers: 3 x 4,000 bytes.
  CHECK(kernel_work(ElementwiseKernel{1000, 2})[0].bytes.fixed == 12'000);
  CHECK(kernel_work(ElementwiseKernel{1000, 2})[0].flops.fixed == 1000);
  // DeepBench's first convolution: 700 x 161, 4 images, 32 filters of 20 x 5, stride 2: 341 x 79 positions. Its sheet for the M40
  // has 0.224 ms at 3.0787428571 TFLOP/s: 0.68964 GFLOP.
  ConvKernel conv{.batch = 4, .height = 161, .width = 700, .channels = 1, .filters = 32, .window = {5, 20, 2, 2, 0, 0}};
  CHECK(kernel_work(conv)[0].flops.fixed == Approx(0.224e-3 * 3.0787428571e12));
  conv.pass = Pass::backward;
  CHECK(kernel_work(conv).size() == 2);
  // An LSTM of 512 at batch 16 over 25 steps: 2 x 4 x 512 x 512 x 16 x 25 FLOPs in each pass (P100's sheet: 1.478 ms at
  // 0.5675668 TFLOP/s).
  for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::filter_gradient})
    CHECK(kernel_work(RecurrentKernel{.batch = 16, .hidden = 512, .steps = 25, .pass = pass})[0].flops.fixed ==
          2.0 * 4 * 512 * 512 * 16 * 25);
}
