#include "sim/io/json_items.hpp"

#include <fmt/format.h>

#include "sim/base/errors.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::sim {

namespace {

constexpr int kEnd = -1;
constexpr int kDeepest = 100;  // as kMaxJsonDepth

}  // namespace

JsonItems::JsonItems(const std::string& path, Values) : path_(path), source_(path), buffer_(std::size_t{1} << 18), close_('\0') {
  if (peek() == 0xEF)  // a byte-order mark
    for (int i = 0; i < 3; ++i) get();
}

JsonItems::JsonItems(const std::string& path, std::string_view key) : JsonItems(path, Values()) {
  if (!key.empty() && !find(key))
    throw InputError(Mistake{.file = path_, .expected = fmt::format("a key \"{}\"", key), .found = "an object without it"});
  const int c = skip_blanks();
  if (c != '[' && c != '{') refuse(key.empty() ? "a list or an object" : fmt::format("a list or an object at \"{}\"", key));
  close_ = c == '[' ? ']' : '}';
  get();
}

int JsonItems::peek() {
  if (at_ == end_) {
    at_ = 0;
    end_ = source_.read(buffer_.data(), buffer_.size());
    if (end_ == 0) return kEnd;
  }
  return static_cast<unsigned char>(buffer_[at_]);
}

int JsonItems::get() {
  const int c = peek();
  if (c == '\n') ++line_;
  if (c != kEnd) ++at_;
  return c;
}

int JsonItems::skip_blanks() {
  int c = peek();
  while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
    get();
    c = peek();
  }
  return c;
}

void JsonItems::refuse(std::string_view expected) {
  const int c = peek();
  const char text = static_cast<char>(c);
  throw InputError(Mistake{.file = path_,
                           .line = line_,
                           .expected = std::string(expected),
                           .found = c == kEnd ? "the end of the file" : shown(std::string_view(&text, 1))});
}

void JsonItems::expect(char c, std::string_view expected) {
  if (skip_blanks() != c) refuse(expected);
  get();
}

void JsonItems::append(std::string* into, int c) {
  if (into == nullptr) return;
  if (into->size() == kMaxItemBytes)
    throw InputError(Mistake{
        .file = path_, .line = line_, .expected = "items of at most 16 MiB", .found = "a larger one, or one that never ends"});
  into->push_back(static_cast<char>(c));
}

/// With its quotes.
void JsonItems::take_string(std::string* into) {
  append(into, get());
  while (true) {
    const int c = peek();
    if (c == kEnd) refuse("a closing quote");
    append(into, get());
    if (c == '"') return;
    if (c == '\\') {
      if (peek() == kEnd) refuse("a closing quote");
      append(into, get());
    }
  }
}

/// Up to the comma or bracket behind the value.
void JsonItems::take_value(std::string* into) {
  int depth = 0;
  bool any = false;
  while (true) {
    const int c = peek();
    if (c == kEnd) refuse("the end of this value");
    if (depth == 0 && (c == ',' || c == ']' || c == '}')) break;
    any = true;
    if (c == '"') {
      take_string(into);
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDeepest) refuse("at most 100 brackets within one another");
    append(into, get());
    if (close_ == '\0' && depth == 0 && (c == ']' || c == '}')) return;
  }
  if (!any) refuse("a value");
}

/// Up to its value; false: there is none.
bool JsonItems::find(std::string_view key) {
  expect('{', "an object");
  const std::string wanted = fmt::format("\"{}\"", key);
  std::string name;
  for (bool first = true; skip_blanks() != '}'; first = false) {
    if (!first) expect(',', "a comma");
    if (skip_blanks() != '"') refuse("a key");
    name.clear();
    take_string(&name);
    expect(':', "a colon");
    if (name == wanted) return true;
    take_value(nullptr);
  }
  return false;
}

std::optional<std::string> root_text(const std::string& path, std::string_view key) {
  JsonItems root(path, JsonItems::Values());
  if (root.skip_blanks() != '{') return std::nullopt;
  root.close_ = '}';
  if (!root.find(key)) return std::nullopt;
  std::string text;
  if (root.skip_blanks() == '"') root.take_string(&text);
  return text.empty() ? text : text.substr(1, text.size() - 2);
}

bool JsonItems::next(JsonItem& item) {
  if (done_) return false;
  if (const int c = skip_blanks(); (c == close_ && first_) || (c == kEnd && close_ == '\0')) {
    done_ = true;
    return false;
  }
  if (!first_ && close_ != '\0') {
    if (peek() == close_) {
      done_ = true;
      return false;
    }
    expect(',', "a comma");
    skip_blanks();
  }
  first_ = false;
  item.name.clear();
  item.text.clear();
  item.line = line_;
  if (close_ == '}') {
    if (peek() != '"') refuse("a key");
    take_string(&item.name);
    item.name = item.name.substr(1, item.name.size() - 2);
    expect(':', "a colon");
    skip_blanks();
  }
  take_value(&item.text);
  return true;
}

}  // namespace rehearse::sim
