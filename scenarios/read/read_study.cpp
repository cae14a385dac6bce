#include "scenarios/read/loader_parts.hpp"

namespace rehearse::scenarios {

namespace {

const StudyKind* find_study(const Extensions& extensions, std::string_view name) {
  for (const StudyKind& kind : extensions.studies)
    if (kind.name == name) return &kind;
  return nullptr;
}

template <class Number, class Read>
std::vector<Number> read_list_of(sim::ObjectReader& in, std::string_view key, std::vector<Number> fallback,
                                 sim::Mistakes& mistakes, Read&& read) {
  const auto list = in.child(key);
  if (!list) return fallback;
  std::vector<Number> numbers;
  for (const sim::JsonValue value : in.list(key)) numbers.push_back(read(value));
  if (list->is_array() && numbers.empty()) list->refuse("at least one number", mistakes);
  return numbers;
}

}  // namespace

std::vector<double> read_numbers(sim::ObjectReader& in, std::string_view key, const sim::NumberRange& range,
                                 std::vector<double> fallback, sim::Mistakes& mistakes) {
  return read_list_of(in, key, std::move(fallback), mistakes,
                      [&](sim::JsonValue value) { return sim::read_number(value, range, mistakes); });
}

std::vector<int> read_integers(sim::ObjectReader& in, std::string_view key, const sim::NumberRange& range,
                               std::vector<int> fallback, sim::Mistakes& mistakes) {
  return read_list_of(in, key, std::move(fallback), mistakes,
                      [&](sim::JsonValue value) { return static_cast<int>(sim::read_integer(value, range, mistakes)); });
}

Needs read_study_name(sim::ObjectReader& in, const Extensions& extensions, Scenario& scenario, sim::Mistakes& mistakes) {
  const auto value = in.child("study");
  if (!value) return {};
  std::optional<sim::JsonValue> name;
  if (value->is_string())
    name = *value;
  else if (value->is_object())
    name = sim::ObjectReader(*value, mistakes).required("name", "the name of a study");
  else
    value->refuse("the name of a study, or an object with its name and parameters", mistakes);
  if (!name) return {};
  std::vector<std::string> names;
  for (const StudyKind& kind : extensions.studies) names.push_back(kind.name);
  const std::string_view text = sim::read_text(*name, mistakes);
  if (text.empty() || !known_name(*name, text, names, "study", mistakes)) return {};
  scenario.study_name = std::string(text);
  const StudyKind& kind = *find_study(extensions, text);
  return {.cluster = kind.cluster, .jobs = kind.jobs, .policies = kind.policies};
}

void read_study(sim::ObjectReader& in, const Paths& paths, const Extensions& extensions, Scenario& scenario,
                sim::Mistakes& mistakes) {
  const StudyKind* kind = find_study(extensions, scenario.study_name);
  if (kind == nullptr) return;
  const sim::JsonValue value = *in.child("study");
  const sim::JsonDocument no_parameters = sim::parse_json("{}", "study");
  sim::Mistakes wrong;
  sim::ObjectReader parameters(value.is_object() ? value : no_parameters.root(), wrong);
  parameters.has("name");
  scenario.study = kind->read(parameters, paths, scenario, wrong);
  parameters.finish();
  // What is wrong without parameters is so of the scenario beside it: the name is the place to tell.
  for (const sim::Mistake& mistake : wrong.listed()) mistakes.add(value.is_object() ? mistake : value.mistake(mistake.expected));
}

}  // namespace rehearse::scenarios
