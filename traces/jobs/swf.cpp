#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>

#include "sim/io/shown.hpp"
#include "sim/io/text_input.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/trace_job.hpp"
#include "traces/jobs/writers.hpp"

namespace rehearse::traces {
namespace {

constexpr std::size_t kSwfFields = 18;
/// The places of the fields that are used, from 0.
enum Field : std::size_t {
  kNumber,
  kSubmit,
  kRunTime = 3,
  kAllocated = 4,
  kUsedMemory = 6,
  kRequested = 7,
  kRequestedTime = 8,
  kRequestedMemory = 9,
  kStatus = 10,
  kUser = 11,
  kExecutable = 13,
  kQueue = 14,
  kPartition = 15,
  kPreceding = 16,
  kThinkTime = 17
};

class Swf final : public TraceReader {
 public:
  explicit Swf(const std::string& path) : lines_(path) {}

  bool next(TraceRow& row) override {
    std::string_view line;
    while (lines_.next(line)) {
      const std::size_t begin = line.find_first_not_of(" \t");
      if (begin == line.npos) continue;
      line.remove_prefix(begin);
      if (line.starts_with(';')) {
        read_comment(line);
        continue;
      }
      row.line = lines_.line_number();
      if (split(row, line)) read(row);
      return true;
    }
    return false;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes{"a processor of the file counts as a GPU"};
    if (!start_.empty()) notes.push_back("dates count from UnixStartTime " + start_);
    if (requested_ > 0)
      notes.push_back(fmt::format("{} jobs have no allocated processors: the requested ones count", requested_));
    if (long_lines_ > 0)
      notes.push_back(fmt::format("{} lines have more than 18 fields: those behind are set aside", long_lines_));
    if (think_times_ > 0)
      notes.push_back(
          fmt::format("the think times of {} jobs are set aside: they start right after the job before", think_times_));
    return notes;
  }

 private:
  using Names = std::map<std::int64_t, std::string>;

  static bool read_name(std::string_view line, std::string_view kind, Names& names) {
    if (!line.starts_with(kind)) return false;
    line.remove_prefix(kind.size());
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    if (error != std::errc{} || number < 0 || end == line.data() + line.size() || *end != ' ') return false;
    const std::string_view name(end + 1, static_cast<std::size_t>(line.data() + line.size() - end - 1));
    if (sim::is_utf8(name)) names[number] = name;
    return true;
  }

  void read_comment(std::string_view line) {
    constexpr std::string_view kStart = "; UnixStartTime: ";
    if (line.starts_with(kStart)) start_ = sim::printable(line.substr(kStart.size()));
    read_name(line, kSwfJob, jobs_) || read_name(line, kSwfUser, users_) || read_name(line, kSwfPartition, partitions_) ||
        read_name(line, kSwfExecutable, executables_);
  }

  /// A field that is no number is NaN, and a mistake. False for a line with too few.
  bool split(TraceRow& row, std::string_view line) {
    std::size_t count = 0;
    while (true) {
      const std::size_t begin = line.find_first_not_of(" \t");
      if (begin == line.npos) break;
      line.remove_prefix(begin);
      const std::string_view text = line.substr(0, line.find_first_of(" \t"));
      line.remove_prefix(text.size());
      if (count < kSwfFields) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fields_[count]);
        if (error != std::errc{} || end != text.data() + text.size() || !sim::NumberRange{}.contains(fields_[count])) {
          row.refuse(fmt::format("field {}", count + 1), "a number", sim::shown(text));
          fields_[count] = kNotGiven;
        }
      }
      ++count;
    }
    if (count > kSwfFields) ++long_lines_;
    if (count >= kSwfFields) return true;
    row.mistakes.clear();
    row.refuse({}, "18 fields", fmt::format("{}", count));
    return false;
  }

  bool known(Field field) const { return fields_[field] >= 0; }

  /// -1 for what is no number of a name.
  static std::int64_t whole(double number) {
    return number >= 0 && sim::integer_expectation(number, {}).empty() ? static_cast<std::int64_t>(number) : -1;
  }

