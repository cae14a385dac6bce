// The cluster: devices, instance types, pools and the network between them, prices over time, the software that trains.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse::sim {

/// A quantity that is constant between dates: a price, the carbon intensity of power.
class StepSeries {
 public:
  struct Step {
    double time_s = 0;  ///< from then on
    double value = 0;
  };
  /// At least one step; times increase. Before the first the value is the first one's.
  explicit StepSeries(std::vector<Step> steps);
  double at(double time_s) const;
  /// Exact, in units of the value times seconds; within one step it is value x (to_s - from_s). Backwards it is negative.
  double integral(double from_s, double to_s) const;
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::size_t index_at(double time_s) const;
  std::vector<Step> steps_;
  std::vector<double> before_;  // of each step: integral from the first to it
};

// Devices, instance types, pools and the network between them: plain values. The data lives in sim/cluster/catalogue/*.json.

enum class DeviceKind : std::uint8_t { gpu, cpu };
/// Of products and convolutions; TF32 rounds their factors and keeps four bytes a number, in all of them or in convolutions
/// alone.
enum class Precision : std::uint8_t { fp32, fp16, bf16, tf32, tf32_convolutions };
/// Are numbers stored in two bytes?
constexpr bool is_half(Precision precision) { return precision == Precision::fp16 || precision == Precision::bf16; }

/// Fractions of the data sheet's peaks that real kernels reach, and the fixed costs of an operation
/// (docs/explain/step.md, "GPU operation time" and "CPU operation time", which name the defaults' source).
struct Efficiency {
  double conv = 0.75;            ///< fraction of peak FLOP/s, convolutions
  double gemm = 0.78;            ///< fraction of peak FLOP/s, matrix products
  double rnn = 0.76;             ///< fraction of peak FLOP/s, recurrent steps
  double fp16 = 0.5;             ///< of those, in half precision: how well arithmetic that is so fast can be fed
  double bandwidth = 0.80;       ///< fraction of peak memory bandwidth
  double k_half = 18;            ///< inner dimension K at which half of the efficiency is reached
  double launch_s = 10e-6;       ///< of one operation on the device
  double repeat_s = 36e-6;       ///< of each further repeat of a recurrent operation on a GPU
  double host_s_per_op = 10e-6;  ///< of the host, to issue one operation
  double step_overhead_s = 0;    ///< of a training step, whatever it computes: what a framework does besides operations
  double model_factor = 1;       ///< of the computation of models that were not measured: what those measured have in common
  double fast_forms = 1;         ///< share of convolutions for which a library's faster forms are taken where they pay
};

/// How a CPU's cores hang together, and what threads cost (docs/explain/step.md, "Threads", which names the defaults' sources).
struct Threading {
  int cores_per_tile = 1;         ///< that share an L2 cache
  double tile_cache_bytes = 1e6;  ///< of that cache
  double smt_yield = 1.1;         ///< arithmetic of a core with two threads or more, of that with one
  double serial_share = 5e-4;     ///< of an operation's arithmetic that one thread does alone
  double dispatch_share = 0.5;    ///< of Efficiency::launch_s, on any number of threads; the rest grows with the threads
  double wake_s = 2e-7;           ///< for each thread that joins or leaves a team
  double time_slice_s = 7.5e-4;   ///< of the system, when a core has more threads than its hardware
};

/// What a device draws while it trains, and at which clock it keeps a limit (docs/explain/model.md, "Power and energy"). Watts
/// are those at full clock.
struct PowerLaw {
  double running_w = 0;        ///< ready, with nothing to do: leakage, memory's refresh, fans
  double clock_w = 0;          ///< on top while an operation computes or moves data
  double launch_w = 0;         ///< on top while it is launched, or the device waits
  double arithmetic_w = 0;     ///< on top when it does nothing but arithmetic, as fast as it can
  double memory_w = 0;         ///< on top when it does nothing but memory traffic, as fast as it can
  double voltage_floor = 0.5;  ///< lowest voltage, of that at full clock
  double voltage_slope =
      1.2;  ///< by how much the voltage falls, relatively, for each relative fall of the clock, down to the floor
  double lowest_clock = 0.2;  ///< of the full one
};

