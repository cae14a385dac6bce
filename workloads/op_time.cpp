#include "workloads/op_time.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "workloads/power.hpp"

namespace rehearse::workloads {
namespace {

using sim::OpKind;

constexpr double kTiles[] = {32, 64, 128};  // sides of the tiles of cuBLAS and cuDNN
constexpr double kReuseHalf = 8;            // multiply-adds a number fetched for a tile, at which fetching takes half of the time
constexpr double kLargestReuse = 64;        // of tiles of 128 x 128, for which the efficiencies are stated
constexpr double kShortestSplit = 256;      // of the inner dimension, worth a thread block of its own
constexpr double kWaves = 4;            // that a split of the inner dimension aims at: at most a fifth of the last one is lost
constexpr double kCpuTile = 32;         // side of a thread's piece of a product
constexpr double kCpuChunk = 16384;     // bytes of a thread's piece of a streaming operation
constexpr double kFixedDispatch = 0.5;  // of a CPU's launch time, the rest grows with the threads

double equal_parts(double whole, double part) { return std::ceil(whole / part); }

bool equal(const sim::Affine& a, const sim::Affine& b) { return a.fixed == b.fixed && a.per_sample == b.per_sample; }

double efficiency(const sim::Efficiency& e, OpKind kind) {
  return kind == OpKind::conv ? e.conv : kind == OpKind::rnn ? e.rnn : e.gemm;
}

double peak_flops(const sim::Device& d, sim::Precision precision) {
  return precision == sim::Precision::fp16 ? d.peak_fp16_flops : d.peak_fp32_flops;
}

/// Half the bytes in half precision, but optimisers keep single precision.
double bytes_of(const OpWork& w, const Conditions& c) {
  const double bytes = w.bytes.at(c.batch);
  return c.precision == sim::Precision::fp16 && w.kind != OpKind::update ? bytes / 2 : bytes;
}

/// (a^4 + b^4)^(1/4): the longer of the two when they differ, somewhat more when they are alike.
double smooth_maximum(double a, double b) {
  const double a2 = a * a, b2 = b * b;
  return std::sqrt(std::sqrt(a2 * a2 + b2 * b2));
}

OpParts gpu_parts(const OpWork& w, const sim::Device& d, const Conditions& c) {
  const sim::Efficiency& e = d.efficiency;
  OpParts parts{.memory_s = bytes_of(w, c) / (d.memory_bandwidth_bytes_per_s * e.bandwidth),
                .fixed_s = w.repeats * e.launch_s * c.launch_factor,
                .peak_s = w.flops.at(c.batch) / (peak_flops(d, c.precision) * w.arithmetic_saving),
                .smooth = true};
  if (const double m = w.matrix.m.at(c.batch); m > 0) {
    const double used = tiling_efficiency(m, w.matrix.n.at(c.batch), w.matrix.k.at(c.batch), d.multiprocessors, e.k_half);
    parts.arithmetic_s = w.flops.at(c.batch) / (peak_flops(d, c.precision) * efficiency(e, w.kind) * used * w.arithmetic_saving);
  }
  return parts;
}

/// The most parallel cut of one repeat: tiles of the output, and of the inner dimension when they are too few. Tiles that hang
/// over the edge do the arithmetic of whole ones.
struct CpuCut {
  double pieces = 1, splits = 1, overhang = 1;
};

CpuCut cpu_cut(const OpWork& w, double batch, double threads) {
  const double m = w.matrix.m.at(batch);
  if (m <= 0) return {.pieces = std::max(1.0, equal_parts(w.bytes.at(batch), kCpuChunk))};
  const double n = w.matrix.n.at(batch), tiles = equal_parts(m, kCpuTile) * equal_parts(n, kCpuTile);
  const double overhang = tiles * kCpuTile * kCpuTile / (m * n);
  if (tiles >= threads || w.partial_bytes == 0) return {tiles, 1, overhang};
  const double most = std::max(1.0, std::floor(w.matrix.k.at(batch) / kShortestSplit));
  const double splits = std::min(most, equal_parts(threads, tiles));
  return {tiles * splits, splits, overhang};
}

OpParts cpu_parts(const OpWork& w, const sim::Device& d, const Conditions& c) {
  const sim::Efficiency& e = d.efficiency;
  const double cores = d.cores, threads = c.threads > 0 ? std::min<double>(c.threads, cores) : cores;
  const CpuCut cut = cpu_cut(w, c.batch, threads);
  const double core_flops = peak_flops(d, c.precision) / cores * efficiency(e, w.kind);
  const double largest_bandwidth = d.memory_bandwidth_bytes_per_s * e.bandwidth;
  const double core_bandwidth = d.core_bandwidth_bytes_per_s > 0 ? d.core_bandwidth_bytes_per_s : largest_bandwidth;
  const double bandwidth = std::min(threads * core_bandwidth, largest_bandwidth);
  const double arithmetic_s = cut.overhang * w.flops.at(c.batch) / core_flops * std::ceil(cut.pieces / threads) / cut.pieces;
  const double partial_s = cut.splits > 1 ? w.partial_bytes * cut.splits / largest_bandwidth : 0;
  const double dispatch_s = e.launch_s * (kFixedDispatch + (1 - kFixedDispatch) * threads / cores);
  return {.arithmetic_s = arithmetic_s,
          .memory_s = bytes_of(w, c) / bandwidth,
          .fixed_s = partial_s + w.repeats * dispatch_s * c.launch_factor,
          .peak_s = w.flops.at(c.batch) / peak_flops(d, c.precision)};
}

}  // namespace

Conditions corrected(Conditions c, const sim::Device& device, std::string_view model, std::string_view dataset) {
  const sim::ModelCorrection correction = sim::correction_of(device, model, dataset);
  c.time_factor *= correction.time_factor;
  c.launch_factor *= correction.launch_factor;
  c.power_factor *= correction.power_factor;
  c.wait_share = correction.wait_share;
  return c;
}

bool OpWork::operator==(const OpWork& o) const {
  return kind == o.kind && repeats == o.repeats && partial_bytes == o.partial_bytes && arithmetic_saving == o.arithmetic_saving &&
         equal(flops, o.flops) && equal(bytes, o.bytes) && equal(matrix.m, o.matrix.m) && equal(matrix.n, o.matrix.n) &&
         equal(matrix.k, o.matrix.k);
}

OpWork work_of(const sim::Op& op) {
  return {op.kind,
          op.flops,
          op.bytes,
          op.matrix,
          op.repeats,
          op.phase == sim::Phase::backward ? op.output_bytes.fixed : 0,
          op.arithmetic_saving};
}

double tiling_efficiency(double m, double n, double k, int multiprocessors, double k_half) {
  const double processors = multiprocessors;
  double best = 0;
  for (double tile_m : kTiles)
    for (double tile_n : kTiles) {
      const double tiles = equal_parts(m, tile_m) * equal_parts(n, tile_n);
      const double inside = m * n / (tiles * tile_m * tile_n), reuse = tile_m * tile_n / (tile_m + tile_n);
      const double fed = reuse / (reuse + kReuseHalf) * (kLargestReuse + kReuseHalf) / kLargestReuse;
      const double most = std::max(1.0, std::floor(k / kShortestSplit));
      const double splits = std::clamp(std::floor(kWaves * processors / tiles), 1.0, most);
      for (double split : {1.0, splits}) {
        const double blocks = tiles * split, used = blocks / (processors * equal_parts(blocks, processors));
        best = std::max(best, inside * fed * used * (k / split) / (k / split + k_half));
      }
    }
  return best;
}

OpParts op_parts(const OpWork& work, const sim::Device& device, const Conditions& conditions) {
  const bool gpu = device.kind == sim::DeviceKind::gpu;
  sim::check(conditions.batch > 0 && device.memory_bandwidth_bytes_per_s > 0 && peak_flops(device, conditions.precision) > 0 &&
                 (gpu ? device.multiprocessors : device.cores) > 0,
             "an operation needs samples, and a device with memory and arithmetic");
  OpParts parts = gpu ? gpu_parts(work, device, conditions) : cpu_parts(work, device, conditions);
  const double waiting_s = conditions.wait_share * duration_s(parts, 1);
  for (double* part : {&parts.arithmetic_s, &parts.memory_s, &parts.fixed_s}) *part *= 1 - conditions.wait_share;
  parts.fixed_s += waiting_s;
  return parts;
}

double duration_s(const OpParts& parts, double clock) {
  const double arithmetic_s = parts.arithmetic_s / clock;
  return (parts.smooth ? smooth_maximum(arithmetic_s, parts.memory_s) : std::max(arithmetic_s, parts.memory_s)) + parts.fixed_s;
}

double op_duration_s(const OpWork& work, const sim::Device& device, const Conditions& conditions) {
  const OpParts parts = op_parts(work, device, conditions);
  const double clock = clock_under_limit(parts, sim::power_law(device), conditions);
  return sim::on_step_grid(conditions.time_factor * duration_s(parts, clock));
}

}  // namespace rehearse::workloads
