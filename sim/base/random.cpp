#include "sim/base/random.hpp"

#include <cmath>
#include <numbers>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

std::uint64_t Random::mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

namespace {

std::uint64_t hash_text(std::uint64_t hash, std::string_view text) {  // FNV-1a, then the length, so that ("ab","c") != ("a","bc")
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return Random::mix(hash ^ text.size());
}

}  // namespace

std::uint64_t stream_key(std::uint64_t seed, std::uint64_t repetition, std::string_view purpose, std::string_view entity) {
  std::uint64_t hash = Random::mix(seed + 0xCBF29CE484222325u);
  hash = Random::mix(hash ^ (repetition + 0x9E3779B97F4A7C15u));
  return hash_text(hash_text(hash, purpose), entity);
}

std::uint64_t Random::below(std::uint64_t n) {
  check(n > 0, "Random::below needs a positive bound");
  // Lemire: Fast Random Integer Generation in an Interval, ACM TOMACS 2019.
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t threshold = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<Wide>(next()) * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

double Random::log_normal_factor(double sigma) { return sigma == 0.0 ? 1.0 : std::exp(sigma * normal()); }

double Random::exponential(double mean) { return -mean * std::log(1.0 - uniform()); }

}  // namespace rehearse::sim
