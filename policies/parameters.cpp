#include "policies/parameters.hpp"

#include "sim/base/errors.hpp"

namespace rehearse::policies {

Parameters::Parameters(const std::vector<ParameterDeclaration>& declared, const std::map<std::string, ParameterValue>& given) {
  for (const ParameterDeclaration& declaration : declared) {
    const auto found = given.find(declaration.name);
    values_.emplace(declaration.name, found == given.end() ? declaration.fallback : found->second);
  }
}

template <class T>
const T& Parameters::value(std::string_view name) const {
  const auto found = values_.find(name);
  sim::check(found != values_.end() && std::holds_alternative<T>(found->second),
             "a strategy asks for a parameter that it did not declare");
  return std::get<T>(found->second);
}

double Parameters::number(std::string_view name) const { return value<double>(name); }
bool Parameters::flag(std::string_view name) const { return value<bool>(name); }
const std::string& Parameters::text(std::string_view name) const { return value<std::string>(name); }
const NumberOfName& Parameters::numbers(std::string_view name) const { return value<NumberOfName>(name); }

}  // namespace rehearse::policies
