// The checked JSON reader: a document that knows where each of its values stands, so that whatever turns out to be wrong
// later is reported with line, column and JSON pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };

struct JsonTree;
struct JsonMember;
template <class Item>
class JsonRange;

/// A value of a document: a cheap reference, good while the document lives and until its next set().
class JsonValue {
 public:
  JsonValue(const JsonTree& tree, std::uint32_t index) : tree_(&tree), index_(index) {}

  JsonKind kind() const;
  bool is_null() const { return kind() == JsonKind::null; }
  bool is_boolean() const { return kind() == JsonKind::boolean; }
  bool is_number() const { return kind() == JsonKind::number; }
  bool is_string() const { return kind() == JsonKind::string; }
  bool is_array() const { return kind() == JsonKind::array; }
  bool is_object() const { return kind() == JsonKind::object; }

  /// Of a boolean, a number (finite), a string (UTF-8, unescaped): a failed check for any other kind.
  bool boolean() const;
  double number() const;
  std::string_view text() const;

  /// How many elements or members; 0 for scalars.
  std::size_t size() const;
  /// Of an array, in order; empty for other kinds.
  JsonRange<JsonValue> elements() const;
  /// Of an object, in the file's order; empty for other kinds.
  JsonRange<JsonMember> members() const;

  /// The value as JSON on one line, members in order, numbers as they were written: the same whatever blanks the file has.
  std::string json() const;

  /// RFC 6901; empty for the document's root. Takes time linear in the document before the value.
  std::string pointer() const;
  /// The value in a few words: "an object", "a list", "12.50", "\"text\" cut to 40 characters".
  std::string found() const;
  /// A mistake at this value, with file, line, column, pointer and found.
  Mistake mistake(std::string expected) const;
  /// Adds mistake(expected), the place worked out only if it will be listed: a list of millions of wrong numbers stays cheap.
  void refuse(std::string expected, Mistakes& mistakes) const;

 private:
  friend class JsonRange<JsonValue>;
  friend class JsonRange<JsonMember>;
  std::uint32_t after() const;  ///< the index behind this value and all that it holds

  const JsonTree* tree_;
  std::uint32_t index_;
};

struct JsonMember {
  JsonValue key;  ///< a string; its mistake() has the key's place and the value's pointer
  JsonValue value;
};

/// The elements (Item = JsonValue) or members (Item = JsonMember) of a container, in order.
template <class Item>
class JsonRange {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Item;

    Iterator(const JsonTree& tree, std::uint32_t index) : tree_(&tree), index_(index) {}
    Item operator*() const {
      if constexpr (kIsMember)
        return {JsonValue(*tree_, index_), JsonValue(*tree_, index_ + 1)};
      else
        return JsonValue(*tree_, index_);
    }
    Iterator& operator++() {
      index_ = JsonValue(*tree_, index_ + (kIsMember ? 1 : 0)).after();
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    static constexpr bool kIsMember = std::is_same_v<Item, JsonMember>;
    const JsonTree* tree_;
    std::uint32_t index_;
    friend class JsonRange;
  };

  JsonRange(const JsonTree& tree, std::uint32_t begin, std::uint32_t end) : begin_(tree, begin), end_(tree, end) {}
  Iterator begin() const { return begin_; }
  Iterator end() const { return end_; }
  bool empty() const { return begin_ == end_; }

 private:
  Iterator begin_, end_;
};

/// A parsed JSON text, 16 bytes a value beside the text itself. Movable.
class JsonDocument {
 public:
  explicit JsonDocument(JsonTree tree);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  JsonValue root() const { return {*tree_, 0}; }
  /// The file's name as it was given.
  const std::string& file() const;

  /// Replaces or adds the value at a JSON pointer ("/jobs/0/trace"; "-" or the size appends to an array). `value_text` is taken
  /// as JSON where it parses, else as a string. Later mistakes in it name the file `from`. References into the document end.
  /// Throws InputError, with the nearest existing key, when the place to change cannot be reached; then nothing is changed.
  void set(std::string_view pointer, std::string_view value_text, std::string_view from = "--set");

  JsonDocument copy() const;

  /// The document as JSON, indented by two blanks, members in order, numbers as they were written; ends with a newline.
  std::string dump() const;

 private:
  std::unique_ptr<JsonTree> tree_;
};

inline constexpr std::size_t kMaxJsonBytes = std::size_t{256} << 20;
inline constexpr std::size_t kMaxJsonValues = 20'000'000;  ///< keys included
inline constexpr std::size_t kMaxJsonDepth = 100;

/// Throws InputError for what is not JSON (RFC 8259; UTF-8, a byte-order mark is skipped), and for duplicate keys, numbers beyond
/// the range of a double, and more bytes, values or nesting than the limits above. `file` is the name used in messages.
JsonDocument parse_json(std::string text, std::string file);

/// parse_json of a file's text. Throws InputError also when the file cannot be read.
JsonDocument read_json_file(const std::string& path);

}  // namespace rehearse::sim
