// Parameters of strategies: declared with their defaults and limits, given by the scenario, checked before any strategy is made.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rehearse::policies {

using NumberOfName = std::map<std::string, double>;  ///< of users, say
using ParameterValue = std::variant<double, bool, std::string, NumberOfName>;

/// One parameter of a strategy. The default's type is the parameter's.
struct ParameterDeclaration {
  std::string name;
  ParameterValue fallback;
  std::string help;
  double low = -std::numeric_limits<double>::infinity();  ///< of a number, or of each number by name
  double high = std::numeric_limits<double>::infinity();
  bool whole = false;                ///< a whole number
  std::vector<std::string> choices;  ///< of a text
};

/// Values of all declared parameters; those not given have their defaults. A name that was not declared is a failed check.
class Parameters {
 public:
  Parameters(const std::vector<ParameterDeclaration>& declared, const std::map<std::string, ParameterValue>& given);
  double number(std::string_view name) const;
  bool flag(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const NumberOfName& numbers(std::string_view name) const;

 private:
  template <class T>
  const T& value(std::string_view name) const;
  std::map<std::string, ParameterValue, std::less<>> values_;
};

}  // namespace rehearse::policies
