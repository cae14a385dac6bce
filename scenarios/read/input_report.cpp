#include <fmt/format.h>

#include "scenarios/read/loader_parts.hpp"

namespace rehearse::scenarios {

namespace {

report::InputReport::Reason reason_of(const traces::ImportReason& from) {
  report::InputReport::Reason reason{.reason = from.column.empty() ? from.expected : from.column + ": " + from.expected,
                                     .rows = static_cast<std::uint64_t>(from.rows),
                                     .also = static_cast<std::uint64_t>(from.also)};
  for (const traces::ImportExample& example : from.examples) {
    reason.first_lines.push_back(example.line);
    if (reason.first_lines.size() == 1 && !example.found.empty()) reason.reason += ", found " + example.found;
    if (reason.first_lines.size() == 1 && !example.nearest.empty())
      reason.reason += fmt::format(" (did you mean \"{}\"?)", example.nearest);
  }
  return reason;
}

}  // namespace

void add_input(const traces::ImportReport& from, std::string_view as_written, Scenario& scenario) {
  report::InputReport out{.path = std::string(as_written),
                          .sha256 = from.sha256,
                          .rows = static_cast<std::uint64_t>(from.rows),
                          .jobs = static_cast<std::uint64_t>(from.jobs)};
  for (const traces::ImportReason& reason : from.dropped) out.dropped.push_back(reason_of(reason));
  for (const traces::ImportReason& reason : from.repaired) out.repaired.push_back(reason_of(reason));
  out.notes = from.notes;
  scenario.sha256_of_file[out.path] = out.sha256;
  scenario.inputs.push_back(std::move(out));
}

}  // namespace rehearse::scenarios
