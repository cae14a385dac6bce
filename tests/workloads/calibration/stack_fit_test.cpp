#include "workloads/calibration/stack_fit.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/workloads/devices.hpp"
#include "workloads/calibration/validation.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
namespace tests = rehearse::tests;

namespace {

const std::vector<sim::Stack> kStacks{{.name = "eager", .source = "a test's"}, {.name = "compiled"}};

Measurement on_gpu(const char* model, const char* dataset, double batch, const char* source) {
  return {.model = model, .dataset = dataset, .device = "v100", .batch_per_worker = batch, .source = source};
}

/// Three models of one laboratory on a V100 with the stack's software: without noise.
std::vector<Measurement> measured_on(const sim::Stack& truth, const char* source) {
  std::vector<Measurement> all;
  for (const auto& [model, dataset] : {std::pair{"resnet50", "imagenet"}, {"resnet18", "cifar10"}, {"bert", "squad"}})
    for (const double batch : {4, 16, 64}) all.push_back(on_gpu(model, dataset, batch, source));
  const MeasurementModel model(all);
  for (Measurement& m : all) m.step_s = model.step_s(m, {.device = on_stack(tests::v100(), truth)});
  return all;
}

}  // namespace

TEST_CASE("a device on a stack, by hand", "[stacks]") {
  // Half as much again for the computation; launches, dispatch, overhead and fast forms are the stack's.
  const sim::Stack stack{.time_factor = 1.5, .launch_s = 4e-5, .host_s_per_op = 3e-5, .step_overhead_s = 0.02, .fast_forms = 0.5};
  sim::Device sheet = tests::v100();
  sheet.efficiency.model_factor = 1.2;
  const sim::Device there = on_stack(sheet, stack);
  CHECK(there.efficiency.model_factor == Approx(1.8));
  CHECK(there.efficiency.launch_s == 4e-5);
  CHECK(there.efficiency.host_s_per_op == 3e-5);
  CHECK(there.efficiency.step_overhead_s == 0.02);
  CHECK(there.efficiency.fast_forms == 0.5);
  CHECK(there.efficiency.conv == sheet.efficiency.conv);

  SECTION("not one that was measured, nor a CPU") {
    sim::Device measured = tests::v100();
    measured.stack = "eager";
    CHECK(on_stack(measured, stack).efficiency.launch_s == measured.efficiency.launch_s);
    sim::Device corrected = tests::v100();
    corrected.corrections.push_back({.model = "resnet50", .time_factor = 1.1});
    CHECK(on_stack(corrected, stack).efficiency.model_factor == 1);
    sim::Device cpu = tests::v100();
    cpu.kind = sim::DeviceKind::cpu;
    CHECK(on_stack(cpu, stack).efficiency.step_overhead_s == 0);
  }
}

TEST_CASE("the mean of stacks counts each the same and half of the prior's variance as the laboratory's", "[stacks]") {
  // Launches of 20 and 80 us are 2 and 8 times the prior's 10: (ln 2 + ln 8) / 3 = ln 16 / 3, so 10 x 16^(1/3) us. Fast forms of
  // 1 and 0.4 are 0 and -0.6 from 1: -0.2. Overheads of 10 ms are the prior's.
  const sim::Stack fits[] = {{.name = "eager", .launch_s = 20e-6, .step_overhead_s = 0.01, .fast_forms = 1},
                             {.name = "eager", .launch_s = 80e-6, .step_overhead_s = 0.01, .fast_forms = 0.4}};
  const sim::Stack mean = mean_stack(fits);
  CHECK(mean.name == "eager");
  CHECK(mean.launch_s == Approx(1e-5 * std::cbrt(16)));
  CHECK(mean.fast_forms == Approx(0.8));
  CHECK(mean.step_overhead_s == Approx(0.01));
  CHECK(mean.time_factor == Approx(1));
  // Of one fit half of its logarithm is the stack's: 10 x sqrt(8) us.
  CHECK(mean_stack(std::span(fits).subspan(1)).launch_s == Approx(1e-5 * std::sqrt(8)));
}

TEST_CASE("a source's words name laboratory and stack", "[stacks]") {
  const Measurement m = on_gpu("resnet50", "imagenet", 8, "lab run 7 eager");
  CHECK(laboratory_of(m) == "lab");
  CHECK(stack_of(m, kStacks) == "eager");
  CHECK(stack_of(on_gpu("resnet50", "imagenet", 8, "lab eagerly"), kStacks).empty());
  CHECK(stack_of(on_gpu("resnet50", "imagenet", 8, ""), kStacks).empty());
  CHECK(stack_of(on_gpu("resnet50", "imagenet", 8, "lab compiled, once eager"), kStacks) == "eager");
}