/// What one model's software does differently from the device's average: fitted to measurements of it.
/// Of one model on one device, at one batch size.
struct BatchFactor {
  double batch = 1, factor = 1;
};

struct ModelCorrection {
  std::string model, dataset;        ///< no data set: on any
  double time_factor = 1;            ///< of its computation
  double launch_factor = 1;          ///< of Efficiency::launch_s, on top of time_factor
  double power_factor = 1;           ///< of the watts above PowerLaw::running_w
  double wait_share = 0;             ///< of its time at full clock, in which the device waits: loading of samples, evaluations
  double loader_s = 0;               ///< that all CPUs of a node take to load a sample: the workers of the node share them
  std::vector<BatchFactor> batches;  ///< by rising batch, of its computation, on top of time_factor: what was measured of them
};

/// Doublings of the batch in which what was measured at one batch size falls to 1/e (docs/explain/model.md, "Calibration").
inline constexpr double kBatchMemoryDoublings = 3;
/// ModelCorrection::batches at any batch size; 1 without any.
double batch_factor(const ModelCorrection& correction, double batch);

/// One GPU, or the CPU sockets of one node together.
struct Device {
  std::string name;
  DeviceKind kind = DeviceKind::gpu;
  double peak_fp32_flops = 0;  ///< FLOP/s; a multiply-add counts 2
  double peak_fp16_flops = 0;
  double peak_tf32_flops = 0;  ///< 0: it has no TF32, and computes in single precision
  double memory_bytes = 0;
  double memory_bandwidth_bytes_per_s = 0;
  int multiprocessors = 0;  ///< of a GPU
  int cores = 0;            ///< physical cores of a CPU, all sockets
  int sockets = 1;
  int threads_per_core = 1;
  double core_bandwidth_bytes_per_s = 0;  ///< what one core alone draws from memory
  double idle_w = 0;
  double busy_w = 0;
  Efficiency efficiency;
  Threading threading;                       ///< of a CPU
  std::optional<PowerLaw> power;             ///< not measured: busy_w whatever it computes, idle_w otherwise
  std::vector<ModelCorrection> corrections;  ///< of models that were measured on it
  std::string stack;                         ///< of the software with which it was measured; empty: a data sheet's
  std::string source;
};

/// That of the model on the dataset; one that changes nothing where there is none.
ModelCorrection correction_of(const Device& device, std::string_view model, std::string_view dataset);

/// That of the device; idle_w and busy_w where it was not measured.
PowerLaw power_law(const Device& device);

/// One way between two ends: bandwidth in one direction, and latency.
struct Link {
  double bandwidth_bytes_per_s = 0;
  double latency_s = 0;
  double contention = 0;  ///< q: a ring of n ends takes (n/2)^q times as long; 0: each pair has its own, 1: all share a bus
};

struct DeviceCount {
  int device = 0;  ///< index into Cluster::devices
  int count = 0;
};

/// Bytes of gradients a second that a parameter server reads and applies: three passes over memory.
inline constexpr double kServerBytesPerS = 5e9;

/// A node's type. Its workers are its GPUs; without a GPU the node itself is one worker.
struct Instance {
  std::string name;
  std::vector<DeviceCount> gpus;  ///< at most one kind
  int cpu = -1;                   ///< index into Cluster::devices, -1 when unknown
  double cpu_share = 1;           ///< the part of `cpu` that the instance owns, in (0, 1]
  int vcpus = 0;
  double memory_bytes = 0;
  double price_usd_per_hour = 0;
  double spot_price_usd_per_hour = std::numeric_limits<double>::quiet_NaN();  ///< NaN when unknown
  std::string price_date;  ///< when these held, as 2026, 2026-03 or 2026-03-20; empty: unsaid
  Link inside;             ///< between two workers of the node, as the ring uses it
  Link network;            ///< the node's NIC
  double overlap = 4;      ///< of the exchange of gradients with the backward pass: exponent of a smooth maximum, in [1, 10]
  double server_bytes_per_s = kServerBytesPerS;  ///< of gradients that a parameter server on such a node applies
  double server_overlap = 4;                 ///< exponent of the smooth maximum of asynchronous workers and servers, in [1, 10]
  double storage_bandwidth_bytes_per_s = 0;  ///< reading input data and checkpoints
  double host_idle_w = 0;                    ///< of the node without its GPUs
  double host_busy_w = 0;
  std::string source;
};

