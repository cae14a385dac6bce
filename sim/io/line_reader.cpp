#include "sim/io/line_reader.hpp"

#include <cstring>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

LineReader::LineReader(const std::string& path)
    : path_(path), source_(path), buffer_(std::make_unique_for_overwrite<char[]>(kBufferBytes)) {
  fill();
  if (std::string_view(buffer_.get(), end_).starts_with(kByteOrderMark)) begin_ = kByteOrderMark.size();
}

bool LineReader::fill() {
  if (at_end_) return false;
  std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const std::size_t wanted = kBufferBytes - end_;
  const std::size_t got = source_.read(buffer_.get() + end_, wanted);
  if (std::memchr(buffer_.get() + end_, '\0', got) != nullptr)
    throw InputError(Mistake{.file = path_, .expected = "text", .found = "a NUL character: a binary file"});
  end_ += got;
  at_end_ = got < wanted;
  return got > 0;
}

bool LineReader::next(std::string_view& line) {
  const char* end = nullptr;
  while (true) {
    const char* const begin = buffer_.get() + begin_;
    end = static_cast<const char*>(std::memchr(begin, '\n', end_ - begin_));
    const std::size_t length = end != nullptr ? static_cast<std::size_t>(end - begin) : end_ - begin_;
    if (length > kMaxLineBytes)
      throw InputError(
          Mistake{.file = path_, .line = line_number_ + 1, .expected = "lines of at most 1 MiB", .found = "a longer one"});
    if (end != nullptr || !fill()) break;
  }
  if (end == nullptr && begin_ == end_) return false;
  const std::size_t line_end = end != nullptr ? static_cast<std::size_t>(end - buffer_.get()) : end_;
  line = std::string_view(buffer_.get() + begin_, line_end - begin_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  begin_ = end != nullptr ? line_end + 1 : end_;
  ++line_number_;
  return true;
}

}  // namespace rehearse::sim
