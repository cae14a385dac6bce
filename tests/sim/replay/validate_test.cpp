#include <catch2/catch.hpp>
#include <memory>

#include "sim/base/errors.hpp"
#include "sim/replay/decisions.hpp"
#include "sim/step/cpu_step.hpp"

using namespace rehearse::sim;

TEST_CASE("operations lie on the workers of the node, each on one") {
  const OpGraph graph{.name = "two", .ops = {{.name = "first"}, {.name = "second"}}};
  CHECK_NOTHROW(validate_step_plan(graph, 2, {.replicas = 1, .device_of_op = {0, 1}}));
  CHECK_THROWS_AS(validate_step_plan(graph, 2, {.replicas = 1, .device_of_op = {0, 2}}), PolicyError);
  CHECK_THROWS_AS(validate_step_plan(graph, 2, {.replicas = 1, .device_of_op = {0, -1}}), PolicyError);
  CHECK_THROWS_AS(validate_step_plan(graph, 2, {.replicas = 1, .device_of_op = {0}}), PolicyError);
  CHECK_THROWS_AS(validate_step_plan(graph, 2, {.replicas = 2, .device_of_op = {0, 1}}), PolicyError);
  CHECK_NOTHROW(validate_step_plan(graph, 2, {.replicas = 2}));
  CHECK_THROWS_AS(validate_step_plan(graph, 2, {.replicas = 1}), PolicyError);
}

TEST_CASE("threads lie within the CPU, of each operation and of those side by side") {
  // 4 cores of two threads each.
  const Device cpu{.name = "cpu", .kind = DeviceKind::cpu, .cores = 4, .threads_per_core = 2};
  const OpGraph graph{.name = "two", .ops = {{.name = "first"}, {.name = "second"}}};
  const auto check = [&](const ThreadPlan& plan) { validate_thread_plan(graph, cpu, plan); };
  CHECK_NOTHROW(check({.inter_op = 1, .intra_op = 8}));
  CHECK_THROWS_AS(check({.inter_op = 1, .intra_op = 9}), PolicyError);
  CHECK_THROWS_AS(check({.inter_op = 0, .intra_op = 1}), PolicyError);
  CHECK_THROWS_AS(check({.inter_op = 9, .intra_op = 1}), PolicyError);
  CHECK_THROWS_AS(check({.profiling_steps = -1}), PolicyError);
  const auto scheduled = [&](const CpuPlan& schedule) { check({.schedule = std::make_shared<const CpuPlan>(schedule)}); };
  CHECK_NOTHROW(scheduled({.threads = {1, 4}}));
  CHECK_THROWS_AS(scheduled({.threads = {1, 5}}), PolicyError);  // at most the cores
  CHECK_NOTHROW(scheduled({.dispatch = Dispatch::slots, .threads = {1, 8}, .slots = 8}));
  CHECK_THROWS_AS(scheduled({.dispatch = Dispatch::slots, .threads = {1, 9}}), PolicyError);
  CHECK_THROWS_AS(scheduled({.dispatch = Dispatch::slots, .threads = {1, 8}, .slots = 9}), PolicyError);
  CHECK_THROWS_AS(scheduled({.threads = {0, 1}}), PolicyError);
  CHECK_THROWS_AS(scheduled({.threads = {1}}), PolicyError);
  CHECK_THROWS_AS(scheduled({.threads = {1, 1}, .priority = {1}}), PolicyError);
  CHECK_THROWS_AS(scheduled({.threads = {1, 1}, .co_run = true}), PolicyError);
}
