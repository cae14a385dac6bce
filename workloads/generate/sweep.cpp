#include "workloads/generate/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/random.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/steps/op_time.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/steps/step_model.hpp"

namespace rehearse::workloads {
namespace {

template <std::size_t n>
int one_of(sim::Random& random, const std::array<int, n>& values) {
  return values[random.below(n)];
}

/// Images of 28 to 224 pixels, 1 to 32 blocks of 8 to 768 filters, up to 3 dense layers: from LeNet to beyond VGG and ResNet-50.
CnnStructure draw_cnn(sim::Random& random) {
  CnnStructure s;
  const int side = one_of<6>(random, {28, 32, 64, 96, 128, 224});
  s.image_height = s.image_width = side;
  s.channels = side == 28 ? 1 : 3;
  s.conv_layers = 1 + static_cast<int>(std::floor(32 * std::pow(random.uniform(), 2)));
  s.filters = one_of<6>(random, {8, 16, 32, 48, 64, 96});
  s.block = static_cast<Block>(random.below(4));
  s.kernel = s.block == Block::factorised ? one_of<3>(random, {3, 5, 7}) : one_of<6>(random, {1, 1, 3, 3, 3, 5});
  s.layers_per_pool = std::max(1, s.conv_layers / (2 + static_cast<int>(random.below(4))));
  s.dense_layers = static_cast<int>(random.below(4));
  s.nodes = one_of<6>(random, {64, 128, 256, 512, 1024, 4096});
  s.classes = one_of<4>(random, {10, 100, 200, 1000});
  s.batch_norm = random.below(2) == 1;
  return s;
}

RnnStructure draw_rnn(sim::Random& random) {
  RnnStructure s;
  s.cell = static_cast<Cell>(random.below(3));
  s.layers = 1 + static_cast<int>(random.below(5));
  s.hidden = one_of<6>(random, {64, 128, 256, 512, 1024, 1500});
  s.steps = one_of<6>(random, {10, 20, 35, 64, 128, 256});
  s.vocabulary = one_of<4>(random, {0, 1000, 10000, 33278});
  s.features = one_of<4>(random, {64, 128, 256, 512});
  s.classes = s.vocabulary > 0 ? s.vocabulary : one_of<3>(random, {2, 29, 1000});
  s.bidirectional = random.below(4) == 0;
  s.classify_every_step = random.below(2) == 1;
  return s;
}

struct Profiled {
  StepModel step;
  MemoryModel memory;
  explicit Profiled(const sim::OpGraph& graph) : step(graph), memory(graph, Optimizer::momentum) {}
};

SweepRow measure(const Profiled& profiled, const sim::Device& device, const Conditions& conditions) {
  const ComputeTime compute = profiled.step.compute_time(device, conditions);
  SweepRow row{.batch = conditions.batch,
               .power_limit_w = conditions.power_limit_w,
               .memory_bytes = profiled.memory.bytes(conditions.batch, conditions.precision)};
  row.step_s = compute.worker_s(0);
  row.energy_j = row.step_s * mean_power_w(compute.dynamic_energy_j, row.step_s, device);
  return row;
}

}  // namespace

std::vector<SweepNetwork> sweep_networks(const SweepSettings& settings) {
  std::vector<SweepNetwork> networks;
  for (int i = 0; static_cast<int>(networks.size()) < settings.networks; ++i) {
    const bool is_cnn = settings.kind == SweepKind::cnn;
    sim::Random random(sim::stream_key(settings.seed, 0, is_cnn ? "sweep cnn" : "sweep rnn", std::to_string(i)));
    SweepNetwork one;
    if (is_cnn)
      one.structure = draw_cnn(random);
    else
      one.structure = draw_rnn(random);
    one.samples = std::round(1000 * std::exp2(random.uniform(0, 10)));
    one.epochs = 1 + static_cast<int>(random.below(100));
    one.features = structure_features(std::visit([](const auto& s) { return make_network(s); }, one.structure));
    networks.push_back(std::move(one));
  }
  return networks;
}

double power_limit_w(const sim::Device& device, double share) {
  return device.kind == sim::DeviceKind::gpu && share < 1 ? std::round(share * device.busy_w) : 0;
}

std::vector<SweepRow> sweep_rows(std::span<const SweepNetwork> networks, std::span<const sim::Device> devices,
                                 std::span<const double> limits, const SweepSettings& settings) {
  std::vector<SweepRow> rows;
  for (std::size_t n = 0; n < networks.size(); ++n) {
    const Network network = std::visit([](const auto& s) { return make_network(s); }, networks[n].structure);
    const Profiled profiled(build_graph(network));
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const sim::Device& device = devices[d];
      for (int k = 0; k < settings.batches; ++k) {
        const double batch = std::exp2(2 + 2 * k + static_cast<int>(n % 2));  // 4, 16, 64, ... or 8, 32, 128, ...
        if (!profiled.memory.fits(batch, device, settings.precision)) break;
        for (const double share : limits) {
          if (share < 1 && device.kind == sim::DeviceKind::cpu) continue;
          SweepRow row = measure(profiled, device,
                                 {.batch = batch,
                                  .precision = settings.precision,
                                  .power_limit_w = power_limit_w(device, share),
                                  .threads = device.cores});
          sim::Random random(
              sim::stream_key(settings.seed, 0, "sweep noise", fmt::format("{}/{}/{}/{}", n, device.name, batch, share)));
          const double slower = random.log_normal_factor(settings.noise);
          row.step_s *= slower;
          row.energy_j *= slower * random.log_normal_factor(settings.noise);
          row.network = static_cast<int>(n);
          row.device = static_cast<int>(d);
          rows.push_back(row);
        }
      }
    }
  }
  return rows;
}

}  // namespace rehearse::workloads
