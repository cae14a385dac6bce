#include "workloads/calibration/link_calibration.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/workloads/devices.hpp"
#include "workloads/calibration/link_validation.hpp"
#include "workloads/calibration/validation.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
namespace tests = rehearse::tests;

namespace {

Measurement step(const char* model, double batch, int nodes, int on_node) {
  return {.model = model,
          .dataset = "imagenet",
          .device = "v100",
          .nodes = nodes,
          .workers_per_node = on_node,
          .workers = nodes * on_node,
          .batch_per_worker = batch,
          .source = "test"};
}

Measurement alone(Measurement m) {
  m.nodes = m.workers_per_node = m.workers = 1;
  return m;
}

const Site kStart{.device = tests::v100(), .inside = {1e10, 1e-5}, .network = {1.25e9, 5e-5}};

}  // namespace

TEST_CASE("links that made the slowdown are found again", "[links]") {
  const Site truth{.device = tests::v100(), .inside = {2e9, 1e-5}, .network = {4e8, 5e-5}, .overlap = 2};
  std::vector<Measurement> rows;
  for (const char* model : {"resnet50", "vgg16"})
    for (const int nodes : {1, 2, 4})
      for (const int on_node : {1, 2, 4})
        for (const double batch : {16, 64})
          if (nodes * on_node > 1) rows.push_back(step(model, batch, nodes, on_node));
  const MeasurementModel model(rows);
  std::vector<ScaledOut> pairs;
  for (Measurement& m : rows) {
    m.step_s = model.step_s(m, truth);
    pairs.push_back({&m, model.step_s(alone(m), truth)});
  }
  const LinkCalibration c = calibrate_links(pairs, model, kStart);
  CHECK(c.site.inside.bandwidth_bytes_per_s == Approx(2e9).epsilon(0.1));
  CHECK(c.site.network.bandwidth_bytes_per_s == Approx(4e8).epsilon(0.1));
  CHECK(c.site.overlap == Approx(2).epsilon(0.1));
  CHECK(c.worker_factor.empty());
  for (const ScaledOut& pair : pairs) CHECK(scaled_out_s(pair, model, c) == Approx(pair.several->step_s).epsilon(0.02));
}

namespace {

/// Steps of a node of eight whose workers share more or less of it, and what is fitted to them.
struct SharedNode {
  std::vector<Measurement> rows;
  LinkCalibration fitted;
};

SharedNode fit_shared(double contention, std::initializer_list<int> counts, double noise = 0) {
  Site truth = kStart;
  truth.inside = {2e9, 1e-5, contention};
  truth.overlap = 2;
  SharedNode node;
  for (const char* model : {"resnet50", "vgg16", "inception-v3"})
    for (const int workers : counts)
      for (const double batch : {16, 64}) node.rows.push_back(step(model, batch, 1, workers));
  const MeasurementModel model(node.rows);
  std::vector<ScaledOut> pairs;
  for (Measurement& m : node.rows) {
    noise = -noise;
    m.step_s = std::exp(noise) * model.step_s(m, truth);
    pairs.push_back({&m, model.step_s(alone(m), truth)});
  }
  node.fitted = calibrate_links(pairs, model, kStart);
  return node;
}

const FittedParameter& contention_of(const SharedNode& node) {
  const auto found = std::ranges::find(node.fitted.parameters, "inside contention", &FittedParameter::name);
  REQUIRE(found != node.fitted.parameters.end());
  return *found;
}

std::size_t notes_of(const SharedNode& node, const char* words) {
  const auto has = [words](const std::string& note) { return note.find(words) != std::string::npos; };
  return static_cast<std::size_t>(std::ranges::count_if(node.fitted.notes, has));
}

}  // namespace

TEST_CASE("how much the workers of a node share is found again", "[links]") {
  for (const double truth : {1.0, 0.5}) {
    const SharedNode node = fit_shared(truth, {2, 4, 8}, 0.01);
    CHECK(contention_of(node).determined);
    CHECK(node.fitted.site.inside.contention == Approx(truth).margin(0.1));
    CHECK(node.fitted.site.inside.bandwidth_bytes_per_s == Approx(2e9).epsilon(0.15));
    CHECK(notes_of(node, "contention") == 0);
  }
}

TEST_CASE("contention that rows do not tell keeps its value, and that is said", "[links]") {
  const SharedNode one_count = fit_shared(1, {8}), none = fit_shared(0, {2, 4, 8}, 0.01);
  for (const SharedNode* node : {&one_count, &none}) {
    CHECK_FALSE(contention_of(*node).determined);
    CHECK(node->fitted.site.inside.contention == 0);
    CHECK(notes_of(*node, "contention") == 1);
    CHECK(notes_of(*node, "loaders") == 1);
    CHECK(node->fitted.loader_s.empty());
  }
}

TEST_CASE("links are asked for numbers of workers that they were not fitted to", "[links]") {
  Site truth = kStart;
  truth.inside = {2e9, 1e-5};
  truth.overlap = 2;
  std::vector<Measurement> rows;
  for (const char* model : {"resnet50", "vgg16"})
    for (const int workers : {2, 4, 8})
      for (const double batch : {16, 64}) rows.push_back(step(model, batch, 1, workers));
  const MeasurementModel model(rows);
  std::vector<ScaledOut> pairs, of_four;
  std::vector<double> truth_s;
  for (Measurement& m : rows) {
    truth_s.push_back(model.step_s(m, truth));
    // Four workers are the second number of three, and left out together: what makes them half as slow again nobody else knows.
    m.step_s = truth_s.back() * (m.workers == 4 ? 1.5 : 1);
    pairs.push_back({&m, model.step_s(alone(m), truth)});
    if (m.workers == 4) of_four.push_back(pairs.back());
  }
  const std::vector<double> left_out_s = left_out_counts_s(pairs, model, kStart);
  REQUIRE(left_out_s.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].workers == 4) CHECK(left_out_s[i] == Approx(truth_s[i]).epsilon(0.02));
  // Fitted to the four alone, links follow them; of another number they then say nothing.
  CHECK(left_out_counts_s(of_four, model, kStart).empty());
}

