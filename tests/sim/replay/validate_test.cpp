#include "sim/replay/validate.hpp"

#include <catch2/catch.hpp>

#include "sim/base/errors.hpp"

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
