#include "report/row_writer.hpp"

#include <fmt/compile.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/base/units.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::report {

namespace {

constexpr std::size_t kBufferBytes = 1u << 18;

/// A format that is compiled, as parsing it for each field took a tenth of a large replay.
template <class Number>
void append(fmt::memory_buffer& buffer, Number value) {
  fmt::format_to(std::back_inserter(buffer), FMT_COMPILE("{}"), value);
}

}  // namespace

void RowWriter::separate() {
  if (!first_) buffer_.push_back(',');
  first_ = false;
}

RowWriter& RowWriter::text(std::string_view value) {
  separate();
  sim::append_csv_text(buffer_, value);
  return *this;
}

RowWriter& RowWriter::number(double value) {
  separate();
  if (value == 0) {
    buffer_.push_back('0');  // never "-0"
  } else if (value == std::floor(value) && std::abs(value) < 1e15) {
    append(buffer_, static_cast<std::int64_t>(value));
  } else if (!std::isnan(value)) {
    fraction(value);
  }
  return *this;
}

void RowWriter::fraction(double value) {
  for (const Fraction& known : fractions_) {
    if (known.value != value) continue;
    buffer_.append(known.digits.data(), known.digits.data() + known.size);
    return;
  }
  const std::size_t begin = buffer_.size();
  append(buffer_, value);
  Fraction& kept = fractions_[oldest_];
  if (buffer_.size() - begin > kept.digits.size()) return;
  kept.value = value;
  kept.size = buffer_.size() - begin;
  std::copy(buffer_.begin() + begin, buffer_.end(), kept.digits.begin());
  oldest_ = (oldest_ + 1) % fractions_.size();
}

RowWriter& RowWriter::date(double value) {
  separate();
  if (std::isnan(value)) return *this;
  char text[sim::kDateText];
  buffer_.append(text, sim::write_date(value, text));
  return *this;
}

RowWriter& RowWriter::integer(std::int64_t value) {
  separate();
  append(buffer_, value);
  return *this;
}

void RowWriter::end_row() {
  buffer_.push_back('\n');
  first_ = true;
  if (buffer_.size() >= kBufferBytes) flush();
}

void RowWriter::line(std::string_view text) {
  buffer_.append(text.data(), text.data() + text.size());
  end_row();
}

void RowWriter::flush() {
  file_.write({buffer_.data(), buffer_.size()});
  buffer_.clear();
}

void RowWriter::close() {
  if (is_closed_) return;
  flush();
  file_.close();
  is_closed_ = true;
}

}  // namespace rehearse::report
