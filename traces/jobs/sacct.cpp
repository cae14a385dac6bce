// The accounting of a Slurm cluster: what sacct prints with --parsable2 or --parsable, a line of names and then a job or a step
// of one a line (its manual, "Job Accounting Fields"). The file is read twice: the first time for jobs with several lines.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "sim/io/civil_date.hpp"
#include "sim/io/file.hpp"
#include "sim/io/shown.hpp"
#include "sim/io/text_input.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/slurm_texts.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {
namespace {

enum class Of : std::size_t {
  job_id,
  submit,
  start,
  end,
  elapsed,
  elapsed_raw,
  suspended,
  eligible,
  cluster,
  user,
  account,
  qos,
  partition,
  timelimit,
  timelimit_raw,
  alloc_tres,
  alloc_gres,
  req_tres,
  req_gres,
  nodes,
  alloc_nodes,
  alloc_cpus,
  cpus,
  req_mem,
  state,
  priority,
  count
};
constexpr std::size_t kSacctColumns = static_cast<std::size_t>(Of::count);
constexpr std::array<std::string_view, kSacctColumns> kSacctNames{
    "JobID",   "Submit",  "Start",      "End",       "Elapsed",   "ElapsedRaw",   "Suspended", "Eligible",  "Cluster",
    "User",    "Account", "QOS",        "Partition", "Timelimit", "TimelimitRaw", "AllocTRES", "AllocGRES", "ReqTRES",
    "ReqGRES", "NNodes",  "AllocNodes", "AllocCPUS", "NCPUS",     "ReqMem",       "State",     "Priority"};
constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);
/// Where a job's GPUs are looked for; the first that names some counts.
constexpr std::array kResourceColumns{Of::alloc_tres, Of::alloc_gres, Of::req_tres, Of::req_gres};

/// The words with which Slurm writes that there is no value.
bool is_nothing(std::string_view text) {
  for (const std::string_view word : {"", "Unknown", "None", "NONE", "N/A", "INVALID", "(null)", "0"})
    if (text == word) return true;
  return false;
}

