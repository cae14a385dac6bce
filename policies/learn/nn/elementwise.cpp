#include "policies/learn/nn/elementwise.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

constexpr double kLeastExponent = -708.0;  // exp of it is still a normal number
constexpr double kMostExponent = 709.0;
constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

/// exp(x) = power (1 + rest), with power = 2^n and rest = expm1(x - n ln 2), |x - n ln 2| <= ln(2)/2.
struct SplitExponent {
  double power, rest;
};

/// For |x| <= kMostExponent. Cody and Waite, Software Manual for the Elementary Functions, 1980, chapter 6: n ln 2 is subtracted
/// in two parts, the first of them exact. Adding 1.5 x 2^52 rounds to a whole number, which then stands in the lowest bits.
inline SplitExponent split(double x) {
  constexpr double kRound = 0x1.8p52;
  constexpr double kLog2E = 0x1.71547652b82fep+0, kLn2High = 0x1.62e42fefa3800p-1, kLn2Low = 0x1.ef35793c76730p-45;
  const double shifted = x * kLog2E + kRound;
  const double n = shifted - kRound;
  const double r = (x - n * kLn2High) - n * kLn2Low;
  // (expm1(r) - r)/r^2 by its Taylor series: the first term left out, 2 r^12/14!, is below 1e-16 of it.
  double tail = 1.0 / 6227020800;
  for (const double c : {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
                         1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2})
    tail = tail * r + c;
  const auto exponent = (std::bit_cast<std::uint64_t>(shifted) + 1023) << 52;
  return {std::bit_cast<double>(exponent), r + r * r * tail};
}

inline double clamped(double x) { return x < kLeastExponent ? kLeastExponent : x > kMostExponent ? kMostExponent : x; }

inline double exp_of(double x) {
  const SplitExponent s = split(clamped(x));
  const double y = x < kLeastExponent ? 0.0 : s.power + s.power * s.rest;
  return x > kMostExponent ? std::numeric_limits<double>::infinity() : y;
}

/// (exp(2|x|) - 1)/(exp(2|x|) + 1), the numerator without cancellation near 0; 1 beyond 20.
inline double tanh_of(double x) {
  const double size = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~kSign);
  const SplitExponent s = split(2 * (size > 20 ? 20 : size));
  const double e = s.power * s.rest + (s.power - 1);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(e / (e + 2)) | (std::bit_cast<std::uint64_t>(x) & kSign));
}

inline double sigmoid_of(double x) {
  const SplitExponent s = split(clamped(-x));
  return 1 / (1 + (s.power + s.power * s.rest));
}

template <class Function>
inline void each(std::span<const double> x, std::span<double> y, Function function) {
  sim::check(x.size() == y.size(), "as many results as arguments");
  const std::size_t n = x.size();
  const double* from = x.data();
  double* to = y.data();
  for (std::size_t i = 0; i < n; ++i) to[i] = function(from[i]);
}

}  // namespace

void exp_each(std::span<const double> x, std::span<double> y) {
  each(x, y, [](double v) { return exp_of(v); });
}

void tanh_each(std::span<const double> x, std::span<double> y) {
  each(x, y, [](double v) { return tanh_of(v); });
}

void sigmoid_each(std::span<const double> x, std::span<double> y) {
  each(x, y, [](double v) { return sigmoid_of(v); });
}

}  // namespace rehearse::policies
