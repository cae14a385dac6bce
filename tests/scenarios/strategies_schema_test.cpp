// The registry declares every strategy's parameters; the schema's and the documentation's follow it. With REHEARSE_UPDATE set
// they are written again.
#include "policies/registry/registry.hpp"
#include "tests/scenarios/generated_text.hpp"

namespace {

using namespace rehearse;
using nlohmann::ordered_json;
using policies::ParameterDeclaration;

const std::string kSchema = "scenarios/schema/scenario.schema.json";

sim::NumberRange range_of(const ParameterDeclaration& parameter) { return {.low = parameter.low, .high = parameter.high}; }

ordered_json schema_of(const ParameterDeclaration& parameter) {
  ordered_json schema = ordered_json::object();
  schema["description"] = plain(parameter.help);
  if (std::holds_alternative<bool>(parameter.fallback)) {
    schema["type"] = "boolean";
  } else if (!parameter.choices.empty()) {
    schema["enum"] = parameter.choices;
  } else if (std::holds_alternative<std::string>(parameter.fallback)) {
    schema["$ref"] = "#/$defs/text";
  } else if (std::holds_alternative<policies::NumberOfName>(parameter.fallback)) {
    schema["type"] = "object";
    add_number(schema["additionalProperties"] = ordered_json::object(), range_of(parameter), parameter.whole);
  } else {
    add_number(schema, range_of(parameter), parameter.whole);
  }
  return schema;
}

/// The members of "properties", a line each.
std::string properties_of(const policies::StrategyEntry& entry, bool has_partitions) {
  std::string text = R"(        "name": {"$ref": "#/$defs/text"})";
  if (has_partitions) text += ",\n        \"partitions\": {\"$ref\": \"#/$defs/partitions\"}";
  for (const ParameterDeclaration& parameter : entry.parameters)
    text += fmt::format(",\n        \"{}\": {}", parameter.name, on_one_line(schema_of(parameter)));
  return text;
}

/// What JSON may hold: without the words.
ordered_json limits_of(const policies::StrategyEntry& entry) {
  ordered_json limits = ordered_json::object();
  for (const ParameterDeclaration& parameter : entry.parameters) {
    limits[parameter.name] = schema_of(parameter);
    limits[parameter.name].erase("description");
  }
  return limits;
}

/// Of a branch for one learner of a strategy; empty: it is for all.
std::string learner_of(const ordered_json& branch) {
  const ordered_json::json_pointer at("/if/properties/learner/const");
  return branch.contains(at) ? branch.at(at).get<std::string>() : "";
}

/// Each definition of the schema stands for strategies with the same parameters; the words are the first one's.
template <class Entry>
void check_schema(const std::string& decision, const std::vector<Entry>& entries) {
  const ordered_json schema = ordered_json::parse(text_of_file(REHEARSE_SOURCE_DIR "/" + kSchema));
  ordered_json names = ordered_json::object();
  for (const Entry& entry : entries)
    for (const std::string& name : policies::names_of(entry)) names["enum"].push_back(name);
  compare_or_update(kSchema, "    \"" + decision + "_name\": ", ",\n    \"" + decision + "\": {", on_one_line(names));
  for (const ordered_json& branch : schema.at("$defs").at(decision).at("/then/else/allOf"_json_pointer)) {
    const std::string definition = branch.at("then").at("$ref").get<std::string>().substr(std::string("#/$defs/").size());
    const std::vector<std::string> covered = branch.at("/if/properties/name/enum"_json_pointer);
    const Entry* first = policies::find_strategy(entries, covered.front());
    REQUIRE(first != nullptr);
    if (const std::string learner = learner_of(branch); !learner.empty()) {
      first = policies::find_variant(entries, *first, learner);
      REQUIRE(first != nullptr);
      compare_or_update(kSchema, "    \"" + definition + "\": {\n      \"type\": \"object\",\n      \"properties\": {\n",
                        "\n      },\n", properties_of(*first, false));
      continue;
    }
    for (const std::string& name : covered) {
      INFO(name);
      const policies::StrategyEntry* const entry = policies::find_strategy(entries, name);
      REQUIRE(entry != nullptr);
      CHECK(limits_of(*entry) == limits_of(*first));
    }
    if (definition == "plain_strategy")
      CHECK(first->parameters.empty());
    else
      compare_or_update(kSchema, "    \"" + definition + "\": {\n      \"type\": \"object\",\n      \"properties\": {\n",
                        "\n      },\n", properties_of(*first, decision == "queue"));
  }
}

std::string values_of(const ParameterDeclaration& parameter) {
  if (std::holds_alternative<bool>(parameter.fallback)) return "boolean";
  if (!parameter.choices.empty()) return fmt::format("`{}`", fmt::join(parameter.choices, "`, `"));
  if (std::holds_alternative<std::string>(parameter.fallback)) return "text";
  const std::string numbers = ::values_of(range_of(parameter), parameter.whole);
  return std::holds_alternative<policies::NumberOfName>(parameter.fallback) ? "object, " + numbers : numbers;
}

std::string fallback_of(const ParameterDeclaration& parameter) {
  if (const auto* number = std::get_if<double>(&parameter.fallback)) return limit(*number);
  if (const auto* flag = std::get_if<bool>(&parameter.fallback)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&parameter.fallback)) return text->empty() ? "none" : "`" + *text + "`";
  return "`{}`";
}

/// A row for each parameter; strategies that declare it alike, one behind the other, share it.
template <class Entry>
std::string rows_of(const std::string& decision, const std::vector<Entry>& entries) {
  std::vector<std::pair<std::string, std::string>> rows;  // what follows the names, the names
  for (const Entry& entry : entries)
    for (const ParameterDeclaration& parameter : entry.parameters) {
      const std::string row =
          fmt::format("| `{}` | {} | {} | {} |\n", parameter.name, values_of(parameter), fallback_of(parameter), parameter.help);
      const auto same = std::find_if(rows.begin(), rows.end(), [&](const auto& other) { return other.first == row; });
      if (same == rows.end())
        rows.emplace_back(row, "`" + entry.name + "`");
      else
        same->second += ", `" + entry.name + "`";
    }
  std::string text;
  for (const auto& [row, names] : rows) text += fmt::format("| `{}` | {} {}", decision, names, row);
  return text;
}

}  // namespace

TEST_CASE("the schema's strategies have the parameters that the registry declares") {
  check_schema("configure", policies::configure_strategies());
  check_schema("place", policies::place_strategies());
  check_schema("threads", policies::threads_strategies());
  check_schema("queue", policies::queue_strategies());
}

TEST_CASE("the documentation's parameters of strategies are those that the registry declares") {
  compare_or_update("docs/reference/scenario.md",
                    "| decision | strategy | parameter | values | default | meaning |\n|---|---|---|---|---|---|\n",
                    "\nThe searches of `place`",
                    rows_of("configure", policies::configure_strategies()) + rows_of("place", policies::place_strategies()) +
                        rows_of("threads", policies::threads_strategies()) + rows_of("queue", policies::queue_strategies()));
}