/// A job in one of these has not ended, whatever dates its line has: `sacct --truncate` writes an end all the same.
bool is_unfinished(std::string_view state) {
  for (const std::string_view word : {"PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "RESIZING", "STOPPED"})
    if (state == word) return true;
  return false;
}

std::string_view first_word(std::string_view text) { return text.substr(0, text.find(' ')); }

/// What stands between the first two names of the header.
std::string_view separator_of(std::string_view header) {
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const auto begin = std::find_if_not(header.begin(), header.end(), is_name);
  const auto end = std::find_if(begin, header.end(), is_name);
  return header.substr(static_cast<std::size_t>(begin - header.begin()), static_cast<std::size_t>(end - begin));
}

class Sacct final : public TraceReader {
 public:
  explicit Sacct(const std::string& path) : path_(regular(path)), lines_(path) {
    read_header();
    find_parts();
  }

  bool next(TraceRow& row) override {
    std::string_view line;
    if (!next_line(lines_, line)) return false;
    row.line = lines_.line_number();
    if (fields_.size() != fields_wanted_) {
      row.refuse({}, fmt::format("{} fields between \"{}\"", fields_wanted_, sim::printable(separator_)),
                 fmt::format("{}", fields_.size()));
      return true;
    }
    if (!sim::is_utf8(line)) {
      row.refuse({}, "UTF-8", sim::shown(line));
      return true;
    }
    SlurmGpus held = read(row);
    row.recorded_gpu_s = row.job.duration_s > 0 ? held.gpus * row.job.duration_s : 0;
    if (std::binary_search(earlier_runs_.begin(), earlier_runs_.end(), row.line)) {
      row.mistakes.clear();
      row.refuse("JobID", "the last run of a job: an earlier one of a job that was requeued", sim::shown(row.job.job_id));
      return true;
    }
    const std::size_t plus = row.job.job_id.rfind('+');
    if (plus == std::string::npos) return finish(row, held);
    row.job.job_id.resize(plus);
    const std::vector<Part>& parts = heterogeneous_.at(row.job.job_id);
    row.is_joined = parts.front().line != row.line;
    if (row.is_joined) {
      row.mistakes.clear();
      ++joined_;
      return true;
    }
    for (std::size_t p = 1; p < parts.size(); ++p) join(parts[p], row, held);
    return finish(row, held);
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = note_of_zones(zoneless_);
    const auto add = [&notes](std::int64_t jobs, std::string_view what) {
      if (jobs > 0) notes.push_back(fmt::format("{} {}", jobs, what));
    };
    if (counts_nodes_) notes.emplace_back("no column of resources (AllocTRES, AllocGRES): a node counts as a device");
    if (!has_elapsed_)
      notes.emplace_back("no column Elapsed: a length is End - Start, with changes of the clock and suspended time in it");
    add(other_lengths_, "lines whose End - Start is not Elapsed (a clock that was changed, suspended time): Elapsed is believed");
    add(requested_, "lines name no allocated GPUs: the requested ones count");
    add(sliced_, "jobs hold slices of GPUs (MIG): each counts as its part of a GPU");
    add(joined_, "lines are further parts of heterogeneous jobs: joined with their first part");
    add(steps_, "lines are steps of jobs; set aside");
    return notes;
  }

 private:
  /// A line of a heterogeneous job.
  struct Part {
    std::int64_t line = 0;
    std::string text;
  };
  /// A line, and the order of the runs of one job.
  struct Run {
    std::size_t name = 0;
    double submit_s = 0, start_s = 0;
    std::int64_t line = 0;
    auto operator<=>(const Run&) const = default;
  };

  static const std::string& regular(const std::string& path) {
    sim::require_regular(path);
    return path;
  }
  std::size_t at(Of column) const { return at_[static_cast<std::size_t>(column)]; }
  bool has(Of column) const { return at(column) != kNoColumn; }
  static std::string_view name_of(Of column) { return kSacctNames[static_cast<std::size_t>(column)]; }
  std::string_view field(Of column) const { return has(column) ? fields_[at(column)] : std::string_view(); }

  void read_header() {
    std::string_view line;
    const bool has_line = lines_.next(line);
    const auto refuse = [&](std::string expected, std::string found) {
      throw sim::InputError({.file = path_, .line = 1, .expected = std::move(expected), .found = std::move(found)});
    };
    separator_ = separator_of(line);
    if (separator_.find(' ') != separator_.npos)
      refuse("sacct's fields between bars: add --parsable2 to its command", "columns of fixed width: " + sim::shown(line));
    const std::vector<std::string_view> names =
        has_line ? fields_between(line, separator_.empty() ? "|" : separator_) : std::vector<std::string_view>{};
    fields_wanted_ = names.size();
    for (std::size_t column = 0; column < kSacctColumns; ++column) {
      const auto found = std::find(names.begin(), names.end(), kSacctNames[column]);
      at_[column] = found == names.end() ? kNoColumn : static_cast<std::size_t>(found - names.begin());
    }
    has_elapsed_ = has(Of::elapsed) || has(Of::elapsed_raw);
    for (const Of needed : {Of::job_id, Of::submit})
      if (!has(needed))
        refuse(fmt::format("sacct's line of names, between bars, with {}", name_of(needed)),
               has_line ? sim::shown(line) : "an empty file");
    if (!has_elapsed_ && !(has(Of::start) && has(Of::end)))
      refuse("a column Elapsed, or both Start and End: add Elapsed to sacct's --format", sim::shown(line));
    if (!has(Of::state) && !has(Of::end))
      refuse("a column State or End, which tell jobs that still run: add State to sacct's --format", sim::shown(line));
    const auto has_column = [this](Of column) { return has(column); };
    counts_nodes_ = std::none_of(kResourceColumns.begin(), kResourceColumns.end(), has_column);
    const bool has_nodes = has(Of::nodes) || has(Of::alloc_nodes);
    if (counts_nodes_ && !has_nodes) refuse("a column AllocTRES, ReqTRES or NNodes", "none");
    if (!counts_nodes_ && !has_nodes && !has(Of::alloc_tres) && !has(Of::req_tres))
      refuse("a column NNodes next to AllocGRES, whose counts are of one node: add it to sacct's --format", sim::shown(line));
  }

  /// The next line that is no step of a job, in fields_. Steps, "123.batch", are left out by `sacct --allocations`.
  bool next_line(sim::LineReader& lines, std::string_view& line) {
    while (lines.next(line)) {
      if (line.empty()) continue;
      split(line);
      const bool is_step = fields_.size() == fields_wanted_ && field(Of::job_id).find('.') != std::string_view::npos;
      if (!is_step) return true;
      if (&lines == &lines_) ++steps_;
    }
    return false;
  }

  /// Between commas the resources of one field are several pieces with "=".
  void split(std::string_view line) {
    fields_.clear();
    for (const std::string_view piece : fields_between(line, separator_.empty() ? "|" : separator_)) {
      const bool is_more = separator_ == "," && fields_.size() > 0 && is_resource(fields_.size() - 1) &&
                           fields_.back().find('=') != std::string_view::npos && piece.find('=') != std::string_view::npos;
      if (is_more)
        fields_.back() = {fields_.back().data(), static_cast<std::size_t>(piece.data() + piece.size() - fields_.back().data())};
      else
        fields_.push_back(piece);
    }
  }

  bool is_resource(std::size_t place) const {
    return std::any_of(kResourceColumns.begin(), kResourceColumns.end(), [&](Of column) { return at(column) == place; });
  }

  /// "123", of several clusters "name/123".
  std::string job_name() const {
    const std::string_view cluster = field(Of::cluster), id = field(Of::job_id);
    return cluster.empty() || id.empty() ? std::string(id) : fmt::format("{}/{}", cluster, id);
  }

  /// Which lines are runs before the last of a job that was requeued, and which are parts of one heterogeneous job.
  void find_parts() {
    std::vector<Run> runs;
    sim::LineReader lines(path_);
    std::string_view line;
    lines.next(line);
    std::int64_t with_resources = 0;
    bool has_gpus = false;
    while (next_line(lines, line)) {
      if (fields_.size() != fields_wanted_) continue;
      const std::string name = job_name();
      const auto order = [](std::optional<double> date, double none) { return date.value_or(none); };
      constexpr double kEnd = std::numeric_limits<double>::infinity();
      runs.push_back({.name = std::hash<std::string>{}(name),
                      .submit_s = order(date(field(Of::submit)), -kEnd),
                      .start_s = order(date(field(Of::start)), kEnd),
                      .line = lines.line_number()});
      if (const std::size_t plus = name.rfind('+'); plus != std::string::npos)
        heterogeneous_[name.substr(0, plus)].push_back({.line = lines.line_number(), .text = std::string(line)});
      for (const Of column : kResourceColumns) {
        if (is_nothing(field(column))) continue;
        ++with_resources;
        if (has_gpus) continue;
        const SlurmGpus held = slurm_gpus(field(column), 1);
        has_gpus = held.units > 0 || held.is_shared;
      }
    }
    if (with_resources > 0 && !has_gpus) refuse_untracked();
    std::sort(runs.begin(), runs.end());
    for (std::size_t r = 0; r + 1 < runs.size(); ++r)
      if (runs[r].name == runs[r + 1].name) earlier_runs_.push_back(runs[r].line);
    std::sort(earlier_runs_.begin(), earlier_runs_.end());
    for (auto& [name, parts] : heterogeneous_)
      std::erase_if(
          parts, [this](const Part& part) { return std::binary_search(earlier_runs_.begin(), earlier_runs_.end(), part.line); });
  }

  [[noreturn]] void refuse_untracked() const {
    std::string columns;
    for (const Of column : kResourceColumns)
      if (has(column)) columns += (columns.empty() ? "" : " and ") + std::string(name_of(column));
    throw sim::InputError({.file = path_,
                           .line = 1,
                           .expected = fmt::format(
                               "GPUs in {} (gres/gpu=N), which Slurm writes there if AccountingStorageTRES names gres/gpu: {}"
                               "leave {} out and NNodes in, and a node counts as a device",
                               columns, has(Of::alloc_gres) ? "" : "add AllocGRES and NNodes to sacct's --format, or ", columns),
                           .found = "no GPU in any row"});
  }

  /// In UTC where the text names no zone; since 1970 where it is a number (SLURM_TIME_FORMAT=%s).
  static std::optional<double> date(std::string_view text, std::int64_t* zoneless = nullptr) {
    if (is_nothing(text)) return std::nullopt;
    if (const auto seconds = slurm_number(text); seconds && kDates.contains(*seconds)) return seconds;
    const auto read = sim::parse_civil_date(text);
    if (!read || !kDates.contains(read->unix_s)) return std::nullopt;
    if (zoneless != nullptr && !read->has_zone) ++*zoneless;
    return read->unix_s;
  }

  double number_of_nodes() const {
    for (const Of column : {Of::nodes, Of::alloc_nodes})
      if (const auto nodes = slurm_count(field(column)); nodes && *nodes > 0) return *nodes;
    for (const Of column : {Of::alloc_tres, Of::req_tres})
      if (const auto nodes = slurm_count(slurm_tres(field(column), "node")); nodes && *nodes > 0) return *nodes;
    return kNotGiven;
  }

  /// All of a line but how many GPUs its job has, which it gives.
  SlurmGpus read(TraceRow& row) {
    TraceJob& job = row.job;
    job.job_id = job_name();
    job.user = field(Of::user);
    job.account = field(Of::account);
    job.qos = field(Of::qos);
    job.partition = field(Of::partition);
    job.status = first_word(field(Of::state));  // "CANCELLED by 1000"
    if (job.job_id.empty()) row.refuse(name_of(Of::job_id), "a name", sim::shown(""));
    read_dates(row);
    read_limit(row);
    if (const std::string_view priority = field(Of::priority); !priority.empty()) {
      const auto number = slurm_number(priority);
      if (number)
        job.priority = *number;
      else
        row.refuse(name_of(Of::priority), "a whole number", sim::shown(priority));
    }
    return read_size(row);
  }

  void read_dates(TraceRow& row) {
    TraceJob& job = row.job;
    const auto needed = [&](Of column, std::string_view expected) {
      const auto read = date(field(column), &zoneless_);
      if (!read) row.refuse(name_of(column), std::string(expected), sim::shown(field(column)));
      return read.value_or(kNotGiven);
    };
    job.submit_s = needed(Of::submit, "a date like 2017-10-09T07:01:55");
    double end_s = kNotGiven;
    if (has(Of::start)) job.start_s = needed(Of::start, "a date: the job has started");
    if (has(Of::end)) end_s = needed(Of::end, "a date: the job has ended");
    job.eligible_s = date(field(Of::eligible)).value_or(kNotGiven);
    if (is_unfinished(job.status) && row.mistakes.empty())
      row.refuse(name_of(Of::state), "a state in which a job has ended", sim::shown(job.status));
    const double between_s = end_s - job.start_s - slurm_seconds(field(Of::suspended)).value_or(0);
    if (has_elapsed_)
      read_elapsed(row, between_s);
    else if (kDurations.contains(between_s))
      job.duration_s = between_s;
    else if (is_given(between_s))
      row.refuse(name_of(Of::end), "a date after Start", sim::shown(field(Of::end)));
    if (!(job.start_s < job.submit_s)) return;
    if (!has_elapsed_)
      row.refuse(name_of(Of::start), "a date not before Submit", sim::shown(field(Of::start)));
    else
      row.repairs.push_back({name_of(Of::start), "a date not before Submit (a clock that was set back?): set aside",
                             std::string(field(Of::start))});
    job.start_s = kNotGiven;
  }

  /// Slurm counts neither suspended time nor what a change of the clock moves.
  void read_elapsed(TraceRow& row, double between_s) {
    const bool is_raw = !has(Of::elapsed) || (has(Of::elapsed_raw) && field(Of::elapsed).empty());
    const Of column = is_raw ? Of::elapsed_raw : Of::elapsed;
    const auto length_s = is_raw ? slurm_number(field(column)) : slurm_seconds(field(column));
    if (!length_s || !kDurations.contains(*length_s)) {
      row.refuse(name_of(column), length_s ? "a job that ran: a time above 0" : "[days-[hours:]]minutes:seconds",
                 sim::shown(field(column)));
      return;
    }
    row.job.duration_s = *length_s;
    if (std::abs(between_s - *length_s) > 1 && row.mistakes.empty()) ++other_lengths_;
  }

  void read_limit(TraceRow& row) {
    const Of column = has(Of::timelimit) ? Of::timelimit : Of::timelimit_raw;
    const std::string_view limit = field(column);
    if (is_nothing(limit) || limit == "UNLIMITED" || limit == "Partition_Limit") return;
    auto seconds = has(Of::timelimit) ? slurm_seconds(limit) : slurm_number(limit);
    if (seconds && !has(Of::timelimit)) *seconds *= 60;
    if (seconds && kDurations.contains(*seconds))
      row.job.walltime_s = *seconds;
    else
      row.refuse(name_of(column), "[days-]hours:minutes:seconds, UNLIMITED or Partition_Limit", sim::shown(limit));
  }

  SlurmGpus read_size(TraceRow& row) {
    TraceJob& job = row.job;
    const double nodes = number_of_nodes();
    if (counts_nodes_) {
      if (is_given(nodes) && sim::integer_expectation(nodes, kGpuCounts).empty()) return {.units = nodes, .gpus = nodes};
      const Of column = has(Of::nodes) ? Of::nodes : Of::alloc_nodes;
      row.refuse(name_of(column), "a whole number of nodes", sim::shown(field(column)));
      return {};
    }
    if (is_given(nodes) && sim::integer_expectation(nodes, kNodeCounts).empty()) job.nodes = nodes;
    read_cpus_and_memory(job);
    SlurmGpus held;
    for (const Of column : kResourceColumns) {
      const SlurmGpus found = slurm_gpus(field(column), nodes);
      held.is_shared = held.is_shared || found.is_shared;
      if (found.needs_nodes && !is_given(nodes))
        row.refuse(name_of(Of::nodes), fmt::format("how many nodes: {} counts the GPUs of one", name_of(column)),
                   sim::shown(field(Of::nodes)));
      if (found.units > 0 && (column == Of::req_tres || column == Of::req_gres)) ++requested_;
      if (found.units > 0) return found;
    }
    return held;
  }

  void read_cpus_and_memory(TraceJob& job) const {
    const auto keep = [](std::optional<double> value, const sim::NumberRange& range, double& into) {
      if (value && *value > 0 && !is_given(into) && range.contains(*value)) into = *value;
    };
    for (const Of column : {Of::alloc_tres, Of::req_tres}) {
      keep(slurm_count(slurm_tres(field(column), "cpu")), kCpuCounts, job.cpus);
      keep(slurm_memory_bytes(slurm_tres(field(column), "mem")), kMemoryBytes, job.memory_bytes);
    }
    for (const Of column : {Of::alloc_cpus, Of::cpus}) keep(slurm_count(field(column)), kCpuCounts, job.cpus);
    std::string_view asked = field(Of::req_mem);  // "4Gn": of a node, "4Gc": of a core
    const bool of_node = asked.ends_with('n'), of_core = asked.ends_with('c');
    if (of_node || of_core) asked.remove_suffix(1);
    if (auto bytes = slurm_memory_bytes(asked)) {
      *bytes *= of_node ? job.nodes : of_core ? job.cpus : 1;
      keep(bytes, kMemoryBytes, job.memory_bytes);
    }
  }

  /// Adds a further part of a heterogeneous job: all parts start together.
  void join(const Part& part, TraceRow& row, SlurmGpus& held) {
    split(part.text);
    TraceRow other{.line = part.line};
    const SlurmGpus more = read(other);
    row.mistakes.insert(row.mistakes.end(), other.mistakes.begin(), other.mistakes.end());
    TraceJob& job = row.job;
    if (is_given(job.duration_s) && is_given(other.job.duration_s) && job.duration_s != other.job.duration_s)
      row.repairs.push_back({name_of(has_elapsed_ ? Of::elapsed : Of::end),
                             "parts of a heterogeneous job that end together: the longest is taken for all",
                             fmt::format("{}", other.job.duration_s)});
    job.duration_s = std::fmax(job.duration_s, other.job.duration_s);
    job.submit_s = std::fmin(job.submit_s, other.job.submit_s);
    job.walltime_s = std::fmax(job.walltime_s, other.job.walltime_s);
    const auto sum = [](double a, double b) { return is_given(a) && is_given(b) ? a + b : is_given(a) ? a : b; };
    job.cpus = sum(job.cpus, other.job.cpus);
    job.memory_bytes = sum(job.memory_bytes, other.job.memory_bytes);
    if (held.units == 0)
      job.nodes = other.job.nodes;  // those with GPUs
    else if (more.units > 0)
      job.nodes = sum(job.nodes, other.job.nodes);
    held.add(more);
  }

  /// What a line, or all parts of a job, come to. True: there is a row.
  bool finish(TraceRow& row, const SlurmGpus& held) {
    TraceJob& job = row.job;
    if (sim::integer_expectation(held.units, kGpuCounts).empty() && held.gpus > 0) {
      job.gpus = held.units;
      if (held.gpus < held.units) job.gpu_fraction = held.gpus / held.units;
    } else if (!counts_nodes_) {
      refuse_size(row, held);
    }
    if (!row.mistakes.empty()) return true;
    if (is_given(job.gpu_fraction)) ++sliced_;
    if (held.is_mixed)
      row.repairs.push_back({"gpu_fraction", "GPUs or slices of one size: each counts as their mean",
                             fmt::format("{} GPUs in {} pieces", held.gpus, held.units)});
    // A job that ran into its limit may have had some seconds more to end in.
    if (is_given(job.walltime_s) && job.duration_s > job.walltime_s) {
      row.repairs.push_back({name_of(has(Of::timelimit) ? Of::timelimit : Of::timelimit_raw),
                             "a limit of at least the time run: the time run is believed", fmt::format("{} s", job.walltime_s)});
      job.walltime_s = job.duration_s;
    }
    return true;
  }

  void refuse_size(TraceRow& row, const SlurmGpus& held) const {
    const auto shown = std::find_if(kResourceColumns.begin(), kResourceColumns.end(),
                                    [this](Of column) { return has(column) && !is_nothing(field(column)); });
    const auto first = std::find_if(kResourceColumns.begin(), kResourceColumns.end(), [this](Of column) { return has(column); });
    const Of column = shown != kResourceColumns.end() ? *shown : *first;
    row.refuse(name_of(column),
               held.is_shared ? "whole GPUs or MIG slices: the file does not tell how large a part shards or MPS are"
                              : "a job with GPUs (gres/gpu=...)",
               sim::shown(field(column)));
  }

  std::string path_, separator_;
  sim::LineReader lines_;
  std::array<std::size_t, kSacctColumns> at_{};  ///< among a line's fields; kNoColumn: the file has it not
  std::vector<std::string_view> fields_;
  std::size_t fields_wanted_ = 0;
  bool counts_nodes_ = false, has_elapsed_ = false;
  std::vector<std::int64_t> earlier_runs_;                  ///< lines, sorted
  std::map<std::string, std::vector<Part>> heterogeneous_;  ///< by the name of the job
  std::int64_t zoneless_ = 0, steps_ = 0, joined_ = 0, sliced_ = 0, requested_ = 0, other_lengths_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_sacct(const std::string& path) { return std::make_unique<Sacct>(path); }

}  // namespace rehearse::traces
