#include "workloads/steps/op_time.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "workloads/layers/layer_cost.hpp"

namespace rehearse::workloads {

namespace {

using sim::OpKind;

constexpr double kTiles[] = {32, 64, 128};  // sides of the tiles of cuBLAS and cuDNN
constexpr double kReuseHalf = 8;            // multiply-adds a number fetched for a tile, at which fetching takes half of the time
constexpr double kLargestReuse = 64;        // of tiles of 128 x 128, for which the efficiencies are stated
constexpr double kShortestSplit = 256;      // of the inner dimension, worth a thread block of its own
constexpr double kWaves = 4;            // that a split of the inner dimension aims at: at most a fifth of the last one is lost
constexpr double kFixedDispatch = 0.5;  // of a CPU's launch time, the rest grows with the threads

double equal_parts(double whole, double part) { return std::ceil(whole / part); }

bool equal(const sim::Affine& a, const sim::Affine& b) { return a.fixed == b.fixed && a.per_sample == b.per_sample; }

bool equal(const sim::MatrixShape& a, const sim::MatrixShape& b) { return equal(a.m, b.m) && equal(a.n, b.n) && equal(a.k, b.k); }

bool equal(const sim::FastForm& a, const sim::FastForm& b) {
  return equal(a.matrix, b.matrix) && a.products == b.products && a.relative_efficiency == b.relative_efficiency &&
         equal(a.transform_bytes, b.transform_bytes);
}

/// Half precision and TF32 are never slower than single, which they can be converted to.
double peak_flops(const sim::Device& d, sim::Precision precision, OpKind kind) {
  const bool tf32 = precision == sim::Precision::tf32 || (precision == sim::Precision::tf32_convolutions && kind == OpKind::conv);
  const double fast = is_half(precision) ? d.peak_fp16_flops : tf32 ? d.peak_tf32_flops : 0;
  return std::max(d.efficiency.fp16 * fast, d.peak_fp32_flops);
}

/// Relative to single precision.
double number_size(sim::Precision precision) { return is_half(precision) ? 0.5 : 1; }

/// Optimisers keep single precision.
double bytes_of(const OpWork& w, const Conditions& c) {
  return w.bytes.at(c.batch) * (w.kind == OpKind::update ? 1 : number_size(c.precision));
}

Product product_of(const sim::MatrixShape& shape, double batch, double count = 1) {
  return {.m = shape.m.at(batch), .n = shape.n.at(batch), .k = shape.k.at(batch), .count = count};
}

/// (a^4 + b^4)^(1/4): the longer of the two when they differ, somewhat more when they are alike.
double smooth_maximum(double a, double b) {
  const double a2 = a * a, b2 = b * b;
  return std::sqrt(std::sqrt(a2 * a2 + b2 * b2));
}

/// Of many convolutions, of which `share` take the second way.
OpParts mixture(OpParts a, const OpParts& b, double share) {
  for (double OpParts::*part : {&OpParts::arithmetic_s, &OpParts::memory_s, &OpParts::transform_s, &OpParts::peak_s})
    a.*part += share * (b.*part - a.*part);
  return a;
}

/// The quickest, each at the clock that a power limit leaves it, of a product and its faster forms.
OpParts gpu_parts(const OpWork& w, const sim::Device& d, const Conditions& c, Tilings* tilings) {
  const sim::Efficiency& e = d.efficiency;
  const double bandwidth = d.memory_bandwidth_bytes_per_s * e.bandwidth, peak = peak_flops(d, c.precision, w.kind);
  const auto parts_of = [&](const Product& p, double relative_efficiency) {
    const double tiled = p.m <= 0             ? 1
                         : tilings != nullptr ? tilings->efficiency(p, d.multiprocessors, e.k_half)
                                              : tiling_efficiency(p, d.multiprocessors, e.k_half);
    const double used = p.m > 0 ? tiled * relative_efficiency : 1;
    return OpParts{.arithmetic_s = w.repeats * p.flops() / (peak * efficiency_of(e, w.kind) * used),
                   .memory_s = bytes_of(w, c) / bandwidth,
                   .fixed_s = e.launch_s * c.launch_factor + (w.repeats - 1) * e.repeat_s,
                   .peak_s = w.repeats * p.flops() / peak,
                   .overlap = OpParts::Overlap::smooth};
  };
  const sim::PowerLaw law = sim::power_law(d);
  const auto limited_s = [&](const OpParts& parts) { return duration_s(parts, clock_under_limit(parts, law, c)); };
  const OpParts plain = parts_of(product_of(w.matrix, c.batch, w.products), w.relative_efficiency);
  OpParts best = plain;
  for (const sim::FastForm& form : w.fast_forms) {
    Product product = product_of(form.matrix, c.batch);
    product.count = form.products;
    product.splits = false;
    OpParts parts = parts_of(product, form.relative_efficiency);
    parts.transform_s = form.transform_bytes.at(c.batch) * number_size(c.precision) / bandwidth;
    if (limited_s(parts) < limited_s(best)) best = parts;
  }
  return e.fast_forms < 1 ? mixture(plain, best, e.fast_forms) : best;
}

/// Pieces of work of `one_core_s` altogether on `threads`, one after the other. When they leave threads idle each is cut along
/// the inner dimension, into at most `most` parts, of which each makes its own sum, in `sum_s`: as long as that pays.
double parallel_s(double one_core_s, double pieces, double threads, double most, double sum_s) {
  double best_s = std::numeric_limits<double>::infinity();
  for (double splits = 1; splits <= most; ++splits) {
    const double parts = pieces * splits;
    best_s = std::min(best_s, one_core_s * equal_parts(parts, threads) / parts + (splits > 1 ? splits * sum_s : 0));
  }
  return best_s;
}

/// Of a product's arithmetic. Vectors lie along its rows; the last of a row does a whole one's work.
double cpu_product_s(const Product& p, int repeats, double threads, double core_flops, double bandwidth) {
  const double tiles = equal_parts(p.m, kCpuTile) * equal_parts(p.n, kCpuTile);
  const double vectors = equal_parts(p.n, kCpuVector) * kCpuVector / p.n;
  const double most = std::clamp(std::floor(kWaves * threads / tiles), 1.0, std::max(1.0, std::floor(p.k / kShortestSplit)));
  return repeats * parallel_s(vectors * p.flops() / core_flops, tiles, threads, most, kBytesPerNumber * p.m * p.n / bandwidth);
}

OpParts cpu_parts(const OpWork& w, const sim::Device& d, const Conditions& c) {
  const sim::Efficiency& e = d.efficiency;
  const double cores = d.cores, threads = c.threads > 0 ? std::min<double>(c.threads, cores) : cores;
  const double core_flops = peak_flops(d, c.precision, w.kind) / cores * efficiency_of(e, w.kind) * w.relative_efficiency;
  const double largest_bandwidth = d.memory_bandwidth_bytes_per_s * e.bandwidth;
  const double core_bandwidth = d.core_bandwidth_bytes_per_s > 0 ? d.core_bandwidth_bytes_per_s : largest_bandwidth;
  const double dispatch = kFixedDispatch + (1 - kFixedDispatch) * threads / cores;
  OpParts parts{.memory_s = bytes_of(w, c) / std::min(threads * core_bandwidth, largest_bandwidth),
                .fixed_s = w.repeats * e.launch_s * c.launch_factor * dispatch,
                .peak_s = w.flops.at(c.batch) / peak_flops(d, c.precision, w.kind)};
  const Product product = product_of(w.matrix, c.batch);
  if (product.m <= 0) {
    const double chunks = std::max(1.0, equal_parts(w.bytes.at(c.batch), kCpuChunkBytes));
    parts.arithmetic_s = parallel_s(w.flops.at(c.batch) / core_flops, chunks, threads, 1, 0);
    return parts;
  }
  parts.arithmetic_s = cpu_product_s(product, w.repeats, threads, core_flops, largest_bandwidth);
  // Convolutions keep their data in blocks from layer to layer; other products pack theirs first.
  if (w.kind != OpKind::conv) parts.overlap = OpParts::Overlap::none;
  return parts;
}

}  // namespace

double efficiency_of(const sim::Efficiency& e, OpKind kind) {
  return kind == OpKind::conv ? e.conv : kind == OpKind::rnn ? e.rnn : e.gemm;
}

Conditions corrected(Conditions c, const sim::Device& device, std::string_view model, std::string_view dataset) {
  const sim::ModelCorrection correction = sim::correction_of(device, model, dataset);
  c.time_factor *= correction.time_factor * sim::batch_factor(correction, c.batch);
  c.launch_factor *= correction.launch_factor;
  c.power_factor *= correction.power_factor;
  c.wait_share = correction.wait_share;
  c.loader_s = correction.loader_s;
  return c;
}

bool OpWork::operator==(const OpWork& o) const {
  return kind == o.kind && repeats == o.repeats && products == o.products && relative_efficiency == o.relative_efficiency &&
         equal(flops, o.flops) && equal(bytes, o.bytes) && equal(matrix, o.matrix) &&
         std::equal(fast_forms.begin(), fast_forms.end(), o.fast_forms.begin(), o.fast_forms.end(),
                    [](const sim::FastForm& a, const sim::FastForm& b) { return equal(a, b); });
}

OpWork work_of(const sim::Op& op) {
  return {op.kind, op.flops, op.bytes, op.matrix, op.repeats, op.relative_efficiency, op.fast_forms};
}

Tiling::Tiling(const Product& p, int multiprocessors) {
  const double processors = multiprocessors;
  for (double tile_m : kTiles)
    for (double tile_n : kTiles) {
      const double tiles = equal_parts(p.m, tile_m) * equal_parts(p.n, tile_n);
      const double inside = p.m * p.n / (tiles * tile_m * tile_n), reuse = tile_m * tile_n / (tile_m + tile_n);
      const double fed = reuse / (reuse + kReuseHalf) * (kLargestReuse + kReuseHalf) / kLargestReuse;
      const double most = p.splits ? std::max(1.0, std::floor(p.k / kShortestSplit)) : 1;
      const double splits = std::clamp(std::floor(kWaves * processors / (tiles * p.count)), 1.0, most);
      for (double split : {1.0, splits}) {
        const double blocks = tiles * p.count * split, used = blocks / (processors * equal_parts(blocks, processors));
        const double k = p.k / split, busy_k = inside * fed * used * k;
        const auto same = std::find_if(ways_.begin(), ways_.begin() + count_, [k](const Way& way) { return way.k == k; });
        if (same == ways_.begin() + count_)
          ways_[count_++] = {busy_k, k};
        else
          same->busy_k = std::max(same->busy_k, busy_k);
      }
    }
}

double Tiling::efficiency(double k_half) const {
  double best = 0;
  for (std::size_t i = 0; i < count_; ++i) best = std::max(best, ways_[i].busy_k / (ways_[i].k + k_half));
  return best;
}

std::size_t Tilings::Hash::operator()(const Key& key) const {
  std::size_t hash = static_cast<std::size_t>(key.multiprocessors) * 2 + (key.product.splits ? 1 : 0);
  for (const double part : {key.product.m, key.product.n, key.product.k, key.product.count})
    hash = (hash ^ std::bit_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;  // whole numbers differ in their upper bits alone
}

double Tilings::efficiency(const Product& product, int multiprocessors, double k_half) {
  return known_.try_emplace({product, multiprocessors}, product, multiprocessors).first->second.efficiency(k_half);
}

double tiling_efficiency(const Product& product, int multiprocessors, double k_half) {
  return Tiling(product, multiprocessors).efficiency(k_half);
}

OpParts op_parts(const OpWork& work, const sim::Device& device, const Conditions& conditions, Tilings* tilings) {
  const bool gpu = device.kind == sim::DeviceKind::gpu;
  sim::check(conditions.batch > 0 && device.memory_bandwidth_bytes_per_s > 0 &&
                 peak_flops(device, conditions.precision, work.kind) > 0 && (gpu ? device.multiprocessors : device.cores) > 0,
             "an operation needs samples, and a device with memory and arithmetic");
  OpParts parts = gpu ? gpu_parts(work, device, conditions, tilings) : cpu_parts(work, device, conditions);
  const double waiting_s = conditions.wait_share * duration_s(parts, 1);
  for (double* part : {&parts.arithmetic_s, &parts.memory_s, &parts.transform_s, &parts.fixed_s})
    *part *= 1 - conditions.wait_share;
  parts.fixed_s += waiting_s;
  return parts;
}

double duration_s(const OpParts& parts, double clock) {
  const double a = parts.arithmetic_s / clock, m = parts.memory_s;
  const double overlapped_s = parts.overlap == OpParts::Overlap::full     ? std::max(a, m)
                              : parts.overlap == OpParts::Overlap::smooth ? smooth_maximum(a, m)
                                                                          : a + m;
  return overlapped_s + parts.transform_s + parts.fixed_s;
}

double op_duration_s(const OpWork& work, const sim::Device& device, const Conditions& conditions, Tilings* tilings) {
  const OpParts parts = op_parts(work, device, conditions, tilings);
  const double clock = clock_under_limit(parts, sim::power_law(device), conditions);
  return sim::on_step_grid(conditions.time_factor * duration_s(parts, clock));
}

namespace {

constexpr double kTolerance = 1e-9;  // of the limit
constexpr int kMostSteps = 100;

double voltage(const sim::PowerLaw& law, double clock) {
  return std::max(law.voltage_floor, 1 - law.voltage_slope * (1 - clock));
}

}  // namespace

Run run_at(const OpParts& op, const sim::PowerLaw& law, double clock, const Conditions& conditions) {
  const double time_s = conditions.time_factor * duration_s(op, clock), launch_s = conditions.time_factor * op.fixed_s;
  const double clocked_j = clock * (law.clock_w * (time_s - launch_s) + law.launch_w * launch_s);
  const double core_j = clocked_j + law.arithmetic_w * op.peak_s, volts = voltage(law, clock);
  return {time_s, conditions.power_factor * (volts * volts * core_j + law.memory_w * (op.memory_s + op.transform_s))};
}

double clock_under_limit(const OpParts& op, const sim::PowerLaw& law, const Conditions& conditions) {
  if (conditions.power_limit_w <= 0) return 1;
  OpParts computing = op;  // launches are over before a clock could change for them
  computing.fixed_s = 0;
  const auto over_w = [&](double clock) {
    const Run run = run_at(computing, law, clock, conditions);
    return run.dynamic_energy_j / run.time_s + law.running_w - conditions.power_limit_w;
  };
  double low = law.lowest_clock, high = 1, below = over_w(low), above = over_w(high);
  if (!(above > 0)) return 1;
  if (!(below < 0)) return low;
  // The Illinois algorithm (Dowell and Jarratt, BIT 11, 1971): the chord's root; an end that stays loses half of its weight.
  for (int i = 0, stayed = 0; i < kMostSteps; ++i) {
    const double middle = (low * above - high * below) / (above - below), there = over_w(middle);
    if (std::abs(there) <= kTolerance * conditions.power_limit_w) return middle;
    if (there > 0) {
      high = middle;
      above = there;
      if (stayed == -1) below /= 2;
      stayed = -1;
    } else {
      low = middle;
      below = there;
      if (stayed == 1) above /= 2;
      stayed = 1;
    }
  }
  return low;
}

double mean_power_w(double dynamic_energy_j, double step_s, const sim::Device& device) {
  return sim::power_law(device).running_w + dynamic_energy_j / step_s;
}

}  // namespace rehearse::workloads
