#include "scenarios/read/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "sim/io/object_reader.hpp"

namespace rehearse::scenarios {

namespace {

const std::vector<std::string> kScales{"linear", "log"};
constexpr const char* kWhatBelongs = "a list of values, or an object with from, to and steps";

/// RFC 6901, section 3.
std::string pointer_token(std::string_view key) {
  std::string out;
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

/// The value of the key "sweep", if the object is a sweep. Where names are keys (of users, models, pools) "sweep" may be one.
std::optional<sim::JsonValue> sweep_of(sim::JsonValue object) {
  for (const sim::JsonMember member : object.members())
    if (member.key.text() == "sweep" && (object.size() == 1 || member.value.is_array() || member.value.is_object()))
      return member.value;
  return {};
}

std::optional<sim::JsonValue> first_sweep_in(sim::JsonValue value) {
  if (value.is_object() && sweep_of(value)) return value;
  for (const sim::JsonValue element : value.elements())
    if (const auto found = first_sweep_in(element)) return found;
  for (const sim::JsonMember member : value.members())
    if (const auto found = first_sweep_in(member.value)) return found;
  return {};
}

/// from^(1 - part) to^part: to / from may be beyond a double's range, both powers are not, and the limits keep rounding within.
double between_by_factors(double from, double to, double part) {
  const auto [least, greatest] = std::minmax(from, to);
  return std::clamp(std::pow(from, 1 - part) * std::pow(to, part), least, greatest);
}

/// Ends of a range are met exactly, and a whole number within 1e-9 is meant: powers of two by a log scale stay whole.
double step_of(double from, double to, std::int64_t step, std::int64_t steps, bool log) {
  if (step == 0) return from;
  if (step == steps - 1) return to;
  const double part = static_cast<double>(step) / static_cast<double>(steps - 1);
  const double x = log                        ? between_by_factors(from, to, part)
                   : std::isfinite(to - from) ? from + (to - from) * part
                                              : std::lerp(from, to, part);
  const double whole = std::round(x);
  return std::abs(x - whole) <= 1e-9 * std::abs(x) ? whole : x;
}

class AxisFinder {
 public:
  explicit AxisFinder(sim::Mistakes& mistakes) : mistakes_(mistakes) {}

  void find(sim::JsonValue value, const std::string& pointer) {
    if (value.is_object())
      if (const auto sweep = sweep_of(value)) return read(value, *sweep, pointer);
    std::size_t position = 0;
    for (const sim::JsonValue element : value.elements()) find(element, fmt::format("{}/{}", pointer, position++));
    for (const sim::JsonMember member : value.members()) find(member.value, pointer + "/" + pointer_token(member.key.text()));
  }
  std::vector<SweepAxis> axes() && { return std::move(axes_); }

 private:
  void read(sim::JsonValue object, sim::JsonValue sweep, const std::string& pointer) {
    if (object.size() > 1) return object.refuse("no other key beside \"sweep\"", mistakes_);
    if (const std::string why = why_not(pointer); !why.empty()) return object.refuse(why, mistakes_);
    SweepAxis axis{.pointer = pointer, .file = object.mistake({}).file, .sweep = sweep, .values = {}};
    if (sweep.is_array())
      read_list(sweep, axis);
    else if (sweep.is_object())
      read_range(sweep, axis);
    else
      sweep.refuse(kWhatBelongs, mistakes_);
    if (!axis.values.empty()) axes_.push_back(std::move(axis));
  }

  /// Values on which no run depends, and those by which runs are told apart.
  static std::string why_not(const std::string& pointer) {
    if (pointer.empty()) return "a scenario";
    for (const char* key : {"/$schema", "/name", "/description", "/baseline", "/repetitions", "/output", "/sha256"})
      if (pointer == key || pointer.starts_with(key + std::string("/")))
        return fmt::format("one value: no run depends on {}", std::string_view(key).substr(1));
    const bool of_policy = pointer.starts_with("/policies/") && pointer.ends_with("/name");
    if (of_policy && std::count(pointer.begin(), pointer.end(), '/') == 3) return "one name for each policy";
    return {};
  }

  void read_list(sim::JsonValue list, SweepAxis& axis) {
    if (list.size() == 0) list.refuse("at least one value", mistakes_);
    std::set<std::string> seen;
    for (const sim::JsonValue value : list.elements()) {
      if (const auto inner = first_sweep_in(value)) {
        inner->refuse("a value without a sweep in it", mistakes_);
        continue;
      }
      std::string text = value.json();
      if (!seen.insert(text).second)
        mistakes_.add_from([&] {
          sim::Mistake mistake = value.mistake("each value once");
          mistake.found += " again";
          return mistake;
        });
      axis.values.push_back(std::move(text));
    }
  }

  void read_range(sim::JsonValue range, SweepAxis& axis) {
    const std::size_t before = mistakes_.size();
    sim::ObjectReader in(range, mistakes_);
    const double from = in.number("from"), to = in.number("to");
    const std::int64_t steps = in.integer("steps", sim::between(1, kMostSweepSteps));
    const bool log = in.choice("scale", kScales, 0) == 1;
    in.finish();
    if (mistakes_.size() != before) return;
    if (log && !(from > 0)) in.child("from").value_or(range).refuse("a number above 0 for a log scale", mistakes_);
    if (log && !(to > 0)) in.child("to").value_or(range).refuse("a number above 0 for a log scale", mistakes_);
    if ((steps == 1) != (from == to)) refuse_steps(range, from, to, steps);
    if (mistakes_.size() != before) return;
    for (std::int64_t step = 0; step < steps; ++step) {
      const double x = step_of(from, to, step, steps, log);
      axis.values.push_back(fmt::format("{}", x));
      if (step > 0 && axis.values[axis.values.size() - 2] == axis.values.back())
        return range.refuse("values that differ: fewer steps", mistakes_);
    }
  }

  void refuse_steps(sim::JsonValue range, double from, double to, std::int64_t steps) {
    mistakes_.add_from([&] {
      sim::Mistake mistake = range.mistake("from and to to be equal for one step, and to differ for more");
      const std::string ends = from == to ? fmt::format("from and to {}", from) : fmt::format("from {} and to {}", from, to);
      mistake.found = fmt::format("{} with {} {}", ends, steps, steps == 1 ? "step" : "steps");
      return mistake;
    });
  }

  sim::Mistakes& mistakes_;
  std::vector<SweepAxis> axes_;
};

}  // namespace

sim::Mistake SweepAxis::mistake_at(std::size_t value) const {
  for (const sim::JsonValue element : sweep.elements())
    if (value-- == 0) return element.mistake({});
  return sweep.mistake({});
}

std::vector<SweepAxis> read_axes(sim::JsonValue root, sim::Mistakes& mistakes) {
  AxisFinder finder(mistakes);
  finder.find(root, {});
  return std::move(finder).axes();
}

void refuse_sweeps(sim::JsonValue root) {
  sim::Mistakes mistakes;
  for (const SweepAxis& axis : read_axes(root, mistakes))
    mistakes.add({.file = axis.file,
                  .pointer = axis.pointer,
                  .expected = fmt::format("one value (`rehearse sweep` runs them all; --set {}=... chooses one)", axis.pointer),
                  .found = fmt::format("a sweep of {}", axis.values.size())});
  mistakes.throw_if_any();
}

}  // namespace rehearse::scenarios
