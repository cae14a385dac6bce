#include "scenarios/read/loader_parts.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/file.hpp"

namespace rehearse::scenarios {
namespace {

constexpr sim::NumberRange kTimes{.low = 0, .high = 0x1p33};
constexpr sim::NumberRange kValues{.low = 0, .high = 1e6};
constexpr const char* kLater = "a time after the one before";

std::vector<sim::StepSeries::Step> read_file(const std::string& path, sim::Mistakes& mistakes) {
  std::vector<sim::StepSeries::Step> steps;
  sim::CsvReader reader(path, {.required = {"time_s", "value"}, .others_allowed = false});
  while (sim::CsvRow* row = reader.next()) {
    const sim::StepSeries::Step step{.time_s = row->number("time_s", kTimes), .value = row->number("value", kValues)};
    if (row->mistakes().empty() && !steps.empty() && step.time_s <= steps.back().time_s) row->refuse("time_s", kLater);
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
    if (row->mistakes().empty()) steps.push_back(step);
  }
  return steps;
}

std::vector<sim::StepSeries::Step> read_list(sim::ObjectReader& in, sim::Mistakes& mistakes) {
  std::vector<sim::StepSeries::Step> steps;
  for (const sim::JsonValue value : in.list("steps")) {
    sim::ObjectReader step(value, mistakes);
    const sim::StepSeries::Step read{.time_s = step.number("time_s", kTimes), .value = step.number("value", kValues)};
    step.finish();
    if (!steps.empty() && read.time_s <= steps.back().time_s) {
      step.child("time_s").value_or(value).refuse(kLater, mistakes);
      continue;
    }
    steps.push_back(read);
  }
  return steps;
}

}  // namespace

std::optional<sim::StepSeries> read_series(sim::JsonValue value, const Paths& paths, Scenario& scenario,
                                           sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  std::vector<sim::StepSeries::Step> steps = read_list(in, mistakes);
  const auto file = in.child("file");
  in.finish();
  if (!value.is_object()) return std::nullopt;
  const std::string path = file ? paths.resolve(*file, mistakes) : "";
  if (in.has("steps") == file.has_value()) {
    value.refuse("either steps or a file", mistakes);
    return std::nullopt;
  }
  if (file) {
    if (path.empty()) return std::nullopt;
    try {
      steps = read_file(path, mistakes);
      scenario.sha256_of_file[std::string(file->text())] = sim::sha256_of_file(path);
    } catch (const sim::InputError& error) {
      add_at(*file, error, mistakes);
      return std::nullopt;
    }
  }
  if (steps.empty()) {
    value.refuse("a step at least", mistakes);
    return std::nullopt;
  }
  return sim::StepSeries(std::move(steps));
}

}  // namespace rehearse::scenarios