TEST_CASE("sets are of one laboratory and stack, of single workers on GPUs that nobody has measured", "[stacks]") {
  std::vector<Measurement> rows{on_gpu("resnet50", "imagenet", 8, "b eager"), on_gpu("resnet50", "imagenet", 8, "a eager"),
                                on_gpu("resnet50", "imagenet", 8, "a"), on_gpu("resnet50", "imagenet", 16, "a eager"),
                                on_gpu("resnet50", "imagenet", 32, "a eager")};
  rows[3].workers = 2;
  std::vector<Site> sites(rows.size(), {.device = tests::v100()});
  sites[4].device.stack = "measured";
  const std::vector<StackSet> sets = stack_sets(rows, sites, kStacks);
  REQUIRE(sets.size() == 2);
  CHECK(sets[0].laboratory == "a");
  CHECK(sets[0].rows == std::vector<std::size_t>{1});
  CHECK(sets[1].rows == std::vector<std::size_t>{0});
}

TEST_CASE("what a stack adds is found again in rows without noise", "[stacks]") {
  const sim::Stack truth{.name = "eager", .time_factor = 1.3, .launch_s = 6e-5, .step_overhead_s = 0.015};
  const std::vector<Measurement> rows = measured_on(truth, "lab eager");
  const std::vector<Site> sites(rows.size(), {.device = tests::v100()});
  const std::vector<StackSet> sets = stack_sets(rows, sites, kStacks);
  REQUIRE(sets.size() == 1);
  const sim::Stack fitted = fit_stack(kStacks[0], rows, sites, sets[0], MeasurementModel(rows));
  // The factor is shared with the device's and models' own, whose priors are nearly as wide.
  CHECK(fitted.time_factor > 1.1);
  CHECK(fitted.time_factor < 1.35);
  CHECK(fitted.launch_s == Approx(6e-5).epsilon(0.3));
  CHECK(fitted.step_overhead_s == Approx(0.015).epsilon(0.3));
  CHECK(fitted.source == "a test's");
}

TEST_CASE("a laboratory's rows are predicted by the others' with the same stack", "[stacks]") {
  const sim::Stack truth{.name = "eager", .time_factor = 1.3, .launch_s = 6e-5, .step_overhead_s = 0.015};
  std::vector<Measurement> rows;
  for (const char* source : {"a eager", "b eager", "c eager", "d compiled"})
    for (Measurement& m : measured_on(truth, source)) rows.push_back(std::move(m));
  const std::vector<Site> sites(rows.size(), {.device = tests::v100()});
  const MeasurementModel model(rows);
  const std::vector<Predicted> sheets = predict(rows, sites, model, std::nullopt, kStacks);
  const std::vector<Predicted> held = predict(rows, sites, model, HoldOut::stacks, kStacks);
  const auto error = [&](const Predicted& p, std::size_t i) { return std::abs(std::log(p.model_s / rows[i].step_s)); };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    INFO(i);
    CHECK(sheets[i].ground == Ground::uncalibrated);
    const bool is_alone = rows[i].source == "d compiled";
    CHECK(held[i].ground == (is_alone ? Ground::untestable : Ground::transferred));
    if (is_alone)
      CHECK(std::isnan(held[i].model_s));
    else
      CHECK(error(held[i], i) < 0.75 * error(sheets[i], i));  // a third, and what devices and models may have, is nobody else's
  }
  // What the others have does not depend on the laboratory's own rows: seconds twice as long leave the prediction as it is.
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].source == "a eager") rows[i].step_s *= 2;
  const std::vector<Predicted> again = predict(rows, sites, model, HoldOut::stacks, kStacks);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].source == "a eager") CHECK(again[i].model_s == held[i].model_s);
}

TEST_CASE("what is held back is predicted by rows of its own software", "[stacks]") {
  // The same models on the same device, three times as slow on the second stack: as if each had a file of its own.
  const sim::Stack quick{.name = "eager", .time_factor = 1.1, .launch_s = 2e-5, .step_overhead_s = 0.005};
  const sim::Stack slow{.name = "compiled", .time_factor = 3.3, .launch_s = 6e-5, .step_overhead_s = 0.015};
  const std::vector<Measurement> first = measured_on(quick, "a eager"), second = measured_on(slow, "b compiled");
  std::vector<Measurement> both = first;
  both.insert(both.end(), second.begin(), second.end());
  const auto held = [](const std::vector<Measurement>& rows, HoldOut by) {
    const std::vector<Site> sites(rows.size(), {.device = tests::v100()});
    return predict(rows, sites, MeasurementModel(rows), by, kStacks);
  };
  for (const HoldOut by : {HoldOut::batches, HoldOut::models}) {
    std::vector<Predicted> alone = held(first, by);
    for (Predicted& p : held(second, by)) alone.push_back(p);
    const std::vector<Predicted> together = held(both, by);
    for (std::size_t i = 0; i < both.size(); ++i) {
      INFO(i);
      CHECK(together[i].model_s == alone[i].model_s);
    }
  }
}
