#include "workloads/steps/step_model.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/base/units.hpp"
#include "tests/workloads/devices.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;
namespace tests = rehearse::tests;

namespace {

struct Measured {
  sim::Device device;
  const char* model;
  double batch, images_per_s;
};

double predicted_images_per_s(const Measured& row) {
  const ComputeTime t = StepModel(zoo_graph(row.model)).compute_time(row.device, {.batch = row.batch});
  return row.batch / std::max(t.total_s(), t.host_s);
}

}  // namespace

TEST_CASE("the sum over operations, each on the grid, is exact", "[step]") {
  for (const char* model : {"resnet50", "nmt", "dcgan"}) {
    const sim::OpGraph graph = zoo_graph(model);
    for (const sim::Device& device : {tests::v100(), tests::knl()}) {
      const Conditions conditions{.batch = 24, .time_factor = 1.1};
      ComputeTime sum;
      int operations = 0;
      for (const sim::Op& op : graph.ops) {
        const double duration_s = op_duration_s(work_of(op), device, conditions);
        (op.phase == sim::Phase::forward    ? sum.forward_s
         : op.phase == sim::Phase::backward ? sum.backward_s
                                            : sum.update_s) += duration_s;
        operations += op.repeats;
      }
      const StepModel step(graph);
      const ComputeTime t = step.compute_time(device, conditions);
      CHECK(t.forward_s == sum.forward_s);
      CHECK(t.backward_s == sum.backward_s);
      CHECK(t.update_s == sum.update_s);
      CHECK(t.host_s == operations * device.efficiency.host_s_per_op);
      CHECK(step.operations() == operations);
    }
  }
}

TEST_CASE("gradients and input, by hand", "[step]") {
  const StepModel step(zoo_graph("resnet50"));
  CHECK(step.gradient_bytes(sim::Precision::fp32) == 4.0 * 25'557'032);
  CHECK(step.gradient_bytes(sim::Precision::fp16) == 2.0 * 25'557'032);
  CHECK(step.input_s(64, 108e6) == Approx(0.064));  // 64 x 110 kB at 110 MB/s
  CHECK(step.input_s(64, 0) == 0);
}

TEST_CASE("step time rises with the batch, and falls for each sample", "[step]") {
  for (const char* model : {"resnet50", "rnnlm"}) {
    const StepModel step(zoo_graph(model));
    for (const sim::Device& device : {tests::k80(), tests::h100(), tests::knl()}) {
      double previous_s = 0;
      for (double batch : {1, 4, 16, 64, 256}) {
        const double total_s = step.compute_time(device, {.batch = batch}).total_s();
        INFO(model << " " << device.name << " " << batch);
        CHECK(total_s >= previous_s);
        if (previous_s > 0) CHECK(total_s / batch < previous_s / (batch / 4) * 1.001);
        previous_s = total_s;
      }
    }
  }
}

// One set of efficiencies for all of Pascal and Volta, one for Kepler (devices.hpp), none for a single row.
TEST_CASE("images per second are near TensorFlow's measurements of 2017", "[step]") {
  // tensorflow.org/performance/benchmarks, May 2017: synthetic data, one GPU; K80 on Google Cloud, P100 in a DGX-1. Its ResNets
  // put the stride into the first 1 x 1 convolution: 6 % less arithmetic in ResNet-50 than here.
  const Measured rows[] = {{tests::k80(), "inception-v3", 64, 30.5}, {tests::k80(), "resnet50", 64, 51.9},
                           {tests::k80(), "resnet152", 32, 20.0},    {tests::k80(), "alexnet", 512, 656},
                           {tests::k80(), "vgg16", 32, 35.4},        {tests::p100(), "inception-v3", 64, 142},
                           {tests::p100(), "resnet50", 64, 219},     {tests::p100(), "resnet152", 64, 91.8},
                           {tests::p100(), "alexnet", 512, 2987},    {tests::p100(), "vgg16", 64, 154},
                           {tests::p100(), "inception-v3", 32, 128}, {tests::p100(), "resnet50", 32, 195},
                           {tests::p100(), "resnet152", 32, 82.7},   {tests::p100(), "vgg16", 32, 144}};
  double sum = 0;
  for (const Measured& row : rows) {
    const double error = predicted_images_per_s(row) / row.images_per_s - 1;
    UNSCOPED_INFO(row.device.name << " " << row.model << " " << row.batch << " " << 100 * error << " %");
    CHECK(std::abs(error) < 0.27);
    sum += std::abs(error);
  }
  CHECK(sum / std::size(rows) < 0.12);
}

TEST_CASE("seconds a step of ResNet-50 are near PyTorch's measurements", "[step]") {
  // Gavel (OSDI 2020): P100 0.056 + 0.0046 b, V100 0.042 + 0.0028 b. Their fixed parts, and Kepler's slower PyTorch, belong to
  // another software stack: checked where the variable part dominates.
  for (double batch : {64, 128}) {
    const double p100_s = 0.056 + 0.0046 * batch, v100_s = 0.042 + 0.0028 * batch;
    CHECK(batch / predicted_images_per_s({tests::p100(), "resnet50", batch, 0}) == Approx(p100_s).epsilon(0.2));
    CHECK(batch / predicted_images_per_s({tests::v100(), "resnet50", batch, 0}) == Approx(v100_s).epsilon(0.2));
  }
}

TEST_CASE("newer devices are faster, half precision is faster, a CPU is the slowest", "[step]") {
  const StepModel step(zoo_graph("resnet50"));
  const auto total_s = [&](const sim::Device& d, sim::Precision p = sim::Precision::fp32) {
    return step.compute_time(d, {.batch = 64, .precision = p}).total_s();
  };
  CHECK(total_s(tests::k80()) > total_s(tests::t4()));
  CHECK(total_s(tests::t4()) > total_s(tests::p100()));
  CHECK(total_s(tests::p100()) > total_s(tests::v100()));
  CHECK(total_s(tests::v100()) > total_s(tests::a100()));
  CHECK(total_s(tests::a100()) > total_s(tests::h100()));
  CHECK(total_s(tests::v100()) > total_s(tests::v100(), sim::Precision::fp16));
  CHECK(total_s(tests::knl()) > total_s(tests::p100()));
}
