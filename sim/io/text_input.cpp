#include "sim/io/text_input.hpp"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "sim/io/foreign_file.hpp"

namespace rehearse::sim {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kXz =
    "\xFD"
    "7zXZ\0"sv;
constexpr std::string_view kGzip = "\x1F\x8B";
constexpr std::uint64_t kMostXzMemory = std::uint64_t{256} << 20;

}  // namespace

class ByteSource::State {
 public:
  State(const std::string& path, std::string_view expected) : path_(path), file_(path) {
    while (raw_end_ < kGzip.size() && refill()) {
    }
    is_gzip_ = raw().starts_with(kGzip);
    constexpr int kGzipAlone = 16;  // of zlib.h's inflateInit2: a header of gzip, not of zlib
    if (is_gzip_) check(::inflateInit2(&gzip_, MAX_WBITS + kGzipAlone) == Z_OK, "zlib has no memory");
    read_head();
    if (head().starts_with(kXz)) {
      start_xz();
      read_head();
    }
    if (const std::string_view what = foreign_file(head(), path_); !what.empty())
      throw InputError(Mistake{.file = path_,
                               .expected = fmt::format("{}, plain or compressed with gzip or xz", expected),
                               .found = std::string(what)});
  }

  std::size_t read(char* into, std::size_t count) {
    const std::size_t from_head = std::min(count, head_end_ - head_begin_);
    std::memcpy(into, head_.data() + head_begin_, from_head);
    head_begin_ += from_head;
    return from_head + read_further(into + from_head, count - from_head);
  }

 private:
  struct Gzip : z_stream {
    Gzip() : z_stream() {}
    ~Gzip() { ::inflateEnd(this); }  // of one that was not begun: nothing
    Gzip(const Gzip&) = delete;
    Gzip& operator=(const Gzip&) = delete;
  };
  /// Frees what it holds also when the constructor of State throws.
  struct Xz : lzma_stream {
    Xz() : lzma_stream(LZMA_STREAM_INIT) {}
    ~Xz() { ::lzma_end(this); }
    Xz(const Xz&) = delete;
    Xz& operator=(const Xz&) = delete;
  };

  std::string_view head() const { return {head_.data() + head_begin_, head_end_ - head_begin_}; }
  void read_head() {
    head_begin_ = 0;
    head_end_ = read_further(head_.data(), head_.size());
  }
  std::size_t read_further(char* into, std::size_t count) { return is_xz_ ? read_xz(into, count) : read_gzip(into, count); }

  [[noreturn]] void refuse(std::string_view reason) const {
    throw InputError(Mistake{.file = path_, .expected = "a readable file", .found = fmt::format("an error: {}", reason)});
  }

  std::string_view raw() const { return {raw_.data() + raw_begin_, raw_end_ - raw_begin_}; }
  /// Reads on, behind what is left of the file's bytes; false at its end.
  bool refill() {
    std::memmove(raw_.data(), raw_.data() + raw_begin_, raw_end_ - raw_begin_);
    raw_end_ -= raw_begin_;
    raw_begin_ = 0;
    const std::size_t got = file_.read(raw_.data() + raw_end_, raw_.size() - raw_end_);
    raw_end_ += got;
    raw_read_ += got;
    return got > 0;
  }

  /// The file's bytes, unpacked where gzip has packed them.
  std::size_t read_gzip(char* into, std::size_t count) {
    std::size_t used = 0;
    while (used < count && !gzip_ended_) {
      if (raw().empty() && !refill()) {
        if (is_gzip_) refuse("unexpected end of file");
        break;
      }
      used += is_gzip_ ? inflate_some(into + used, count - used) : copy_some(into + used, count - used);
    }
    return used;
  }

  std::size_t copy_some(char* into, std::size_t count) {
    count = std::min(count, raw().size());
    std::memcpy(into, raw().data(), count);
    raw_begin_ += count;
    return count;
  }

  std::size_t inflate_some(char* into, std::size_t count) {
    count = std::min(count, std::size_t{1} << 30);
    gzip_.next_in = reinterpret_cast<Bytef*>(raw_.data() + raw_begin_);
    gzip_.avail_in = static_cast<uInt>(raw().size());
    gzip_.next_out = reinterpret_cast<Bytef*>(into);
    gzip_.avail_out = static_cast<uInt>(count);
    const int result = ::inflate(&gzip_, Z_NO_FLUSH);
    raw_begin_ = raw_end_ - gzip_.avail_in;
    if (result == Z_STREAM_END)
      next_member();
    else if (result != Z_OK)
      refuse(gzip_.msg != nullptr ? gzip_.msg : "damaged gzip data");
    return count - gzip_.avail_out;
  }

