// Counter-based random numbers: the n-th number of a stream depends on the stream's key and n alone, so that what one
// consumer draws never moves what another one sees. Own distributions: the standard library's differ between libraries.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace rehearse::sim {

/// The key of a stream: hash(seed, repetition, purpose, entity). Entities are names, never indices.
std::uint64_t stream_key(std::uint64_t seed, std::uint64_t repetition, std::string_view purpose, std::string_view entity);

/// SplitMix64 over a counter (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t key) : key_(key) {}

  std::uint64_t next() { return mix(key_ + kStep * ++count_); }
  /// In [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// In [0, n), unbiased; n > 0.
  std::uint64_t below(std::uint64_t n);
  /// Standard normal by Box and Muller's transform; uses two numbers a draw.
  double normal();
  double normal(double mean, double deviation) { return mean + deviation * normal(); }
  /// exp(N(0, sigma)): median 1.
  double log_normal_factor(double sigma);
  double exponential(double mean);

  template <class T>
  void shuffle(std::span<T> values) {  // Fisher and Yates
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

  static std::uint64_t mix(std::uint64_t x);

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

}  // namespace rehearse::sim
