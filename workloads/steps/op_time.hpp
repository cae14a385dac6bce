// How long one operation takes on one device: a smooth roofline on a GPU, and the thread-count model of a CPU
// (docs/explain/step.md, "GPU operation time", "CPU operation time against threads").
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "sim/cluster/cluster.hpp"
#include "sim/step/op_graph.hpp"

namespace rehearse::workloads {

inline constexpr double kCpuTile = 32;           ///< side of a CPU thread's piece of a product
inline constexpr double kCpuVector = 16;         ///< numbers of single precision in a vector register (AVX-512)
inline constexpr double kCpuChunkBytes = 16384;  ///< of a CPU thread's piece of a streaming operation

/// Of operations of this kind, relative to the device's peak.
double efficiency_of(const sim::Efficiency& efficiency, sim::OpKind kind);

/// Under which an operation runs.
struct Conditions {
  double batch = 1;  ///< samples on this device
  sim::Precision precision = sim::Precision::fp32;
  double time_factor = 1;    ///< multiplies the duration: how the world differs from the belief
  double launch_factor = 1;  ///< of the launches alone: how one model's software differs (sim::ModelCorrection)
  double power_factor = 1;   ///< likewise of the watts above PowerLaw::running_w
  double wait_share = 0;     ///< as sim::ModelCorrection has it
  double loader_s = 0;       ///< likewise
  double power_limit_w = 0;  ///< of the device; 0: none
  int threads = 0;           ///< of a CPU; 0: its physical cores
};

/// With what one model's software does differently on the device, as measured.
Conditions corrected(Conditions conditions, const sim::Device& device, std::string_view model, std::string_view dataset);

/// What an operation's duration depends on; equal for the many like operations of a network.
struct OpWork {
  sim::OpKind kind = sim::OpKind::elementwise;
  sim::Affine flops, bytes;
  sim::MatrixShape matrix;
  int repeats = 1;
  double relative_efficiency = 1;
  std::vector<sim::FastForm> fast_forms;
  double products = 1;  ///< equal ones of this shape side by side
  bool operator==(const OpWork&) const;
};

OpWork work_of(const sim::Op& op);

/// What an operation's time is made of, at full clock.
struct OpParts {
  double arithmetic_s = 0;
  double memory_s = 0;
  double transform_s = 0;  ///< memory traffic before and after
  double fixed_s = 0;      ///< launches, and waiting
  double peak_s = 0;       ///< of the arithmetic at the device's peak: what its energy goes with
  /// Of arithmetic and memory_s: a GPU's hinder each other somewhat.
  enum class Overlap : std::uint8_t { full, smooth, none } overlap = Overlap::full;
};

class Tilings;

/// `tilings`, here and below: remembers those of products; none: each is found anew.
OpParts op_parts(const OpWork& work, const sim::Device& device, const Conditions& conditions, Tilings* tilings = nullptr);

/// Seconds at this relative clock, in (0, 1]: it slows the arithmetic alone.
double duration_s(const OpParts& parts, double clock);

/// Seconds, rounded up to the step grid. The device's figures must be positive where its kind uses them (sim::check).
double op_duration_s(const OpWork& work, const sim::Device& device, const Conditions& conditions, Tilings* tilings = nullptr);

/// `count` equal products (m x k)(k x n) side by side.
struct Product {
  double m = 0, n = 0, k = 0;
  double count = 1;
  bool splits = true;  ///< the inner dimension may be cut, for blocks that are too few
  double flops() const { return 2 * count * m * n * k; }
  bool operator==(const Product&) const = default;
};

/// The ways to cut a product on a GPU, but for what a fit varies: of ways with equal inner dimensions the best.
class Tiling {
 public:
  Tiling(const Product& product, int multiprocessors);
  double efficiency(double k_half) const;

 private:
  struct Way {
    double busy_k = 0, k = 0;  ///< the inner dimension of a block, and the multiprocessors' share kept busy times it
  };
  std::array<Way, 10> ways_{};  // each of nine tiles with a split of its own, and the best one without
  std::size_t count_ = 0;
};

/// Tilings that were asked for before: fits ask for the same ones at every step.
class Tilings {
 public:
  double efficiency(const Product& product, int multiprocessors, double k_half);

 private:
  struct Key {
    Product product;
    int multiprocessors = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  std::unordered_map<Key, Tiling, Hash> known_;
};

/// The fraction of a GPU's multiprocessors' arithmetic that products keep busy, in (0, 1]: its output is cut
/// into tiles, of which small ones are fed less well; the last wave of tiles is not full, tiles hang over the edge, and a short
/// inner dimension does not hide latencies. 1 is a wave-filling number of tiles of 128 x 128 with a long inner dimension.
double tiling_efficiency(const Product& product, int multiprocessors, double k_half);

// What a device draws, and at which clock it keeps a power limit (docs/explain/model.md, "Power and energy").

struct Run {
  double time_s = 0;
  double dynamic_energy_j = 0;  ///< above PowerLaw::running_w
};

/// Of an operation at a relative clock f: E = V^2 (clock_w f (t - t_l) + launch_w f t_l + arithmetic_w t_a) + memory_w t_m. It
/// takes t, of which t_l are OpParts::fixed_s; t_a are the seconds that its arithmetic would take at the device's peak, t_m those
/// of its memory traffic alone; V = max(floor, 1 - slope (1 - f)).
Run run_at(const OpParts& operation, const sim::PowerLaw& law, double clock, const Conditions& conditions);

/// The highest clock, from PowerLaw::lowest_clock to 1, at which the operation draws at most the limit, its launch aside: 1
/// without a limit, and where it draws less anyway.
double clock_under_limit(const OpParts& operation, const sim::PowerLaw& law, const Conditions& conditions);

/// Watts, the mean over a step of `step_s` in which the device runs operations of that energy and otherwise waits, ready.
double mean_power_w(double dynamic_energy_j, double step_s, const sim::Device& device);

}  // namespace rehearse::workloads
