// The traces of Gavel's scheduler (Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning
// Workloads", OSDI 2020): a job a line, tabs between the fields, in two layouts that are told by how many there are.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "sim/io/shown.hpp"
#include "sim/io/text_input.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::traces {
namespace {

constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

/// Which field, from 0, holds what.
struct Layout {
  std::size_t fields, total_steps, arrival_time, scale_factor, priority_weight = kAbsent, slo = kAbsent;
};
constexpr Layout kLayouts[] = {
    // job_type, command, num_steps_arg, needs_data_dir, total_steps, arrival_time, scale_factor
    {.fields = 7, .total_steps = 4, .arrival_time = 5, .scale_factor = 6},
    // job_type, command, working_dir, num_steps_arg, needs_data_dir, total_steps, scale_factor, priority_weight, SLO,
    // arrival_time
    {.fields = 10, .total_steps = 5, .arrival_time = 9, .scale_factor = 6, .priority_weight = 7, .slo = 8},
};

class Gavel final : public TraceReader {
 public:
  Gavel(const std::string& path, bool measured) : lines_(path), measured_(measured) {}

  bool next(TraceRow& row) override {
    std::string_view line;
    do {
      if (!lines_.next(line)) return false;
    } while (line.empty());
    row.line = lines_.line_number();
    row.job.job_id = fmt::format("gavel-{}", ++rows_);
    split(line);
    for (const Layout& layout : kLayouts)
      if (fields_.size() == layout.fields) {
        read(layout, row);
        return true;
      }
    row.refuse({}, "7 or 10 fields between tabs", fmt::format("{}", fields_.size()));
    return true;
  }

  std::vector<std::string> notes() const override {
    if (slos_ == 0) return {};
    return {fmt::format("{} rows have an SLO: Gavel's multiple of a running time that the file does not hold; set aside", slos_)};
  }

 private:
  void split(std::string_view line) {
    fields_.clear();
    for (std::size_t tab = 0; tab != line.npos && fields_.size() <= 10;) {
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
    row.job.steps = number(row, layout.total_steps, "total_steps", kStepCounts, true);
    row.job.gpus = number(row, layout.scale_factor, "scale_factor", kGpuCounts, true);
    if (layout.priority_weight != kAbsent) row.job.priority = number(row, layout.priority_weight, "priority_weight", {});
    if (layout.slo != kAbsent && number(row, layout.slo, "SLO", {}) > 0) ++slos_;
    read_type(row);
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
    const bool no_batch = measured_ && type.find('(') == type.npos;  // "A3C": its table has none either
    if (no_batch) batch = 1;
    row.job.batch_size = batch * row.job.gpus;
    row.job.steps = std::ceil(row.job.steps / row.job.gpus);
    if (!sim::is_utf8(type) || at == 0 || !sim::integer_expectation(batch, kBatchSizes).empty() ||
        !kBatchSizes.contains(row.job.batch_size)) {
      row.refuse("job_type", "a model and a batch: \"ResNet-50 (batch size 64)\"", sim::shown(type));
      return;
    }
    (measured_ ? row.job.job_type : row.job.model) = measured_ ? type : type.substr(0, at);
  }

  sim::LineReader lines_;
  bool measured_;
  std::vector<std::string_view> fields_;
  std::int64_t rows_ = 0, slos_ = 0;
};

}  // namespace

std::unique_ptr<TraceReader> open_gavel(const std::string& path) { return std::make_unique<Gavel>(path, false); }
std::unique_ptr<TraceReader> open_gavel_measured(const std::string& path) { return std::make_unique<Gavel>(path, true); }

}  // namespace rehearse::traces
