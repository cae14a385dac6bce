// How jobs that share a GPU slow each other down.
#include <array>

#include "scenarios/read/loader_parts.hpp"

namespace rehearse::scenarios {

namespace {

constexpr sim::NumberRange kSlowdowns{.low = 1, .high = 1000};

/// Two elements of a list, each read by `read`; a mistake when there are not two.
template <class T, class Read>
std::array<T, 2> read_pair(sim::ObjectReader& in, std::string_view key, std::string_view expected, sim::Mistakes& mistakes,
                           Read&& read) {
  std::array<T, 2> pair{};
  const auto value = in.required(key, expected);
  if (!value) return pair;
  if (value->is_array() && value->size() != 2) {
    value->refuse(std::string(expected), mistakes);
    return pair;
  }
  std::size_t i = 0;
  for (const sim::JsonValue element : sim::read_list(*value, mistakes)) pair[i++] = read(element);
  return pair;
}

void read_interference(sim::JsonValue value, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  const auto models = read_pair<std::string>(in, "models", "the names of two models", mistakes, [&](sim::JsonValue name) {
    const std::string text(sim::read_text(name, mistakes));
    if (!text.empty()) known_name(name, text, model_names(own), "model", mistakes);
    return text;
  });
  const auto slowdown = read_pair<double>(in, "slowdown", "two numbers, one for each of the models", mistakes,
                                          [&](sim::JsonValue number) { return sim::read_number(number, kSlowdowns, mistakes); });
  in.finish();
  scenario.sharing.set(models[0], models[1], slowdown[0]);
  if (models[0] != models[1])
    scenario.sharing.set(models[1], models[0], slowdown[1]);
  else if (slowdown[0] != slowdown[1])
    value.refuse("the same slowdown twice for two jobs of one model", mistakes);
}

}  // namespace

void read_sharing(sim::ObjectReader& in, const OwnModels& own, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("sharing");
  if (!value) return;
  sim::ObjectReader sharing(*value, mistakes);
  sim::SharingRules& rules = scenario.sharing;
  rules.default_slowdown = sharing.number("default_slowdown", kSlowdowns, rules.default_slowdown);
  for (const sim::JsonValue pair : sharing.list("interference")) read_interference(pair, own, scenario, mistakes);
  sharing.finish();
}

}  // namespace rehearse::scenarios
