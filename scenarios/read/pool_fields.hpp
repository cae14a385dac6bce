// All that can be said of a pool, in one table: the loader's limits, the schema and docs/reference/cluster.md follow it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "sim/cluster/cluster.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

struct PoolField {
  /// What the field is a number of, as the loader reads it; else the loader knows the key by name.
  using Number = std::variant<std::monostate, int sim::Pool::*, int sim::Spot::*, int sim::Autoscale::*, double sim::Pool::*,
                              double sim::Spot::*, double sim::Autoscale::*>;

  std::string_view part = {};  ///< the object of the pool that has it: `spot`, `autoscale`; empty: the pool itself
  std::string_view name;
  Number number = {};
  sim::NumberRange range = {};
  std::string_view type = {};  ///< of what is no number: a definition of the schema, or the words of `choices`
  std::span<const std::string> (*choices)() = nullptr;
  std::string_view values = {};  ///< of what is no number, in Markdown; empty: as the type says
  std::string_view fallback = "required";
  std::string_view meaning;  ///< one sentence, in Markdown that stands in docs/reference/

  bool whole() const;
  bool is_number() const { return number.index() != 0; }
};

/// In the order in which they are documented.
std::span<const PoolField> pool_fields();

/// `on-demand`, `spot`.
std::span<const std::string> pricings();

/// Reads the numbers of the pool's part (`Pool`, `Spot`, `Autoscale`) that `in` is; what is not given stays as it is in `of`.
template <class Part>
void read_numbers(sim::ObjectReader& in, Part& of) {
  for (const PoolField& field : pool_fields()) {
    const bool required = field.fallback == "required";
    if (const auto* whole = std::get_if<int Part::*>(&field.number)) {
      const auto fallback = required ? std::nullopt : std::optional<std::int64_t>(of.**whole);
      of.** whole = static_cast<int>(in.integer(field.name, field.range, fallback));
    } else if (const auto* real = std::get_if<double Part::*>(&field.number)) {
      of.** real = in.number(field.name, field.range, required ? std::nullopt : std::optional<double>(of.**real));
    }
  }
}

}  // namespace rehearse::scenarios
