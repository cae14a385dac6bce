// Reading JSON values of known shape. Whatever is wrong is recorded, a harmless value takes its place, and reading goes on, so
// that the user sees all mistakes at once; Mistakes::throw_if_any ends it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/io/json.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::sim {

/// One value each. After a mistake: range.some(), false, "", 0, no elements.
double read_number(JsonValue value, const NumberRange& range, Mistakes& mistakes);
/// 3600.0 is a whole number, "3600" and 2^53 are not (NumberRange, kIntegerLimit).
std::int64_t read_integer(JsonValue value, const NumberRange& range, Mistakes& mistakes);
bool read_boolean(JsonValue value, Mistakes& mistakes);
/// Good as long as the value. An empty text is a mistake.
std::string_view read_text(JsonValue value, Mistakes& mistakes);
/// The index of one of `names`.
std::size_t read_choice(JsonValue value, std::span<const std::string> names, Mistakes& mistakes);
JsonRange<JsonValue> read_list(JsonValue value, Mistakes& mistakes);

/// The members of one object by key. Keys asked for are the known ones; finish() reports all others. A required key (one without
/// a fallback) that is missing is a mistake at the object. Of a value that is no object, that alone is reported.
/// The object, the mistakes and the keys (as a rule literals) must outlive the reader.
class ObjectReader {
 public:
  ObjectReader(JsonValue object, Mistakes& mistakes);

  JsonValue value() const { return object_; }
  /// Whether there is such a key; makes it a known one, as everything below does.
  bool has(std::string_view key);
  std::optional<JsonValue> child(std::string_view key);
  /// As child(), but a mistake when missing; `expected` says what belongs there: "a list of pools".
  std::optional<JsonValue> required(std::string_view key, std::string_view expected);

  double number(std::string_view key, const NumberRange& range = {}, std::optional<double> fallback = {});
  std::int64_t integer(std::string_view key, const NumberRange& range = {}, std::optional<std::int64_t> fallback = {});
  bool boolean(std::string_view key, std::optional<bool> fallback = {});
  std::string text(std::string_view key, const std::optional<std::string>& fallback = {});
  std::size_t choice(std::string_view key, std::span<const std::string> names, std::optional<std::size_t> fallback = {});
  /// The elements of a list; none when the key is missing, which only `required` can tell.
  std::vector<JsonValue> list(std::string_view key);

  std::optional<double> maybe_number(std::string_view key, const NumberRange& range = {});
  std::optional<std::int64_t> maybe_integer(std::string_view key, const NumberRange& range = {});
  std::optional<std::string> maybe_text(std::string_view key);

  /// Reports every key that was not asked for, with the nearest that was, or all that were when none is near. Call it last.
  void finish();

 private:
  JsonValue object_;
  Mistakes& mistakes_;
  std::vector<std::string_view> known_;
};

}  // namespace rehearse::sim
