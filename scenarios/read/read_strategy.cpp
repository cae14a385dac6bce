#include "scenarios/read/read_strategy.hpp"

namespace rehearse::scenarios {

std::optional<policies::ParameterValue> read_parameter(sim::JsonValue value, const policies::ParameterDeclaration& declared,
                                                       sim::Mistakes& mistakes) {
  if (std::holds_alternative<bool>(declared.fallback)) return sim::read_boolean(value, mistakes);
  if (std::holds_alternative<double>(declared.fallback)) {
    const sim::NumberRange range = sim::between(declared.low, declared.high);
    return declared.whole ? static_cast<double>(sim::read_integer(value, range, mistakes))
                          : sim::read_number(value, range, mistakes);
  }
  if (std::holds_alternative<policies::NumberOfName>(declared.fallback)) {
    if (!value.is_object()) {
      value.refuse("an object with a number for each name", mistakes);
      return std::nullopt;
    }
    policies::NumberOfName numbers;
    for (const sim::JsonMember member : value.members())
      numbers[std::string(member.key.text())] =
          sim::read_number(member.value, sim::between(declared.low, declared.high), mistakes);
    return numbers;
  }
  if (declared.choices.empty()) return std::string(sim::read_text(value, mistakes));
  return declared.choices[sim::read_choice(value, declared.choices, mistakes)];
}

}  // namespace rehearse::scenarios