TEST_CASE("loaders that share a node's CPUs are found of the models that they hold back", "[links]") {
  // 2 ms of all CPUs a sample: 8 x 64 x 2 ms = 1.02 s for the steps of eight workers, where one computes in half a second or
  // less.
  Site truth = kStart;
  truth.overlap = 2;
  std::vector<Measurement> rows;
  for (const char* model : {"resnet50", "vgg16"})
    for (const int workers : {2, 4, 8})
      for (const double batch : {16, 64}) rows.push_back(step(model, batch, 1, workers));
  const MeasurementModel model(rows);
  Site loading = truth;
  loading.device.corrections = {{.model = "resnet50", .dataset = "imagenet", .loader_s = 2e-3}};
  std::vector<ScaledOut> pairs;
  for (Measurement& m : rows) {
    m.step_s = model.step_s(m, loading);
    pairs.push_back({&m, model.step_s(alone(m), loading)});
  }
  CHECK(rows[5].step_s == Approx(8 * 64 * 2e-3).epsilon(0.05));
  const LinkCalibration c = calibrate_links(pairs, model, kStart);
  REQUIRE(c.loader_s.contains("resnet50/imagenet"));
  CHECK(c.loader_s.at("resnet50/imagenet") == Approx(2e-3).epsilon(0.05));
  CHECK_FALSE(c.loader_s.contains("vgg16/imagenet"));  // its rows tell of none
  for (const ScaledOut& pair : pairs) CHECK(scaled_out_s(pair, model, c) == Approx(pair.several->step_s).epsilon(0.03));
}

TEST_CASE("of curves over workers, the server, the bend and the worker's own time are found without a single worker", "[links]") {
  Site truth = kStart;
  truth.server_bytes_per_s = 2e9;  // 0.05 s of 102 MB to apply, 0.16 s to move
  truth.server_overlap = 3;
  std::vector<Measurement> rows;
  for (const int workers : {2, 4, 6, 8, 12, 16}) rows.push_back(step("resnet50", 64, workers, 1));
  for (Measurement& m : rows) m.sync = {sim::SyncKind::servers_async, 1};
  const MeasurementModel model(rows);
  Site slow = truth;  // the workers take longer than the device is believed to
  slow.device.corrections = {{.model = "resnet50", .dataset = "imagenet", .time_factor = 10}};
  std::vector<ScaledOut> curve;
  for (Measurement& m : rows) {
    m.step_s = model.step_s(m, slow);
    curve.push_back({&m});
    CHECK(tells_of_links(curve.back()));
  }
  const LinkCalibration c = calibrate_links(curve, model, kStart);
  REQUIRE(c.worker_factor.size() == 1);
  CHECK(c.worker_factor.begin()->second == Approx(10).epsilon(0.1));
  CHECK(c.site.server_overlap == Approx(3).epsilon(0.15));
  for (const ScaledOut& one : curve) CHECK(scaled_out_s(one, model, c) == Approx(one.several->step_s).epsilon(0.02));
  const StepInputs inputs = model.step_inputs(rows[0], slow);
  const double knee = inputs.compute.total_s() / push_s(inputs.gradient_bytes, inputs.servers);
  CHECK(knee > 4);
  CHECK(knee < 16);
  CHECK(knee_workers(curve[0], model, c) == Approx(knee).epsilon(0.1));

  // A ring's rows say nothing without a single worker beside them.
  Measurement ring = step("resnet50", 64, 1, 4);
  CHECK_FALSE(tells_of_links(against_one(ring, rows)));
  std::vector<Measurement> with_one{alone(ring)};
  with_one[0].step_s = 0.25;
  CHECK(against_one(ring, with_one).one_s == 0.25);
  with_one[0].batch_per_worker = 32;
  CHECK(std::isnan(against_one(ring, with_one).one_s));
}

TEST_CASE("knees, by hand", "[links]") {
  // 1, 2, 4 and 8 workers, 1 s alone: 1, 2, 3.2 and 3.2 steps a second. Linear growth meets 3.2 at 3.2 workers: nearest to 4.
  std::vector<Measurement> rows;
  std::vector<Predicted> predicted;
  for (const auto& [workers, throughput] : {std::pair{1, 1.0}, {2, 2.0}, {4, 3.2}, {8, 3.2}}) {
    rows.push_back(step("resnet50", 64, workers, 1));
    rows.back().sync.kind = sim::SyncKind::servers_async;
    rows.back().step_s = workers / throughput;
    predicted.push_back({.knee_workers = 3});  // ln(4/3) = 0.29 from 4, ln(3/2) = 0.41 from 2
  }
  REQUIRE(knees(rows, predicted).size() == 1);
  CHECK(knees(rows, predicted)[0].measured_workers == Approx(3.2));
  CHECK(knees(rows, predicted)[0].counts_off == 0);
  predicted[3].knee_workers = 0.5;  // nearest to 1, two counts below
  CHECK(knees(rows, predicted)[0].counts_off == 2);
  predicted[0].knee_workers = predicted[1].knee_workers = kNotMeasured;  // rows without a prediction leave two counts
  CHECK(knees(rows, predicted).empty());
}