  /// Members follow one another (RFC 1952, 2.2); zeros behind the last one fill a block of a tape.
  void next_member() {
    const std::size_t end = raw_read_ - raw().size();
    const auto skip_zeros = [&] {
      while (!raw().empty() && raw().front() == '\0') ++raw_begin_;
    };
    for (skip_zeros(); raw().size() < kGzip.size() && refill();) skip_zeros();
    gzip_ended_ = raw().empty();
    if (gzip_ended_) return;
    if (raw().starts_with(kGzip)) {
      check(::inflateReset(&gzip_) == Z_OK, "zlib goes on");
      return;
    }
    throw InputError(Mistake{.file = path_,
                             .expected = fmt::format("the end of the gzip file at byte {} (head -c {} keeps what is before), or "
                                                     "another gzip member",
                                                     end, end),
                             .found = "other data behind it"});
  }

  /// What was read as the head is the packed file's beginning.
  void start_xz() {
    packed_.assign(head_.begin(), head_.begin() + static_cast<std::ptrdiff_t>(head_end_));
    check(::lzma_stream_decoder(&xz_, kMostXzMemory, LZMA_CONCATENATED) == LZMA_OK, "lzma has no memory");
    is_xz_ = true;
    xz_.next_in = reinterpret_cast<const std::uint8_t*>(packed_.data());
    xz_.avail_in = packed_.size();
  }

  std::size_t read_xz(char* into, std::size_t count) {
    xz_.next_out = reinterpret_cast<std::uint8_t*>(into);
    xz_.avail_out = count;
    while (xz_.avail_out > 0 && !xz_ended_) {
      if (xz_.avail_in == 0 && !packed_ended_) {
        packed_.resize(std::size_t{1} << 18);
        const std::size_t got = read_gzip(packed_.data(), packed_.size());
        packed_ended_ = got < packed_.size();
        xz_.next_in = reinterpret_cast<const std::uint8_t*>(packed_.data());
        xz_.avail_in = got;
      }
      const lzma_ret result = ::lzma_code(&xz_, packed_ended_ && xz_.avail_in == 0 ? LZMA_FINISH : LZMA_RUN);
      if (result == LZMA_STREAM_END)
        xz_ended_ = true;
      else if (result == LZMA_MEMLIMIT_ERROR)
        refuse("it needs more than 256 MiB to unpack");
      else if (result == LZMA_BUF_ERROR && !packed_ended_)
        continue;
      else if (result != LZMA_OK)
        refuse(result == LZMA_BUF_ERROR ? "unexpected end of the xz file" : "damaged xz data");
    }
    return count - xz_.avail_out;
  }

  std::string path_;
  InputFile file_;
  std::vector<char> raw_ = std::vector<char>(std::size_t{1} << 18);  ///< of the file's bytes, those that wait
  std::size_t raw_begin_ = 0, raw_end_ = 0;
  std::size_t raw_read_ = 0;  ///< bytes of the file
  bool is_gzip_ = false, gzip_ended_ = false;
  Gzip gzip_;
  std::array<char, kHeadBytes> head_;
  std::size_t head_begin_ = 0, head_end_ = 0;
  bool is_xz_ = false, xz_ended_ = false, packed_ended_ = false;
  Xz xz_;
  std::vector<char> packed_;
};

ByteSource::ByteSource(const std::string& path, std::string_view expected) : state_(std::make_unique<State>(path, expected)) {}
ByteSource::~ByteSource() = default;
ByteSource::ByteSource(ByteSource&&) noexcept = default;
ByteSource& ByteSource::operator=(ByteSource&&) noexcept = default;

std::size_t ByteSource::read(char* into, std::size_t count) { return state_->read(into, count); }

std::string read_unpacked(const std::string& path, std::size_t max_bytes, std::string_view expected) {
  ByteSource source(path, expected);
  std::error_code none;
  const std::uintmax_t announced = std::filesystem::file_size(path, none);  // of a pipe none
  std::string bytes;
  bytes.resize(std::max(kHeadBytes, none ? 0 : static_cast<std::size_t>(std::min<std::uintmax_t>(announced, max_bytes))) + 1);
  std::size_t used = 0;
  while (const std::size_t got = source.read(bytes.data() + used, bytes.size() - used)) {
    used += got;
    if (used > max_bytes)
      throw InputError(
          Mistake{.file = path, .expected = fmt::format("a file of at most {} MiB", max_bytes >> 20), .found = "a larger one"});
    if (used == bytes.size()) bytes.resize(2 * used);
  }
  bytes.resize(used);
  return bytes;
}

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
