#include "report/scenario_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

namespace rehearse::report {

namespace {

using sim::JsonValue;

constexpr std::size_t kKeysNamed = 3;
constexpr std::size_t kLongestValue = 40;  // characters

/// As RFC 6901 writes a key.
std::string pointer_part(std::string_view key) {
  std::string part = "/";
  for (const char c : key) part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return part;
}

class ScenarioDifference {
 public:
  void compare(const JsonValue& recorded, const JsonValue& now, const std::string& pointer) {
    if (recorded.is_object() && now.is_object())
      compare(parts_of(recorded, pointer), parts_of(now, pointer), pointer);
    else if (recorded.is_array() && now.is_array())
      compare(elements_of(recorded, pointer), elements_of(now, pointer), pointer);
    else if (recorded.is_number() && now.is_number() ? recorded.number() != now.number() : recorded.json() != now.json())
      add(pointer, words(recorded), words(now));
  }
  std::string text() const {
    std::string all;
    for (std::size_t k = 0; k < std::min(kKeysNamed, found_.size()); ++k) all += (k == 0 ? "" : ", ") + found_[k];
    return found_.size() > kKeysNamed ? fmt::format("{} and {} more", all, found_.size() - kKeysNamed) : all;
  }

 private:
  using Parts = std::vector<std::pair<std::string, JsonValue>>;  // in the file's order

  static std::string words(const JsonValue& value) { return sim::printable(value.json(), kLongestValue); }

  static Parts parts_of(const JsonValue& object, const std::string& pointer) {
    Parts parts;
    for (const sim::JsonMember member : object.members()) {
      const std::string_view key = member.key.text();
      if (pointer.empty() && (key == "$schema" || key == "description" || key == "output")) continue;
      parts.emplace_back(pointer_part(key), member.value);
    }
    return parts;
  }

  /// By their places; policies by their names.
  static Parts elements_of(const JsonValue& list, const std::string& pointer) {
    Parts parts;
    std::size_t at = 0;
    for (const JsonValue element : list.elements()) {
      std::string part = fmt::format("/{}", at++);
      if (pointer == "/policies") {
        if (element.is_string()) part = pointer_part(element.text());
        for (const sim::JsonMember member : element.members())
          if (member.key.text() == "name" && member.value.is_string()) part = pointer_part(member.value.text());
      }
      parts.emplace_back(std::move(part), element);
    }
    return parts;
  }

  void compare(const Parts& recorded, const Parts& now, const std::string& pointer) {
    const bool are_policies = pointer == "/policies";
    const std::map<std::string, JsonValue> before(recorded.begin(), recorded.end()), after(now.begin(), now.end());
    for (const auto& [part, value] : recorded) {
      const auto young = after.find(part);
      if (young != after.end())
        compare(value, young->second, pointer + part);
      else if (!are_policies)
        add(pointer + part, words(value), "nothing");
    }
    for (const auto& [part, value] : now)
      if (!before.contains(part) && !are_policies) add(pointer + part, "nothing", words(value));
  }

  void add(const std::string& pointer, const std::string& recorded, const std::string& now) {
    found_.push_back(fmt::format("{} {} -> {}", sim::printable(pointer, sim::kWholeText), recorded, now));
  }

  std::vector<std::string> found_;
};

}  // namespace

std::string scenario_changes(const std::string& recorded_folder, const std::string& now_folder) {
  const std::string recorded = recorded_folder + "/scenario.json", now = now_folder + "/scenario.json";
  if (!std::filesystem::exists(recorded) || !std::filesystem::exists(now)) return {};
  const sim::JsonDocument old = sim::read_json_file(recorded), young = sim::read_json_file(now);
  ScenarioDifference difference;
  difference.compare(old.root(), young.root(), {});
  return difference.text();
}

}  // namespace rehearse::report
