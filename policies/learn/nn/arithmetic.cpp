#include "policies/learn/nn/arithmetic.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

// Two doubles in one register of the portable build.
using Pair = double __attribute__((vector_size(16)));

Pair load(const double* from) {
  Pair pair;
  std::memcpy(&pair, from, sizeof pair);
  return pair;
}

void add_to(double* to, Pair pair) {
  pair += load(to);
  std::memcpy(to, &pair, sizeof pair);
}

/// Adds `count` numbers of accumulators to a row.
template <int Pairs>
void add_row(double* to, const Pair (&sums)[Pairs], std::ptrdiff_t count) {
  if (count == 2 * Pairs) {
    for (int p = 0; p < Pairs; ++p) add_to(to + 2 * p, sums[p]);
    return;
  }
  double numbers[2 * Pairs];
  std::memcpy(numbers, sums, sizeof numbers);
  for (std::ptrdiff_t j = 0; j < count; ++j) to[j] += numbers[j];
}

constexpr std::ptrdiff_t kPanel = 4;  ///< columns of b that stand packed side by side

/// Columns [first, first + kPanel) of b, row after row; zeros beyond its edge.
void pack(const Factor& b, std::ptrdiff_t first, double* panel) {
  const std::ptrdiff_t width = std::min(kPanel, b.columns - first);
  for (std::ptrdiff_t t = 0; t < b.rows; ++t, panel += kPanel) {
    const double* row = b.data + t * b.row_step + first * b.column_step;
    for (std::ptrdiff_t j = 0; j < kPanel; ++j) panel[j] = j < width ? row[j * b.column_step] : 0;
  }
}

/// `Rows` rows of a, from `row` on, times a packed panel.
template <int Rows>
void multiply_panel(const Factor& a, std::ptrdiff_t row, const double* panel, double* out, std::ptrdiff_t out_step,
                    std::ptrdiff_t width) {
  Pair sums[Rows][kPanel / 2] = {};
  const double* from = a.data + row * a.row_step;
  for (std::ptrdiff_t t = 0; t < a.columns; ++t, from += a.column_step, panel += kPanel) {
    const Pair left = load(panel), right = load(panel + 2);
    for (int r = 0; r < Rows; ++r) {
      const double x = from[r * a.row_step];
      const Pair both = {x, x};
      sums[r][0] += both * left;
      sums[r][1] += both * right;
    }
  }
  for (int r = 0; r < Rows; ++r) add_row(out + r * out_step, sums[r], width);
}

void multiply_packed(const Factor& a, const Factor& b, MatrixView out) {
  double panel[kPanel * kProductDepth];
  for (std::ptrdiff_t j = 0; j < b.columns; j += kPanel) {
    pack(b, j, panel);
    const std::ptrdiff_t width = std::min(kPanel, b.columns - j);
    std::ptrdiff_t i = 0;
    for (; i + 4 <= a.rows; i += 4) multiply_panel<4>(a, i, panel, &out(i, j), out.cols(), width);
    for (; i < a.rows; ++i) multiply_panel<1>(a, i, panel, &out(i, j), out.cols(), width);
  }
}

/// For few rows, where packing would cost as much as the product: b's rows as they stand.
void multiply_streaming(const Factor& a, const Factor& b, MatrixView out) {
  constexpr std::ptrdiff_t kWidth = 16;
  for (std::ptrdiff_t i = 0; i < a.rows; ++i) {
    for (std::ptrdiff_t j = 0; j < b.columns; j += kWidth) {
      const double* x = a.data + i * a.row_step;
      const double* row = b.data + j;
      const std::ptrdiff_t width = std::min(kWidth, b.columns - j);
      if (width == kWidth) {
        Pair sums[kWidth / 2] = {};
        for (std::ptrdiff_t t = 0; t < a.columns; ++t, x += a.column_step, row += b.row_step) {
          const Pair both = {*x, *x};
          for (int p = 0; p < kWidth / 2; ++p) sums[p] += both * load(row + 2 * p);
        }
        add_row(&out(i, j), sums, width);
      } else {
        double sums[kWidth] = {};
        for (std::ptrdiff_t t = 0; t < a.columns; ++t, x += a.column_step, row += b.row_step)
          for (std::ptrdiff_t q = 0; q < width; ++q) sums[q] += *x * row[q];
        for (std::ptrdiff_t q = 0; q < width; ++q) out(i, j + q) += sums[q];
      }
    }
  }
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

void add_product(const Factor& a, const Factor& b, MatrixView out) {
  sim::check(a.columns == b.rows && out.rows() == a.rows && out.cols() == b.columns, "the shapes of a product fit");
  for (std::ptrdiff_t first = 0; first < a.columns; first += kProductDepth) {
    const std::ptrdiff_t depth = std::min(kProductDepth, a.columns - first);
    const Factor left{a.data + first * a.column_step, a.rows, depth, a.row_step, a.column_step};
    const Factor right{b.data + first * b.row_step, depth, b.columns, b.row_step, b.column_step};
    if (a.rows < 4 && b.column_step == 1)
      multiply_streaming(left, right, out);
    else
      multiply_packed(left, right, out);
  }
}

}  // namespace rehearse::policies