/// How many nodes of a spot pool a cloud has, over time: as it was recorded.
struct RecordedCapacity {
  StepSeries nodes;
  double offset_s = 0;                                        ///< of the series, at date 0
  double repeat_s = std::numeric_limits<double>::infinity();  ///< the series begins anew after so long
};

/// When a cloud takes a pool's nodes away: all while the price is above the bid, those beyond what it has (the last ones), and
/// each by itself after an exponential time.
struct Spot {
  double bid_usd_per_hour = std::numeric_limits<double>::infinity();
  double mean_up_s = std::numeric_limits<double>::infinity();  ///< of a node, until it is taken away by itself
  double down_s = 300;                                         ///< until another takes its place
  double warning_s = 120;                                      ///< before a node is taken away
  std::optional<RecordedCapacity> availability;                ///< none: as many as the pool has
};

/// Nodes that are rented when a job comes and let go when they are idle.
struct Autoscale {
  int min_nodes = 0;    ///< the pool's first nodes, always there
  double boot_s = 120;  ///< of a node, before its job starts up
  double idle_s = 300;  ///< until a node that nobody holds is let go
};

struct Pool {
  std::string name;
  int instance = 0;                               ///< index into Cluster::instances
  int nodes = 0;                                  ///< at most, when autoscaled
  std::optional<StepSeries> prices_usd_per_hour;  ///< of a node over time; none: the instance's
  std::optional<Spot> spot;                       ///< none: nodes are never taken away
  std::optional<Autoscale> autoscale;             ///< none: all nodes are always there
};

/// Racks as they were given: of each pool's nodes the rack, and the racks' uplinks in bytes a second.
struct Racks {
  std::vector<std::vector<int>> of_node;
  std::vector<double> uplinks_bytes_per_s;  ///< infinite where nothing is known
};

/// What nodes share with each other. Nodes of a pool fill racks in their order; no two pools share a rack.
struct Network {
  double oversubscription = 1;  ///< bandwidth of a rack's nodes together over that of the rack's uplink
  int nodes_per_rack = 16;
  std::optional<Racks> racks;  ///< instead of the above
};

struct Cluster {
  std::vector<Device> devices;
  std::vector<Instance> instances;
  std::vector<Pool> pools;
  std::optional<Network> network;              ///< none: every job has the network to itself
  std::optional<StepSeries> carbon_g_per_kwh;  ///< of its power over time, in grams of CO2 a kWh; none: not reckoned
  /// Of the file system that all nodes read their training data from together.
  double storage_bandwidth_bytes_per_s = std::numeric_limits<double>::infinity();
};

// Software that trains: what it makes of devices of which only the data sheet is known. A plain value, as devices are; the data
// lives in sim/cluster/catalogue/stacks.json.

struct Stack {
  std::string name;
  double time_factor = 1;  ///< of a GPU's computation; the next four in the place of Efficiency's
  double launch_s = Efficiency{}.launch_s;
  double host_s_per_op = Efficiency{}.host_s_per_op;
  double step_overhead_s = Efficiency{}.step_overhead_s;
  double fast_forms = Efficiency{}.fast_forms;
  double overlap = Instance{}.overlap;    ///< in the place of an instance's that nobody has said
  Precision precision = Precision::fp32;  ///< of jobs that name none
  std::string source;
};

/// A GPU that nobody has measured, as the stack uses it. Any other device as it is: one that was measured (Device::stack, or
/// corrections) has the software of those measurements, and stacks say nothing of CPUs.
Device on_stack(Device device, const Stack& stack);

}  // namespace rehearse::sim
