#include "scenarios/read_strategy.hpp"

namespace rehearse::scenarios {

std::optional<policies::ParameterValue> read_parameter(sim::JsonValue value, const policies::ParameterDeclaration& declared,
                                                       sim::Mistakes& mistakes) {
  if (std::holds_alternative<bool>(declared.fallback)) return sim::read_boolean(value, mistakes);
  if (std::holds_alternative<double>(declared.fallback)) {
    const sim::NumberRange range = sim::between(declared.low, declared.high);
    return declared.whole ? static_cast<double>(sim::read_integer(value, range, mistakes))
                          : sim::read_number(value, range, mistakes);
  }
  if (declared.choices.empty()) return std::string(sim::read_text(value, mistakes));
  return declared.choices[sim::read_choice(value, declared.choices, mistakes)];
}

}  // namespace rehearse::scenarios
