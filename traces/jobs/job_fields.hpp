// All that can be said of a job, in one table: whoever reads or writes jobs (the scenario's JSON, the native CSV, the messages to
// policies in processes), the schema and docs/reference/scenario.md follow it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/io/shown.hpp"
#include "sim/jobs/job.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {

/// Where jobs are written down: as an object of a scenario, as a row of the native CSV, in a message to a policy's process. They
/// are added up.
enum Form : std::uint8_t { kJson = 1, kCsv = 2, kProcess = 4 };

/// Of what a name is one.
enum class NameOf : std::uint8_t { anything, model, dataset, pool, recipe, job_type };

struct JobField {
  std::string_view name;
  std::variant<double TraceJob::*, std::string TraceJob::*, std::vector<std::string> TraceJob::*> member;
  double sim::Job::*in_job = nullptr;  ///< a number that the replay's job has as it stands; its default there is "not given"
  unsigned forms = kJson | kCsv;
  sim::NumberRange range = {};  ///< of a number
  bool whole = false;
  std::string_view unit = {};  ///< of a number, where it has one
  std::span<const std::string> (*choices)() = nullptr;
  NameOf names = NameOf::anything;
  std::string_view fallback = "none";  ///< what holds where it is not given
  std::string_view meaning;            ///< one sentence, in Markdown that stands in docs/

  bool is_in(Form form) const { return (forms & form) != 0; }
};

/// In the order in which they are written. The first two are required in CSV.
std::span<const JobField> job_fields();
inline constexpr std::size_t kRequiredInCsv = 2;
/// Null for a name that is none.
const JobField* find_job_field(std::string_view name);

bool is_given(const TraceJob& job, const JobField& field);

}  // namespace rehearse::traces
