// The accounting of a Slurm cluster: `sacct --parsable2` with its line of names, fields between bars, a job or a step of one a
// line. Formats of times and resources are sacct's (its manual, "Job Accounting Fields").
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/io/civil_date.hpp"
#include "sim/io/shown.hpp"
#include "sim/io/text_input.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {
namespace {

enum class Of : std::size_t {
  job_id,
  submit,
  start,
  end,
  user,
  partition,
  timelimit,
  req_tres,
  alloc_tres,
  nodes,
  state,
  priority,
  count
};
constexpr std::size_t kSacctColumns = static_cast<std::size_t>(Of::count);
constexpr std::array<std::string_view, kSacctColumns> kSacctNames{
    "JobID", "Submit", "Start", "End", "User", "Partition", "Timelimit", "ReqTRES", "AllocTRES", "NNodes", "State", "Priority"};
constexpr std::size_t kSacctNeeded = 4;  // the first of them
constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

std::vector<std::string_view> fields_between(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != text.npos;) {
    end = text.find(at);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return parts;
}

std::optional<double> whole_number(std::string_view text) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || end != text.data() + text.size() || !(x >= 0 && x <= 0x1p53)) return std::nullopt;
  return x;
}

/// "[days-]hours:minutes:seconds", or "minutes:seconds". Nothing for any other text.
std::optional<double> slurm_seconds(std::string_view text) {
  double days = 0;
  if (const std::size_t dash = text.find('-'); dash != text.npos) {
    const auto count = whole_number(text.substr(0, dash));
    if (!count) return std::nullopt;
    days = *count;
    text.remove_prefix(dash + 1);
  }
  const std::vector<std::string_view> parts = fields_between(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  double seconds = 0;
  for (const std::string_view part : parts) {
    const auto number = whole_number(part);
    if (!number) return std::nullopt;
    seconds = 60 * seconds + *number;
  }
  return 86400 * days + seconds;
}

/// Of "billing=8,cpu=8,gres/gpu=2,node=1"; of a kind of GPU alone ("gres/gpu:a100=2") where no sum is named. 0: none.
double gpus_among(std::string_view tres) {
  double kinds = 0;
  for (const std::string_view one : fields_between(tres, ',')) {
    const std::size_t equals = one.find('=');
    if (equals == one.npos) continue;
    const std::string_view name = one.substr(0, equals);
    const double count = whole_number(one.substr(equals + 1)).value_or(0);
    if (name == "gres/gpu") return count;
    if (name.starts_with("gres/gpu:")) kinds += count;
  }
  return kinds;
}

class Sacct final : public TraceReader {
 public:
  explicit Sacct(const std::string& path) : lines_(path) {
    std::string_view line;
    const bool has_line = lines_.next(line);
    const std::vector<std::string_view> names = has_line ? fields_between(line, '|') : std::vector<std::string_view>{};
    for (std::size_t column = 0; column < kSacctColumns; ++column) {
      const auto found = std::find(names.begin(), names.end(), kSacctNames[column]);
      at_[column] = found == names.end() ? kNoColumn : static_cast<std::size_t>(found - names.begin());
      if (column < kSacctNeeded && at_[column] == kNoColumn)
        throw sim::InputError({.file = path,
                               .line = 1,
                               .expected = fmt::format("sacct's line of names, between bars, with {}", kSacctNames[column]),
                               .found = has_line ? sim::shown(line) : "an empty file"});
    }
    fields_wanted_ = names.size();
    counts_nodes_ = at(Of::req_tres) == kNoColumn && at(Of::alloc_tres) == kNoColumn;
    if (counts_nodes_ && at(Of::nodes) == kNoColumn)
      throw sim::InputError({.file = path, .line = 1, .expected = "a column AllocTRES, ReqTRES or NNodes", .found = "none"});
  }

  bool next(TraceRow& row) override {
    std::string_view line;
    do {
      if (!lines_.next(line)) return false;
      row.line = lines_.line_number();
      fields_ = fields_between(line, '|');
    } while (line.empty() || is_step());
    if (fields_.size() != fields_wanted_) {
      row.refuse({}, fmt::format("{} fields between bars", fields_wanted_), fmt::format("{}", fields_.size()));
      return true;
    }
    if (sim::is_utf8(line))
      read(row);
    else
      row.refuse({}, "UTF-8", sim::shown(line));
    return true;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = note_of_zones(zoneless_);
    if (counts_nodes_) notes.push_back("no column of resources (AllocTRES, ReqTRES): a node counts as a device");
    if (steps_ > 0) notes.push_back(fmt::format("{} lines are steps of jobs; set aside", steps_));
    return notes;
  }

 private:
  std::size_t at(Of column) const { return at_[static_cast<std::size_t>(column)]; }
  static std::string_view name_of(Of column) { return kSacctNames[static_cast<std::size_t>(column)]; }
  std::string_view field(Of column) const { return at(column) == kNoColumn ? std::string_view() : fields_[at(column)]; }

  /// "123.batch": `sacct --allocations` leaves these out.
  bool is_step() {
    const bool step = fields_.size() == fields_wanted_ && field(Of::job_id).find('.') != std::string_view::npos;
    steps_ += step ? 1 : 0;
    return step;
  }

  double date(TraceRow& row, Of column, std::string_view expected) {
    const auto read = sim::parse_civil_date(field(column));
    if (!read) {
      row.refuse(name_of(column), std::string(expected), sim::shown(field(column)));
      return 0;
    }
    if (!read->has_zone) ++zoneless_;
    return read->unix_s;
  }

  void read(TraceRow& row) {
    TraceJob& job = row.job;
    job.job_id = field(Of::job_id);
    job.user = field(Of::user);
    job.partition = field(Of::partition);
    job.status = field(Of::state).substr(0, field(Of::state).find(' '));  // "CANCELLED by 1000"
    if (job.job_id.empty()) row.refuse(name_of(Of::job_id), "a name", sim::shown(""));
    job.submit_s = date(row, Of::submit, "a date like 2017-10-09T07:01:55");
    const double start_s = date(row, Of::start, "a date: the job has started"),
                 end_s = date(row, Of::end, "a date: the job has ended");
    if (!row.mistakes.empty()) return;
    if (start_s < job.submit_s) row.refuse(name_of(Of::start), "a date not before Submit", sim::shown(field(Of::start)));
    job.duration_s = end_s - start_s;
    if (!kDurations.contains(job.duration_s)) row.refuse(name_of(Of::end), "a date after Start", sim::shown(field(Of::end)));
    read_size(row);
    if (const std::string_view limit = field(Of::timelimit);
        !limit.empty() && limit != "UNLIMITED" && limit != "Partition_Limit") {
      const auto seconds = slurm_seconds(limit);
      if (seconds && kDurations.contains(*seconds))
        job.walltime_s = *seconds;
      else
        row.refuse(name_of(Of::timelimit), "[days-]hours:minutes:seconds, UNLIMITED or Partition_Limit", sim::shown(limit));
    }
    if (const std::string_view priority = field(Of::priority); !priority.empty()) {
      const auto number = whole_number(priority);
      if (number)
        job.priority = *number;
      else
        row.refuse(name_of(Of::priority), "a whole number", sim::shown(priority));
    }
    // A job that ran into its limit may have had some seconds more to end in.
    if (is_given(job.walltime_s) && job.duration_s > job.walltime_s) {
      row.repairs.push_back({name_of(Of::timelimit), "a limit of at least the time run: the time run is believed",
                             std::string(field(Of::timelimit))});
      job.walltime_s = job.duration_s;
    }
  }

  void read_size(TraceRow& row) {
    if (counts_nodes_) {
      const auto nodes = whole_number(field(Of::nodes));
      if (nodes && kGpuCounts.contains(*nodes))
        row.job.gpus = *nodes;
      else
        row.refuse(name_of(Of::nodes), "a whole number of nodes", sim::shown(field(Of::nodes)));
      return;
    }
    const Of column = field(Of::alloc_tres).empty() ? Of::req_tres : Of::alloc_tres;
    const double gpus = gpus_among(field(column));
    if (kGpuCounts.contains(gpus))
      row.job.gpus = gpus;
    else
      row.refuse(name_of(column), "a job with GPUs (gres/gpu=...)", sim::shown(field(column)));
  }

  sim::LineReader lines_;
  std::array<std::size_t, kSacctColumns> at_{};  ///< among a line's fields; kNoColumn: the file has it not
  std::vector<std::string_view> fields_;
  std::size_t fields_wanted_ = 0;
  bool counts_nodes_ = false;
  std::int64_t zoneless_ = 0, steps_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_sacct(const std::string& path) { return std::make_unique<Sacct>(path); }

}  // namespace rehearse::traces
