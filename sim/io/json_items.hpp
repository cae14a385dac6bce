// The elements of one list, or the members of one object, of a JSON file larger than memory: one item's text at a time, plain or
// compressed with gzip or xz.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/text_input.hpp"

namespace rehearse::sim {

struct JsonItem {
  std::string name;       ///< a member's key as it is written, escapes and all; empty for an element
  std::string text;       ///< for parse_json; here only its brackets and quotes have been looked at
  std::int64_t line = 0;  ///< on which it starts, from 1
};

class JsonItems {
 public:
  static constexpr std::size_t kMaxItemBytes = std::size_t{16} << 20;

  /// `key` names the root object's member whose items are read; without it, the root's own are. Throws InputError when the file
  /// cannot be read, is not JSON on the way there, has no such key, or has something there that is neither list nor object.
  explicit JsonItems(const std::string& path, std::string_view key = {});
  /// The file's values themselves, one after the other: one object, or several without a list around them.
  struct Values {};
  JsonItems(const std::string& path, Values);

  /// False at the end of the list or object; what follows it in the file is not looked at. Throws InputError where reading cannot
  /// go on: brackets that do not close, an item over kMaxItemBytes, a damaged file.
  bool next(JsonItem& item);

 private:
  friend std::optional<std::string> root_text(const std::string& path, std::string_view key);
  int peek();
  int get();
  int skip_blanks();  ///< and peek
  void expect(char c, std::string_view expected);
  void take_string(std::string* into);
  void take_value(std::string* into);
  bool find(std::string_view key);
  [[noreturn]] void refuse(std::string_view expected);
  void append(std::string* into, int c);

  std::string path_;
  ByteSource source_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, end_ = 0;
  std::int64_t line_ = 1;
  char close_ = ']';  ///< 0: none, as there is nothing around the values
  bool first_ = true, done_ = false;
};

/// Of the member `key` of a file's root object: the text of a string as it is written, escapes and all, and "" for another value.
/// Nothing where the root is no object or has no such key. Throws InputError as JsonItems does.
std::optional<std::string> root_text(const std::string& path, std::string_view key);

}  // namespace rehearse::sim
