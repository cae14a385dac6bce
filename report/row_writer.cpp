#include "report/row_writer.hpp"

#include <fmt/compile.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>

#include "sim/base/errors.hpp"
#include "sim/read/csv_text.hpp"

namespace rehearse::report {

namespace {

constexpr std::size_t kBufferBytes = 1u << 18;

[[noreturn]] void fail(const std::string& path) {
  throw sim::InputError({.file = path, .expected = "a file that can be written", .found = std::strerror(errno)});
}

/// A format that is compiled, as parsing it for each field took a tenth of a large replay.
template <class Number>
void append(fmt::memory_buffer& buffer, Number value) {
  fmt::format_to(std::back_inserter(buffer), FMT_COMPILE("{}"), value);
}

}  // namespace

RowWriter::RowWriter(std::string path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "wb")) {
  if (file_ == nullptr) fail(path_);
  std::setvbuf(file_, nullptr, _IONBF, 0);  // ours is the only buffer
}

RowWriter::~RowWriter() {
  if (file_ != nullptr) std::fclose(file_);
}

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
    append(buffer_, value);
  }
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
  if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) fail(path_);
  buffer_.clear();
}

void RowWriter::close() {
  if (file_ == nullptr) return;
  flush();
  const int status = std::fclose(file_);
  file_ = nullptr;
  if (status != 0) fail(path_);
}

}  // namespace rehearse::report
