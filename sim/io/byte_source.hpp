// The bytes of a text file that may be compressed with gzip or xz (told by its first bytes, not by its name).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace rehearse::sim {

/// What a text in UTF-8 may begin with.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class ByteSource {
 public:
  /// Throws InputError when the file cannot be read, or is something else in disguise: an archive, a file compressed otherwise,
  /// text in UTF-16 (what to do about it is in the message).
  explicit ByteSource(const std::string& path);
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

}  // namespace rehearse::sim
