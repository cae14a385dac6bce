// A text file as it is read: its bytes, which may be compressed, and its lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace rehearse::sim {

// The bytes of a text file that may be compressed with gzip or xz (told by its first bytes, not by its name).

/// What a text in UTF-8 may begin with.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class ByteSource {
 public:
  /// Throws InputError when the file cannot be read, or has a format of its own (sim/io/foreign_file.hpp): an archive, a table
  /// that is no text, a network's weights. `expected`: what the file should be instead.
  explicit ByteSource(const std::string& path, std::string_view expected = "a text file");
  ~ByteSource();
  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;

  /// Reads `count` bytes, fewer only at the end. Throws InputError for a damaged file, and for an xz file that needs more than
  /// 256 MiB to unpack (`xz -9` needs 65).
  std::size_t read(char* into, std::size_t count);

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// All bytes of a file, unpacked where they are compressed. Throws InputError as ByteSource does, and when there are more than
/// `max_bytes`.
std::string read_unpacked(const std::string& path, std::size_t max_bytes, std::string_view expected = "a text file");

// The lines of a text file, plain or compressed with gzip or xz, one at a time.

class LineReader {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

  /// Throws InputError as ByteSource does. A byte-order mark is skipped.
  explicit LineReader(const std::string& path);

  /// The next line without its end (LF or CR LF), good until the next call; false at the end. Throws InputError for a line over
  /// kMaxLineBytes, NUL characters and a damaged file.
  bool next(std::string_view& line);
  std::int64_t line_number() const { return line_number_; }  ///< of the line that next() gave, from 1

 private:
  bool fill();
  std::string path_;
  ByteSource source_;
  static constexpr std::size_t kBufferBytes = 2 * kMaxLineBytes;
  std::unique_ptr<char[]> buffer_;  ///< a short file touches little of it
  std::size_t begin_ = 0, end_ = 0;
  bool at_end_ = false;
  std::int64_t line_number_ = 0;
};

}  // namespace rehearse::sim
