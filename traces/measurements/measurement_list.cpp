#include "traces/measurements/measurement_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/errors.hpp"
#include "sim/io/shown.hpp"
#include "traces/measurements/native.hpp"

namespace rehearse::traces {

namespace {

constexpr std::size_t kMostLines = 12;  // listed for a reason

std::string lines_of(const LeftOut& left_out) {
  std::vector<std::int64_t> lines = left_out.lines;
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  const bool all = lines.size() <= kMostLines;
  const std::string dots = all ? "" : ", ...";
  if (!all) lines.resize(kMostLines);
  return fmt::format("{} {}{}", lines.size() == 1 ? "line" : "lines", fmt::join(lines, ", "), dots);
}

}  // namespace

void count_reason(std::vector<LeftOut>& all, std::int64_t line, std::string reason) {
  auto known = std::find_if(all.begin(), all.end(), [&](const LeftOut& l) { return l.reason == reason; });
  if (known == all.end()) known = all.insert(known, {std::move(reason), {}});
  known->lines.push_back(line);
}

sim::InputError nothing_left(const std::string& file, std::span<const LeftOut> left_out) {
  const LeftOut* first = left_out.empty() ? nullptr : &left_out.front();
  return sim::InputError({.file = sim::printable(file, 4096),
                          .line = first ? first->lines.front() : 0,
                          .expected = "at least one measurement that can be used",
                          .found = first ? first->reason : "none"});
}

std::string account(const Account& rows) {
  std::string text = fmt::format("{}: {} measurements, {} used\n", sim::printable(rows.file, 4096), rows.found, rows.used);
  for (const LeftOut& l : rows.left_out) text += fmt::format("  {} left out: {}; {}\n", l.lines.size(), l.reason, lines_of(l));
  for (const LeftOut& l : rows.remarked) text += fmt::format("  {} kept: {}; {}\n", l.lines.size(), l.reason, lines_of(l));
  for (const std::string& note : rows.notes) text += "  " + note + "\n";
  return text;
}

void MeasurementCollector::leave_out(std::int64_t line, std::string reason) {
  ++list_.found;
  count_reason(list_.left_out, line, std::move(reason));
}

void MeasurementCollector::add(workloads::Measurement m) {
  if (!(std::isfinite(m.step_s) && m.step_s > 0)) return leave_out(m.line, "the time is not above 0: nothing was measured");
  if (!rows_.insert(native_row(m)).second) return leave_out(m.line, "the same row was given before");
  workloads::Measurement setting = m;
  setting.step_s = setting.forward_s = setting.backward_s = setting.sync_s = setting.power_w = setting.spread =
      workloads::kNotMeasured;
  if (!settings_.insert(native_row(setting)).second)
    count_reason(list_.remarked, m.line, "repeats an earlier setting with another time");
  ++list_.found;
  list_.rows.push_back(std::move(m));
}

MeasurementList MeasurementCollector::finish() {
  if (list_.rows.empty()) throw nothing_left(list_.file, list_.left_out);
  return std::move(list_);
}

std::string to_string(const MeasurementList& list) {
  return account({.file = list.file,
                  .found = list.found,
                  .used = static_cast<std::int64_t>(list.rows.size()),
                  .left_out = list.left_out,
                  .remarked = list.remarked,
                  .notes = list.notes});
}

namespace {

constexpr MeasurementFormat kMeasurementFormats[] = {
    {"gavel", "throughputs of Gavel (OSDI 2020), JSON: *_throughputs.json", read_gavel},
    {"pollux", "placements.csv or scalability.csv of an application of Pollux (OSDI 2021)", read_pollux},
    {"tf-benchmarks", "images a second of TensorFlow's performance benchmarks of 2017, CSV", read_tf_benchmarks},
    {"deepbench", "a results sheet of Baidu's DeepBench, saved as CSV", read_deepbench},
    {"trimtuner", "cnn.csv of TrimTuner (MASCOTS 2020): parameter servers on t2 machines", read_trimtuner},
    {"zeus", "summary_power_DEVICE.csv of Zeus (NSDI 2023)", read_zeus},
    {"neusight", "kernels.csv of NeuSight (ASPLOS 2025): single kernels on five GPUs", read_neusight},
};

}  // namespace

std::span<const MeasurementFormat> measurement_formats() { return kMeasurementFormats; }

}  // namespace rehearse::traces