  /// A number that stands for a name, as text; empty for -1 and for what is no whole number.
  std::string name(TraceRow& row, Field field, const Names& names, std::string_view column) const {
    if (!known(field)) return {};
    if (!sim::integer_expectation(fields_[field], {}).empty()) {
      row.refuse(column, "a whole number", fmt::format("{}", fields_[field]));
      return {};
    }
    const auto number = static_cast<std::int64_t>(fields_[field]);
    const auto found = names.find(number);
    return found != names.end() ? found->second : fmt::format("{}", number);
  }

  void check(TraceRow& row, std::string_view column, double value, const sim::NumberRange& range, bool whole = false) const {
    if (!is_given(value)) return;  // already a mistake
    std::string expected = whole                   ? sim::integer_expectation(value, range)
                           : range.contains(value) ? std::string{}
                                                   : range.describe();
    if (!expected.empty()) row.refuse(column, std::move(expected), fmt::format("{}", value));
  }

  void read(TraceRow& row) {
    TraceJob& job = row.job;
    const double processors = fields_[kAllocated] > 0 ? fields_[kAllocated] : fields_[kRequested];
    check(row, "job number", fields_[kNumber], sim::at_least(0), true);
    check(row, "submit time", fields_[kSubmit], kDates);
    check(row, "processors", processors, kGpuCounts, true);
    const bool is_known = row.mistakes.empty();
    job.submit_s = fields_[kSubmit];
    job.gpus = processors;
    if (is_known && !(fields_[kAllocated] > 0)) ++requested_;
    job.duration_s = fields_[kRunTime];
    if (job.duration_s == 0) {
      job.duration_s = 0.5;
      row.recorded_gpu_s = 0;
      row.repairs.push_back({"run time", "above 0: 0 is less than 0.5 s, which is taken", "0"});
    }
    check(row, "run time", job.duration_s, kDurations);
    if (!is_known) return;
    job.job_id = name(row, kNumber, jobs_, "job number");
    if (fields_[kRequestedTime] > 0) job.walltime_s = fields_[kRequestedTime];
    const double kib = known(kRequestedMemory) ? fields_[kRequestedMemory] : fields_[kUsedMemory];
    if (kib > 0) job.memory_bytes = kib * 1024 * processors;
    if (is_given(job.memory_bytes)) check(row, "memory", job.memory_bytes, kMemoryBytes);
    if (is_given(job.walltime_s)) check(row, "requested time", job.walltime_s, kDurations);
    job.user = name(row, kUser, users_, "user");
    job.partition = name(row, known(kPartition) ? kPartition : kQueue, partitions_, "partition");
    if (fields_[kPreceding] > 0) job.after = split_names(name(row, kPreceding, jobs_, "preceding job"));
    if (const auto model = executables_.find(whole(fields_[kExecutable])); model != executables_.end()) job.model = model->second;
    if (fields_[kThinkTime] > 0 && !job.after.empty()) ++think_times_;
    read_status(row);
    raise_limit(row);
  }

  /// Jobs may have some time more to end in. One that the log has as failed or cancelled may have been stopped for its limit.
  static void raise_limit(TraceRow& row) {
    TraceJob& job = row.job;
    const bool may_be_stopped = job.status == "failed" || job.status == "cancelled";
    if (!(job.walltime_s < job.duration_s) || may_be_stopped) return;
    row.repairs.push_back(
        {"requested time", "a limit of at least the time run: the time run is believed", fmt::format("{}", job.walltime_s)});
    job.walltime_s = job.duration_s;
  }

  void read_status(TraceRow& row) const {
    for (const SwfStatus& status : kSwfStatuses)
      if (fields_[kStatus] == status.number) row.job.status = status.name;
    if (fields_[kStatus] >= 2 && fields_[kStatus] <= 4)
      row.refuse("status", "a whole job: 2 to 4 are parts of one that has a line of its own",
                 fmt::format("{}", fields_[kStatus]));
  }

  sim::LineReader lines_;
  std::array<double, kSwfFields> fields_{};
  Names jobs_, users_, partitions_, executables_;
  std::string start_;
  std::int64_t think_times_ = 0, long_lines_ = 0, requested_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_swf(const std::string& path) { return std::make_unique<Swf>(path); }

}  // namespace rehearse::traces
