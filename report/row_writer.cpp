#include "report/row_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "sim/base/units.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::report {

namespace {

constexpr std::size_t kBufferBytes = 1u << 18;
constexpr std::size_t kNumberBytes = 32;  // of any number or date

/// Whether a text may need quotes, or be a formula. Short ones seldom do: to look at every character is faster than to ask at
/// each.
bool is_special(std::string_view text) {
  bool found = false;
  for (const char c : text) found |= c == ',' || c == '"' || c == '\r' || c == '\n';
  return found || sim::is_unsafe_cell(text);
}

/// The shortest decimal that reads back, as fmt writes it: 0.0515. Of a number with digits behind the point that needs no
/// exponent, so at least 1e-4 and below 1e15. The digits are fmt's own; its general writer takes four times as long as this.
char* write_shortest(double value, char* to) {
  if (value < 0) *to++ = '-';
  const auto decimal = fmt::detail::dragonbox::to_decimal(std::abs(value));
  char* const digits = to + 1;  // behind where the point goes, once those before it have moved
  char* const end = std::to_chars(digits, digits + kNumberBytes, decimal.significand).ptr;
  const std::ptrdiff_t point = end - digits + decimal.exponent;
  if (point > 0) {
    std::copy(digits, digits + point, to);
    to[point] = '.';
    return end;
  }
  char* const moved = to + 2 - point;
  std::memmove(moved, digits, static_cast<std::size_t>(end - digits));
  std::fill(to, moved, '0');
  to[1] = '.';
  return moved + (end - digits);
}

}  // namespace

char* RowWriter::begin_field(std::size_t most_bytes) {
  const std::size_t wanted = used_ + most_bytes + 2;  // a comma before it, a line's end behind
  if (wanted > capacity_) {
    capacity_ = std::max(wanted, std::max(2 * capacity_, kBufferBytes + kBufferBytes / 4));
    auto larger = std::make_unique_for_overwrite<char[]>(capacity_);
    std::copy(buffer_.get(), buffer_.get() + used_, larger.get());
    buffer_ = std::move(larger);
  }
  char* to = buffer_.get() + used_;
  if (!first_) *to++ = ',';
  first_ = false;
  return to;
}

RowWriter& RowWriter::finish_field(const char* end) {
  used_ = static_cast<std::size_t>(end - buffer_.get());
  return *this;
}

RowWriter& RowWriter::word(std::string_view value) {
  char* const to = begin_field(value.size());
  return finish_field(std::copy(value.begin(), value.end(), to));
}

RowWriter& RowWriter::text(std::string_view value) { return is_special(value) ? word(sim::csv_text(value)) : word(value); }

RowWriter& RowWriter::number(double value) {
  if (std::isnan(value)) return empty();
  if (value == std::floor(value) && std::abs(value) < 1e15) return integer(static_cast<std::int64_t>(value));  // never "-0"
  return finish_field(write_fraction(value, begin_field(kNumberBytes)));
}

char* RowWriter::write_fraction(double value, char* to) {
  for (const Fraction& known : fractions_)
    if (known.value == value) return std::copy(known.digits.begin(), known.digits.begin() + known.size, to);
  const bool is_common = std::abs(value) >= 1e-4 && std::abs(value) < 1e15;
  char* const end = is_common ? write_shortest(value, to) : fmt::format_to(to, "{}", value);
  Fraction& kept = fractions_[oldest_];
  kept.value = value;
  kept.size = static_cast<std::size_t>(end - to);
  std::copy(to, end, kept.digits.begin());
  oldest_ = (oldest_ + 1) % fractions_.size();
  return end;
}

RowWriter& RowWriter::date(double value) {
  if (std::isnan(value)) return empty();
  static_assert(sim::kDateText <= kNumberBytes);
  return finish_field(sim::write_date(value, begin_field(kNumberBytes)));
}

RowWriter& RowWriter::integer(std::int64_t value) {
  char* const to = begin_field(kNumberBytes);
  return finish_field(std::to_chars(to, to + kNumberBytes, value).ptr);
}

void RowWriter::end_row() {
  if (used_ + 1 > capacity_) begin_field(0);
  buffer_[used_++] = '\n';
  first_ = true;
  if (used_ >= kBufferBytes) flush();
}

void RowWriter::line(std::string_view text) {
  word(text);
  end_row();
}

void RowWriter::flush() {
  file_.write({buffer_.get(), used_});
  used_ = 0;
}

void RowWriter::close() {
  if (is_closed_) return;
  flush();
  file_.close();
  is_closed_ = true;
}

}  // namespace rehearse::report
