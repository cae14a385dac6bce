#include "traces/jobs/writers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <unordered_map>

#include "sim/io/shown.hpp"
#include "traces/jobs/job_fields.hpp"

namespace rehearse::traces {

namespace {

bool one_line(std::string_view name) { return name.find_first_of("\r\n") == name.npos; }

class SwfWriter final : public TraceWriter {
 public:
  void begin(std::string& text) override {
    text +=
        "; Version: 2.2\n; Note: a GPU is written as a processor\n"
        "; Note: comments \"; Job:\", \"; User:\", \"; Partition:\" and \"; Executable:\" tell the names of numbers used below "
        "them\n";
  }

  void add(std::string& text, const TraceJob& job) override {
    const std::int64_t number = job_number(text, job.job_id);
    const std::int64_t user = known(text, kSwfUser, users_, job.user);
    const std::int64_t model = known(text, kSwfExecutable, models_, job.model);
    const std::int64_t partition = known(text, kSwfPartition, partitions_, job.partition);
    const double gpus = gpus_alone(job);
    const double kib = is_given(job.memory_bytes) && job.memory_bytes > 0 ? std::ceil(job.memory_bytes / 1024 / gpus) : -1;
    fmt::format_to(std::back_inserter(text), "{} {} -1 {} {} -1 -1 {} {} {} {} {} -1 {} -1 {} {} -1\n", number, job.submit_s,
                   job.duration_s, gpus, gpus, is_given(job.walltime_s) ? job.walltime_s : -1, kib, status(job.status), user,
                   model, partition, preceding(job.after));
    numbers_.emplace(job.job_id, number);
  }

  void end(std::string&) override {}

 private:
  using Numbers = std::unordered_map<std::string, std::int64_t>;

  /// A name that is a number still free keeps it.
  std::int64_t job_number(std::string& text, const std::string& name) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    const bool is_number = error == std::errc{} && end == name.data() + name.size() && fmt::format("{}", number) == name;
    if (is_number && number > last_ && number < (std::int64_t{1} << 52)) return last_ = number;
    ++last_;
    if (one_line(name)) fmt::format_to(std::back_inserter(text), "{}{} {}\n", kSwfJob, last_, name);
    return last_;
  }

  /// The number of a name, told in a comment at its first use; -1 for none.
  static std::int64_t known(std::string& text, std::string_view kind, Numbers& numbers, const std::string& name) {
    if (name.empty() || !one_line(name)) return -1;
    const auto [at, is_new] = numbers.emplace(name, static_cast<std::int64_t>(numbers.size()) + 1);
    if (is_new) fmt::format_to(std::back_inserter(text), "{}{} {}\n", kind, at->second, name);
    return at->second;
  }

  std::int64_t preceding(const std::vector<std::string>& after) const {
    const auto found = after.empty() ? numbers_.end() : numbers_.find(after.front());
    return found != numbers_.end() ? found->second : -1;
  }

  /// Other traces' words count too (docs/guide/traces.md).
  static int status(std::string word) {
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const SwfStatus& known : kSwfStatuses)
      if (known.name == word) return known.number;
    if (word == "pass" || word == "terminated" || word == "succeeded") return 1;
    if (word == "timeout" || word == "node_fail") return 0;
    return word == "killed" ? 5 : -1;
  }

  std::int64_t last_ = 0;
  Numbers numbers_, users_, models_, partitions_;
};

class BatsimWriter final : public TraceWriter {
 public:
  void begin(std::string& text) override { text += "{\n \"jobs\": ["; }

  void add(std::string& text, const TraceJob& job) override {
    const auto out = std::back_inserter(text);
    fmt::format_to(out, "{}\n  {{\"id\": {}, \"subtime\": {}, \"res\": {}, \"profile\": \"{}\"", first_ ? "" : ",",
                   sim::json_string(job.job_id), job.submit_s, gpus_alone(job), job.duration_s);
    if (is_given(job.walltime_s)) fmt::format_to(out, ", \"walltime\": {}", job.walltime_s);
    if (!job.user.empty()) fmt::format_to(out, ", \"user\": {}", sim::json_string(job.user));
    if (!job.partition.empty()) fmt::format_to(out, ", \"partition\": {}", sim::json_string(job.partition));
    if (!job.after.empty()) {
      text += ", \"dependencies\": [";
      std::string_view separator;
      for (const std::string& name : job.after) {
        fmt::format_to(out, "{}{}", separator, sim::json_string(name));
        separator = ", ";
      }
      text += ']';
    }
    text += '}';
    first_ = false;
    lengths_.insert(job.duration_s);
    most_ = std::max(most_, gpus_alone(job));
  }

  void end(std::string& text) override {
    text += "\n ],\n \"profiles\": {";
    std::string_view separator;
    for (const double length_s : lengths_) {
      fmt::format_to(std::back_inserter(text), "{}\n  \"{}\": {{\"type\": \"delay\", \"delay\": {}}}", separator, length_s,
                     length_s);
      separator = ",";
    }
    fmt::format_to(std::back_inserter(text), "\n }},\n \"nb_res\": {}\n}}\n", most_);
  }

 private:
  bool first_ = true;
  double most_ = 1;
  std::set<double> lengths_;
};

}  // namespace

std::unique_ptr<TraceWriter> make_swf_writer() { return std::make_unique<SwfWriter>(); }
std::unique_ptr<TraceWriter> make_batsim_writer() { return std::make_unique<BatsimWriter>(); }

std::span<const TraceWriterEntry> trace_writers() {
  static constexpr TraceWriterEntry kWriters[] = {
      {"swf", "Standard Workload Format 2.2",
       "job_id,submit_s,gpus,duration_s,model,user,memory_bytes,partition,walltime_s,after,status", make_swf_writer},
      {"batsim", "Batsim's JSON workload, a delay profile for each length",
       "job_id,submit_s,gpus,duration_s,user,partition,walltime_s,after", make_batsim_writer},
  };
  return kWriters;
}

void TraceExport::add(std::string& text, const TraceJob& job) {
  if (!is_given(job.duration_s) || !is_given(gpus_held(job))) {
    ++without_duration_;
    return;
  }
  ++jobs_;
  writer_->add(text, job);
  const std::string kept = fmt::format(",{},", entry_.columns);
  for (const JobField& field : job_fields())
    if (is_given(job, field) && kept.find(fmt::format(",{},", field.name)) == kept.npos) ++set_aside_[field.name];
}

std::string TraceExport::report() const {
  std::string text;
  if (without_duration_ > 0) text += fmt::format("  {} jobs without a measured duration are not written\n", without_duration_);
  for (const auto& [column, jobs] : set_aside_) text += fmt::format("  {} of {} jobs has no place in the format\n", column, jobs);
  return text;
}

}  // namespace rehearse::traces
