#include "sim/io/object_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::sim {

namespace {

constexpr std::string_view kBoolean = "true or false";
constexpr std::string_view kText = "a text in double quotes";

std::string one_of(std::span<const std::string> names) {
  std::string text = "one of ";
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "\"" : ", \"") + names[i] + '"';
  return text;
}

}  // namespace

double read_number(JsonValue value, const NumberRange& range, Mistakes& mistakes) {
  if (value.is_number() && range.contains(value.number())) return value.number();
  value.refuse(range.describe(), mistakes);
  return range.some();
}

std::int64_t read_integer(JsonValue value, const NumberRange& range, Mistakes& mistakes) {
  std::string expected = value.is_number() ? integer_expectation(value.number(), range) : range.describe("a whole number");
  if (expected.empty()) return static_cast<std::int64_t>(value.number());
  value.refuse(std::move(expected), mistakes);
  return static_cast<std::int64_t>(range.some());
}

bool read_boolean(JsonValue value, Mistakes& mistakes) {
  if (value.is_boolean()) return value.boolean();
  value.refuse(std::string(kBoolean), mistakes);
  return false;
}

std::string_view read_text(JsonValue value, Mistakes& mistakes) {
  if (value.is_string() && !value.text().empty()) return value.text();
  value.refuse(value.is_string() ? "a text that is not empty" : std::string(kText), mistakes);
  return {};
}

std::size_t read_choice(JsonValue value, std::span<const std::string> names, Mistakes& mistakes) {
  if (value.is_string()) {
    const auto found = std::find(names.begin(), names.end(), value.text());
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  }
  mistakes.add_from([&] {
    Mistake mistake = value.mistake(one_of(names));
    if (value.is_string()) mistake.nearest = nearest_name(value.text(), names);
    return mistake;
  });
  return 0;
}

JsonRange<JsonValue> read_list(JsonValue value, Mistakes& mistakes) {
  if (!value.is_array()) value.refuse("a list", mistakes);
  return value.elements();
}

ObjectReader::ObjectReader(JsonValue object, Mistakes& mistakes) : object_(object), mistakes_(mistakes) {
  if (!object_.is_object()) object_.refuse("an object", mistakes_);
}

std::optional<JsonValue> ObjectReader::child(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  for (const JsonMember& member : object_.members())
    if (member.key.text() == key) return member.value;
  return std::nullopt;
}

bool ObjectReader::has(std::string_view key) { return child(key).has_value(); }

std::optional<JsonValue> ObjectReader::required(std::string_view key, std::string_view expected) {
  const std::optional<JsonValue> found = child(key);
  if (found || !object_.is_object()) return found;
  mistakes_.add_from([&] {
    Mistake mistake = object_.mistake(fmt::format("a key \"{}\" ({})", key, expected));
    mistake.found = "none";
    return mistake;
  });
  return std::nullopt;
}

double ObjectReader::number(std::string_view key, const NumberRange& range, std::optional<double> fallback) {
  const auto value = fallback ? child(key) : required(key, range.describe());
  return value ? read_number(*value, range, mistakes_) : fallback.value_or(range.some());
}

std::int64_t ObjectReader::integer(std::string_view key, const NumberRange& range, std::optional<std::int64_t> fallback) {
  const auto value = fallback ? child(key) : required(key, range.describe("a whole number"));
  return value ? read_integer(*value, range, mistakes_) : fallback.value_or(static_cast<std::int64_t>(range.some()));
}

bool ObjectReader::boolean(std::string_view key, std::optional<bool> fallback) {
  const auto value = fallback ? child(key) : required(key, kBoolean);
  return value ? read_boolean(*value, mistakes_) : fallback.value_or(false);
}

std::string ObjectReader::text(std::string_view key, const std::optional<std::string>& fallback) {
  const auto value = fallback ? child(key) : required(key, kText);
  return value ? std::string(read_text(*value, mistakes_)) : fallback.value_or("");
}

std::size_t ObjectReader::choice(std::string_view key, std::span<const std::string> names, std::optional<std::size_t> fallback) {
  const auto value = fallback ? child(key) : required(key, one_of(names));
  return value ? read_choice(*value, names, mistakes_) : fallback.value_or(0);
}

std::vector<JsonValue> ObjectReader::list(std::string_view key) {
  std::vector<JsonValue> values;
  if (const auto value = child(key)) {
    values.reserve(value->size());
    for (const JsonValue element : read_list(*value, mistakes_)) values.push_back(element);
  }
  return values;
}

std::optional<double> ObjectReader::maybe_number(std::string_view key, const NumberRange& range) {
  const auto value = child(key);
  return value ? std::optional(read_number(*value, range, mistakes_)) : std::nullopt;
}

std::optional<std::int64_t> ObjectReader::maybe_integer(std::string_view key, const NumberRange& range) {
  const auto value = child(key);
  return value ? std::optional(read_integer(*value, range, mistakes_)) : std::nullopt;
}

std::optional<std::string> ObjectReader::maybe_text(std::string_view key) {
  const auto value = child(key);
  return value ? std::optional(std::string(read_text(*value, mistakes_))) : std::nullopt;
}

void ObjectReader::finish() {
  for (const JsonMember& member : object_.members()) {
    if (std::find(known_.begin(), known_.end(), member.key.text()) != known_.end()) continue;
    mistakes_.add_from([&] {
      Mistake mistake = member.key.mistake({});
      mistake.found = "unknown key " + shown(member.key.text());
      const std::vector<std::string> known(known_.begin(), known_.end());
      mistake.nearest = nearest_name(member.key.text(), known);
      if (mistake.nearest.empty()) mistake.expected = one_of(known);
      return mistake;
    });
  }
}

}  // namespace rehearse::sim
