#include "sim/io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/io/json_tree.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::sim {

std::string_view JsonTree::number_token(std::uint32_t index) const {
  const std::size_t begin = nodes[index].offset, end = text.find_first_not_of(kNumberCharacters, begin);
  return std::string_view(text).substr(begin, end == text.npos ? end : end - begin);
}

Mistake JsonTree::at(std::size_t offset) const {
  const auto behind =
      std::upper_bound(sources.begin(), sources.end(), offset, [](std::size_t o, const Source& s) { return o < s.begin; });
  const Source& source = *std::prev(behind);
  if (!source.has_lines) return {.file = source.file};
  const std::string_view before = std::string_view(text).substr(source.begin, offset - source.begin);
  std::string_view line = before.substr(before.rfind('\n') + 1);  // npos + 1 = 0
  if (line.size() == before.size() && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; };
  return {.file = source.file,
          .line = 1 + std::count(before.begin(), before.end(), '\n'),
          .column = source.has_columns ? 1 + std::count_if(line.begin(), line.end(), starts_character) : 0};
}

JsonKind JsonValue::kind() const { return tree_->kind(index_); }

std::uint32_t JsonValue::after() const { return tree_->nodes[index_].next; }

bool JsonValue::boolean() const {
  check(is_boolean(), "JsonValue::boolean of another kind");
  return tree_->nodes[index_].size != 0;
}

double JsonValue::number() const {
  check(is_number(), "JsonValue::number of another kind");
  return tree_->nodes[index_].number;
}

std::string_view JsonValue::text() const {
  check(is_string(), "JsonValue::text of another kind");
  return tree_->string(index_);
}

std::size_t JsonValue::size() const { return is_array() || is_object() ? tree_->nodes[index_].size : 0; }

JsonRange<JsonValue> JsonValue::elements() const { return {*tree_, is_array() ? index_ + 1 : after(), after()}; }

JsonRange<JsonMember> JsonValue::members() const { return {*tree_, is_object() ? index_ + 1 : after(), after()}; }

namespace {

std::string pointer_token(std::string_view key) {
  std::string out = "/";
  for (const char c : printable(key, 100)) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

}  // namespace

std::string JsonValue::pointer() const {
  std::string path;
  std::uint32_t at = 0;
  while (at != index_) {
    const bool in_object = tree_->kind(at) == JsonKind::object;
    std::uint32_t child = at + 1;
    std::size_t position = 0;
    // Of a member, `child` is the key and child + 1 the value.
    const auto next = [&] { return tree_->nodes[child + (in_object ? 1 : 0)].next; };
    for (; next() <= index_; child = next()) ++position;
    path += in_object ? pointer_token(tree_->string(child)) : fmt::format("/{}", position);
    if (child == index_) break;
    at = child + (in_object ? 1 : 0);
  }
  return path;
}

std::string JsonValue::found() const {
  switch (kind()) {
    case JsonKind::null:
      return "null";
    case JsonKind::boolean:
      return boolean() ? "true" : "false";
    case JsonKind::number:
      return printable(tree_->number_token(index_));
    case JsonKind::string:
      return shown(text());
    case JsonKind::array:
      return size() == 0 ? "an empty list" : "a list";
    case JsonKind::object:
      return size() == 0 ? "an empty object" : "an object";
  }
  return {};
}

Mistake JsonValue::mistake(std::string expected) const {
  Mistake result = tree_->at(tree_->nodes[index_].offset);
  result.pointer = pointer();
  result.expected = std::move(expected);
  result.found = found();
  return result;
}

void JsonValue::refuse(std::string expected, Mistakes& mistakes) const {
  mistakes.add_from([&] { return mistake(std::move(expected)); });
}

}  // namespace rehearse::sim
