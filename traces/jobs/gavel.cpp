// The traces of Gavel's scheduler (Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
// Workloads", OSDI 2020) and of Shockwave's, which grew from it (Zheng et al., "Shockwave: Fair and Efficient Cluster Scheduling
// for Dynamic Adaptation in Machine Learning", NSDI 2023): a job a line, tabs between the fields, in layouts that are told by how
// many there are.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "sim/io/shown.hpp"
#include "sim/io/text_input.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {
namespace {

constexpr std::size_t kAbsent = static_cast<std::size_t>(-1), kMostFields = 12;

/// Which field, from 0, holds what.
struct Layout {
  std::size_t fields, total_steps, arrival_time, scale_factor, priority_weight = kAbsent, slo = kAbsent, mode = kAbsent;
  std::size_t duration = kAbsent;
};
constexpr Layout kLayouts[] = {
    // job_type, command, num_steps_arg, needs_data_dir, total_steps, arrival_time, scale_factor
    {.fields = 7, .total_steps = 4, .arrival_time = 5, .scale_factor = 6},
    // job_type, command, working_dir, num_steps_arg, needs_data_dir, total_steps, scale_factor, priority_weight, SLO,
    // arrival_time
    {.fields = 10, .total_steps = 5, .arrival_time = 9, .scale_factor = 6, .priority_weight = 7, .slo = 8},
    // Shockwave's: the same with a mode after scale_factor, and a duration before arrival_time
    {.fields = 11, .total_steps = 5, .arrival_time = 10, .scale_factor = 6, .priority_weight = 8, .slo = 9, .mode = 7},
    {.fields = 12,
     .total_steps = 5,
     .arrival_time = 11,
     .scale_factor = 6,
     .priority_weight = 8,
     .slo = 9,
     .mode = 7,
     .duration = 10},
};

/// What a job is replayed as.
enum class GavelWork : std::uint8_t {
  steps,     ///< at the batch of its model
  measured,  ///< at throughputs that were measured of its type
  rigid      ///< its duration
};

class Gavel final : public TraceReader {
 public:
  Gavel(const std::string& path, GavelWork work) : lines_(path), work_(work) {}

  bool next(TraceRow& row) override {
    std::string_view line;
    do {
      if (!lines_.next(line)) return false;
    } while (line.empty());
    row.line = lines_.line_number();
    row.job.job_id = fmt::format("gavel-{}", ++rows_);
    split(line);
    const bool rigid = work_ == GavelWork::rigid;
    for (const Layout& layout : kLayouts)
      if (fields_.size() == layout.fields && (!rigid || layout.duration != kAbsent)) {
        read(layout, row);
        return true;
      }
    row.refuse({}, rigid ? "12 fields between tabs" : "7, 10, 11 or 12 fields between tabs", fmt::format("{}", fields_.size()));
    return true;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (slos_ > 0)
      notes.push_back(
          fmt::format("{} rows have an SLO: Gavel's multiple of a running time that the file does not hold; set aside", slos_));
    if (adapting_ > 0 && work_ == GavelWork::rigid)
      notes.push_back(
          fmt::format("{} rows change their batch as they train (accordion, gns): their duration has it in", adapting_));
    else if (adapting_ > 0)
      notes.push_back(fmt::format(
          "{} rows change their batch as they train (accordion, gns): read at the batch that they begin with", adapting_));
    return notes;
  }

 private:
  void split(std::string_view line) {
    fields_.clear();
    for (std::size_t tab = 0; tab != line.npos && fields_.size() <= kMostFields;) {
      tab = line.find('\t');
      fields_.push_back(line.substr(0, tab));
      line.remove_prefix(tab == line.npos ? line.size() : tab + 1);
    }
  }

  double number(TraceRow& row, std::size_t index, std::string_view column, const sim::NumberRange& range, bool whole = false) {
    const std::string_view text = fields_[index];
    double x = kNotGiven;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
    std::string expected;
    if (error != std::errc{} || end != text.data() + text.size() || !sim::NumberRange{}.contains(x))
      expected = range.describe(whole ? "a whole number" : "a number");
    else if (whole)
      expected = sim::integer_expectation(x, range);
    else if (!range.contains(x))
      expected = range.describe();
    if (expected.empty()) return x;
    row.refuse(column, std::move(expected), sim::shown(text));
    return range.some();
  }

  void read(const Layout& layout, TraceRow& row) {
    row.job.submit_s = number(row, layout.arrival_time, "arrival_time", kDates);
    const double steps = number(row, layout.total_steps, "total_steps", kStepCounts, true);
    row.job.gpus = number(row, layout.scale_factor, "scale_factor", kGpuCounts, true);
    if (work_ == GavelWork::rigid)
      row.job.duration_s = number(row, layout.duration, "duration", kDurations);
    else
      row.job.steps = std::ceil(steps / row.job.gpus);
    if (layout.priority_weight != kAbsent) row.job.priority = number(row, layout.priority_weight, "priority_weight", {});
    if (layout.slo != kAbsent && number(row, layout.slo, "SLO", {}) > 0) ++slos_;
    if (layout.mode != kAbsent) read_mode(fields_[layout.mode], row);
    read_type(row);
  }

  void read_mode(std::string_view mode, TraceRow& row) {
    if (mode == "accordion" || mode == "gns")
      ++adapting_;
    else if (mode != "static")
      row.refuse("mode", "static, accordion or gns", sim::shown(mode));
  }

  /// "ResNet-50 (batch size 64)": one worker's batch. total_steps counts the batches of all workers (they were drawn as a running
  /// time x Gavel's measured throughput, which sums over the workers), so together they do 1 / scale_factor as many steps.
  void read_type(TraceRow& row) {
    constexpr std::string_view kBatch = " (batch size ";
    const std::string_view type = fields_[0];
    const std::size_t at = type.find(kBatch);
    double batch = 0;
    if (at != type.npos && type.ends_with(')')) {
      const char* const end = type.data() + type.size() - 1;
      const auto [rest, error] = std::from_chars(type.data() + at + kBatch.size(), end, batch);
      if (error != std::errc{} || rest != end) batch = 0;
    }
    const bool no_batch = work_ != GavelWork::steps && type.find('(') == type.npos;  // "A3C": its table has none either
    if (no_batch) batch = 1;
    const double global_batch = batch * row.job.gpus;
    if (!sim::is_utf8(type) || at == 0 || !sim::integer_expectation(batch, kBatchSizes).empty() ||
        !kBatchSizes.contains(global_batch)) {
      row.refuse("job_type", "a model and a batch: \"ResNet-50 (batch size 64)\"", sim::shown(type));
      return;
    }
    const bool measured = work_ == GavelWork::measured;
    (measured ? row.job.job_type : row.job.model) = measured ? type : type.substr(0, at);
    if (work_ != GavelWork::rigid) row.job.batch_size = global_batch;
  }

  sim::LineReader lines_;
  GavelWork work_;
  std::vector<std::string_view> fields_;
  std::int64_t rows_ = 0, slos_ = 0, adapting_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_gavel(const std::string& path) { return std::make_unique<Gavel>(path, GavelWork::steps); }
std::unique_ptr<TraceReader> open_gavel_measured(const std::string& path) {
  return std::make_unique<Gavel>(path, GavelWork::measured);
}
std::unique_ptr<TraceReader> open_shockwave(const std::string& path) { return std::make_unique<Gavel>(path, GavelWork::rigid); }

}  // namespace rehearse::traces
