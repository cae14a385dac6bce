#include "sim/io/text_input.hpp"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
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
constexpr std::uint64_t kMostXzMemory = std::uint64_t{256} << 20;

}  // namespace

class ByteSource::State {
 public:
  State(const std::string& path, std::string_view expected) : path_(path) {
    InputFile file(path);
    gzip_.reset(::gzdopen(file.release(), "rb"));
    check(gzip_ != nullptr, "gzdopen has no memory");
    ::gzbuffer(gzip_.get(), 1u << 18);
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
  struct Close {
    void operator()(gzFile file) const { ::gzclose(file); }
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

  std::size_t read_gzip(char* into, std::size_t count) {
    std::size_t used = 0;
    while (used < count) {
      const int got = ::gzread(gzip_.get(), into + used, static_cast<unsigned>(std::min(count - used, std::size_t{1} << 30)));
      int error = Z_OK;
      std::string_view reason = ::gzerror(gzip_.get(), &error);
      if (got < 0 || error == Z_BUF_ERROR) {  // Z_BUF_ERROR: a gzip stream that breaks off
        if (error == Z_ERRNO) reason = std::strerror(errno);
        if (const std::size_t prefix = reason.find(">: "); prefix != reason.npos)
          reason.remove_prefix(prefix + 3);  // zlib's "<fd:3>: "
        refuse(reason);
      }
      if (got == 0) break;
      used += static_cast<std::size_t>(got);
    }
    return used;
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
  std::unique_ptr<gzFile_s, Close> gzip_;  ///< gives other files as they are
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
