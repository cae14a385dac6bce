#include "scenarios/studies/study.hpp"

namespace rehearse::scenarios {

namespace {

const StudyKind* find_study(std::string_view name) {
  for (const StudyKind& kind : studies())
    if (kind.name == name) return &kind;
  return nullptr;
}

}  // namespace

Needs read_study_name(sim::ObjectReader& in, Scenario& scenario, sim::Mistakes& mistakes) {
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
  for (const StudyKind& kind : studies()) names.push_back(kind.name);
  const std::string_view text = sim::read_text(*name, mistakes);
  if (text.empty() || !known_name(*name, text, names, "study", mistakes)) return {};
  scenario.study_name = std::string(text);
  const StudyKind& kind = *find_study(text);
  return {.cluster = kind.cluster, .jobs = kind.jobs, .policies = kind.policies};
}

void read_study(sim::ObjectReader& in, const Paths& paths, Scenario& scenario, sim::Mistakes& mistakes) {
  const StudyKind* kind = find_study(scenario.study_name);
  if (kind == nullptr) return;
  const sim::JsonValue value = *in.child("study");
  const sim::JsonDocument no_parameters = sim::parse_json("{}", "study");
  sim::ObjectReader parameters(value.is_object() ? value : no_parameters.root(), mistakes);
  parameters.has("name");
  scenario.study = kind->read(parameters, paths, scenario, mistakes);
  parameters.finish();
}

}  // namespace rehearse::scenarios
