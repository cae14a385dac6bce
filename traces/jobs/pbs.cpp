// The accounting log of PBS (PBS Professional, OpenPBS, Torque), one record a line:
// "MM/DD/YYYY HH:MM:SS;TYPE;JOB;KEY=VALUE KEY=VALUE" (OpenPBS's Administrator's Guide, "Accounting"). A record of type E is a job
// that has ended. The file is read twice: the first time for jobs with several such records, and for whether any job has GPUs.
#include <fmt/format.h>

#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "sim/io/file.hpp"
#include "sim/io/shown.hpp"
#include "sim/io/text_input.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/slurm_texts.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {
namespace {

/// The parts of one record. A value may stand in double quotes, and then holds blanks.
struct PbsRecord {
  std::string_view type, job;
  std::vector<std::pair<std::string_view, std::string_view>> values;

  std::string_view value(std::string_view key) const {
    for (const auto& [name, text] : values)
      if (name == key) return text;
    return {};
  }
};

std::optional<PbsRecord> pbs_record(std::string_view line) {
  const std::vector<std::string_view> parts = fields_between(line, ";");
  if (parts.size() < 4 || parts[0].size() != 19 || parts[0][2] != '/' || parts[0][13] != ':' || parts[1].size() != 1)
    return std::nullopt;
  PbsRecord record{.type = parts[1], .job = parts[2], .values = {}};
  std::string_view rest(parts[3].data(), static_cast<std::size_t>(line.data() + line.size() - parts[3].data()));
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const std::size_t equals = rest.find('=');
    if (equals == rest.npos) return record;
    const std::string_view key = rest.substr(0, equals);
    rest.remove_prefix(equals + 1);
    const bool is_quoted = rest.starts_with('"') && rest.find('"', 1) != rest.npos;
    if (is_quoted) rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find(is_quoted ? '"' : ' '), rest.size());
    record.values.emplace_back(key, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

/// "2:ncpus=8:ngpus=4+1:ngpus=1" asks for 2 x 4 + 1; "(n1:ngpus=4)+(n2:ngpus=4)" holds 8, as a piece without a number counts
/// once.
double pbs_gpus(std::string_view pieces, std::string_view name) {
  double gpus = 0;
  for (std::string_view piece : fields_between(pieces, "+")) {
    double times = 1, each = 0;
    bool is_first = true;
    for (std::string_view part : fields_between(piece, ":")) {
      while (part.ends_with(')')) part.remove_suffix(1);
      if (const auto count = slurm_number(part); count && is_first) times = *count;
      if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=')
        each += slurm_number(part.substr(name.size() + 1)).value_or(0);
      is_first = false;
    }
    gpus += times * each;
  }
  return gpus;
}

/// The different names in "n1/0*8+n2/0*8"; 0 for an empty text.
double pbs_hosts(std::string_view hosts) {
  std::set<std::string_view> names;
  for (const std::string_view host : fields_between(hosts, "+"))
    if (!host.empty()) names.insert(host.substr(0, host.find('/')));
  return static_cast<double>(names.size());
}

/// The GPUs that a job was given, else those that it asked for; 0: none.
double pbs_gpus(const PbsRecord& record) {
  const std::string_view given = record.value("exec_gpus");
  const double counts[] = {
      pbs_gpus(record.value("exec_vnode"), "ngpus"), given.empty() ? 0 : static_cast<double>(fields_between(given, "+").size()),
      slurm_number(record.value("Resource_List.ngpus")).value_or(0), pbs_gpus(record.value("Resource_List.select"), "ngpus"),
      pbs_gpus(record.value("Resource_List.nodes"), "gpus")};
  for (const double gpus : counts)
    if (gpus > 0) return gpus;
  return 0;
}

/// Bytes of "64gb", "2048kb", "512b" and "512".
std::optional<double> pbs_bytes(std::string_view text) {
  if (text.ends_with('b')) text.remove_suffix(1);
  constexpr std::string_view kLetters = "kmgtp";
  double unit = 1;
  if (const std::size_t letter = text.empty() ? kLetters.npos : kLetters.find(text.back()); letter != kLetters.npos) {
    for (std::size_t i = 0; i <= letter; ++i) unit *= 1024;
    text.remove_suffix(1);
  }
  const auto number = slurm_number(text);
  return number ? std::optional(*number * unit) : std::nullopt;
}

class Pbs final : public TraceReader {
 public:
  explicit Pbs(const std::string& path) : lines_((sim::require_regular(path), path)) { read_first(path); }

  bool next(TraceRow& row) override {
    std::string_view line;
    while (lines_.next(line)) {
      if (line.empty()) continue;
      row.line = lines_.line_number();
      const auto record = pbs_record(line);
      if (!record) {
        row.refuse({}, "MM/DD/YYYY HH:MM:SS;TYPE;JOB;KEY=VALUE ...", sim::shown(line));
        return true;
      }
      if (record->type != "E") {
        ++others_;
        continue;
      }
      if (record->job.find("[]") != std::string_view::npos) {
        ++arrays_;
        continue;
      }
      if (!sim::is_utf8(line))
        row.refuse({}, "UTF-8", sim::shown(line));
      else
        read(row, *record);
      return true;
    }
    return false;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (counts_nodes_) notes.emplace_back("no record names GPUs (ngpus, gpus): a node counts as a device");
    if (others_ > 0) notes.push_back(fmt::format("{} records are of other types than E (ended); set aside", others_));
    if (arrays_ > 0)
      notes.push_back(fmt::format("{} records are of whole job arrays, whose jobs have their own; set aside", arrays_));
    return notes;
  }

 private:
  void read_first(const std::string& path) {
    sim::LineReader lines(path);
    std::string_view line;
    bool has_record = false;
    while (lines.next(line)) {
      const auto record = pbs_record(line);
      has_record = has_record || record;
      if (!record || record->type != "E") continue;
      last_[std::hash<std::string_view>{}(record->job)] = lines.line_number();
      counts_nodes_ = counts_nodes_ && pbs_gpus(*record) == 0;
    }
    if (!has_record)
      throw sim::InputError({.file = path,
                             .line = 1,
                             .expected = "an accounting log of PBS, with lines \"MM/DD/YYYY HH:MM:SS;TYPE;JOB;KEY=VALUE ...\"",
                             .found = "none"});
  }

  void read(TraceRow& row, const PbsRecord& record) {
    TraceJob& job = row.job;
    job.job_id = record.job;
    job.user = record.value("user");
    job.account = record.value(record.value("account").empty() ? "project" : "account");
    job.partition = record.value("queue");
    if (job.job_id.empty()) row.refuse("job", "a name", sim::shown(""));
    const auto date = [&](std::string_view key, bool is_needed) {
      const auto read = slurm_number(record.value(key));
      if (read && kDates.contains(*read)) return *read;
      if (is_needed) row.refuse(key, "seconds since 1970", sim::shown(record.value(key)));
      return kNotGiven;
    };
    job.submit_s = date("ctime", true);
    job.eligible_s = date("etime", false);
    job.start_s = date("start", true);
    const double end_s = date("end", true);
    if (end_s < job.start_s)
      row.refuse("end", "a date not before start", sim::shown(record.value("end")));
    else
      job.duration_s = end_s - job.start_s;
    if (job.start_s < job.submit_s) row.refuse("start", "a date not before ctime", sim::shown(record.value("start")));
    if (job.duration_s == 0) {
      job.duration_s = 0.5;
      row.repairs.push_back(
          {"end", "above start: equal dates are less than 0.5 s, which is taken", std::string(record.value("end"))});
    }
    read_size(row, record);
    row.recorded_gpu_s = end_s > job.start_s && is_given(job.gpus) ? job.gpus * (end_s - job.start_s) : 0;
    read_limit(row, record);
    if (const auto status = slurm_number(record.value("Exit_status")))
      job.status = *status == 0 ? "completed" : *status < 256 ? "failed" : "cancelled";  // 256 and a signal
    else if (!record.value("Exit_status").empty())
      job.status = "failed";
    if (last_.at(std::hash<std::string_view>{}(record.job)) == row.line) return;
    row.mistakes.clear();
    row.refuse("job", "the last run of a job: an earlier one of a job that was requeued", sim::shown(job.job_id));
  }

  void read_size(TraceRow& row, const PbsRecord& record) const {
    TraceJob& job = row.job;
    double nodes = pbs_hosts(record.value("exec_host"));
    if (nodes == 0) nodes = slurm_number(record.value("Resource_List.nodect")).value_or(0);
    const double gpus = counts_nodes_ ? nodes : pbs_gpus(record);
    if (sim::integer_expectation(gpus, kGpuCounts).empty())
      job.gpus = gpus;
    else if (counts_nodes_)
      row.refuse("exec_host", "the nodes of the job", sim::shown(record.value("exec_host")));
    else
      row.refuse("Resource_List.ngpus", "a job with GPUs (ngpus)", sim::shown(record.value("Resource_List.select")));
    if (!counts_nodes_ && sim::integer_expectation(nodes, kNodeCounts).empty()) job.nodes = nodes;
    const auto cpus = slurm_number(record.value("Resource_List.ncpus"));
    if (cpus && *cpus > 0 && kCpuCounts.contains(*cpus)) job.cpus = *cpus;
    const auto bytes = pbs_bytes(record.value("Resource_List.mem"));
    if (bytes && *bytes > 0 && kMemoryBytes.contains(*bytes)) job.memory_bytes = *bytes;
  }

  /// A job that ran into its limit may have had some seconds more to end in.
  static void read_limit(TraceRow& row, const PbsRecord& record) {
    constexpr std::string_view kKey = "Resource_List.walltime";
    const std::string_view text = record.value(kKey);
    if (text.empty()) return;
    const auto seconds = text.find(':') == text.npos ? slurm_number(text) : slurm_seconds(text);
    if (!seconds || !kDurations.contains(*seconds)) return row.refuse(kKey, "hours:minutes:seconds", sim::shown(text));
    TraceJob& job = row.job;
    job.walltime_s = *seconds;
    if (!(job.duration_s > job.walltime_s)) return;
    row.repairs.push_back({kKey, "a limit of at least the time run: the time run is believed", std::string(text)});
    job.walltime_s = job.duration_s;
  }

  sim::LineReader lines_;
  std::unordered_map<std::size_t, std::int64_t> last_;  ///< the line of a job's last record of type E, by its name's hash
  bool counts_nodes_ = true;
  std::int64_t others_ = 0, arrays_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_pbs(const std::string& path) { return std::make_unique<Pbs>(path); }

}  // namespace rehearse::traces
