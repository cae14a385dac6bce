#include "report/plots/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "report/row_writer.hpp"

namespace rehearse::report {

namespace {

constexpr double kMostRow_in = 0.15, kMostHeight_in = 4.2, kName_in = 0.12;

}  // namespace

std::string timeline_json(const Timeline& timeline) {
  std::string text = fmt::format("{{\"otherData\": {{\"title\": {}}}, \"traceEvents\": [\n", json_string(timeline.title));
  for (std::size_t row = 0; row < timeline.rows.size(); ++row)
    text += fmt::format(
        "{{\"ph\": \"M\", \"pid\": 0, \"tid\": {0}, \"name\": \"thread_name\", \"args\": {{\"name\": {1}}}}},\n"
        "{{\"ph\": \"M\", \"pid\": 0, \"tid\": {0}, \"name\": \"thread_sort_index\", \"args\": {{\"sort_index\": {0}}}}},\n",
        row, json_string(timeline.rows[row]));
  for (const TimelineSlice& slice : timeline.slices)
    text += fmt::format("{{\"ph\": \"X\", \"pid\": 0, \"tid\": {}, \"name\": {}, \"ts\": {:.4f}, \"dur\": {:.4f}}},\n", slice.row,
                        json_string(slice.name), 1e6 * slice.start_s, 1e6 * (slice.end_s - slice.start_s));
  return text + fmt::format("{{\"ph\": \"M\", \"pid\": 0, \"name\": \"process_name\", \"args\": {{\"name\": {}}}}}\n]}}\n",
                            json_string(timeline.title));
}

Figure timeline_figure(const Timeline& timeline, double from_s, double to_s, const std::vector<std::string>& kinds) {
  const auto rows = static_cast<double>(timeline.rows.size());
  const double row_in = std::min(kMostRow_in, kMostHeight_in / std::max(1.0, rows));
  const auto every = static_cast<std::size_t>(std::ceil(kName_in / row_in));
  Figure figure{.title = timeline.title,
                .x = {.label = "time, ms", .low = 1e3 * from_s, .high = 1e3 * to_s},
                .y = {.label = {}, .low = 0.0, .high = rows},
                .series = {},
                .height_in = 0.5 + row_in * rows};
  for (std::size_t row = 0; row < timeline.rows.size(); row += every)
    figure.y.tics.emplace_back(rows - static_cast<double>(row) - 0.5, timeline.rows[row]);
  for (const std::string& kind : kinds) figure.series.push_back({.name = kind, .style = Style::slices, .rows = {}});
  for (const TimelineSlice& slice : timeline.slices) {
    const double begin = std::max(slice.start_s, from_s), end = std::min(slice.end_s, to_s);
    const double top = rows - slice.row;
    if (end > begin)
      figure.series.at(static_cast<std::size_t>(slice.kind)).rows.push_back({1e3 * begin, 1e3 * end, top - 1, top});
  }
  return figure;
}

namespace {

constexpr int kDevices = 1, kLinks = 2;  // the format's processes

double microseconds(sim::Tick ticks) { return 1e6 * sim::seconds_of(ticks); }

/// Rows for things that overlap: each goes to the first row that is free.
class Lanes {
 public:
  std::size_t lane_for(sim::Tick start, sim::Tick end) {
    auto lane = std::find_if(free_at_.begin(), free_at_.end(), [&](sim::Tick free) { return free <= start; });
    if (lane == free_at_.end()) lane = free_at_.insert(lane, 0);
    *lane = end;
    return static_cast<std::size_t>(lane - free_at_.begin());
  }
  std::size_t count() const { return free_at_.size(); }

 private:
  std::vector<sim::Tick> free_at_;
};

class Writer {
 public:
  Writer(const sim::StepGraph& graph, const sim::Machine& machine, const sim::StepTimeline& timeline)
      : graph_(graph), machine_(machine), timeline_(timeline) {}

  std::string write() {
    name("process_name", kDevices, 0, "devices");
    name("process_name", kLinks, 0, "links");
    for (int d = 0; d < machine_.devices(); ++d) name("thread_name", kDevices, d, machine_.device(d).name);
    for (const sim::StepTimeline::Run& run : timeline_.runs) {
      const sim::StepOp& op = graph_.op(run.op);
      slice({.process = kDevices, .row = static_cast<std::size_t>(run.device), .start = run.start, .end = run.end}, op.name,
            fmt::format(R"("op": {}, "group": {})", run.op, op.group));
    }
    for (int link = 0; link < static_cast<int>(machine_.links().size()); ++link) write_link(link);
    return "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [" + text_ + "\n]}\n";
  }

 private:
  struct Place {
    int process = 0;
    std::size_t row = 0;
    sim::Tick start = 0, end = 0;
  };

  void line(const std::string& event) {
    text_ += text_.empty() ? "\n" : ",\n";
    text_ += event;
  }

  void name(const char* what, int process, std::size_t row, const std::string& name) {
    line(fmt::format(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{"name": {}}}}})", what, process, row,
                     json_string(name)));
  }

  void slice(const Place& at, const std::string& name, const std::string& arguments) {
    line(fmt::format(R"({{"ph": "X", "name": {}, "pid": {}, "tid": {}, "ts": {:.4f}, "dur": {:.4f}, "args": {{{}}}}})",
                     json_string(name), at.process, at.row, microseconds(at.start), microseconds(at.end - at.start), arguments));
  }

  void write_link(int link) {
    std::vector<sim::StepTimeline::Transfer> over;
    std::copy_if(timeline_.transfers.begin(), timeline_.transfers.end(), std::back_inserter(over), [&](const auto& transfer) {
      const auto links = machine_.route(transfer.from, transfer.to).links;
      return transfer.end > transfer.start && std::find(links.begin(), links.end(), link) != links.end();
    });
    std::stable_sort(over.begin(), over.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
    Lanes lanes;
    for (const sim::StepTimeline::Transfer& transfer : over) {
      const sim::StepTensor& tensor = graph_.tensor(transfer.tensor);
      const Place at{kLinks, rows_ + lanes.lane_for(transfer.start, transfer.end), transfer.start, transfer.end};
      slice(at, graph_.op(tensor.producer).name,
            fmt::format(R"("from": {}, "to": {}, "bytes": {})", json_string(machine_.device(transfer.from).name),
                        json_string(machine_.device(transfer.to).name), tensor.bytes));
    }
    for (std::size_t lane = 0; lane < lanes.count(); ++lane)
      name("thread_name", kLinks, rows_ + lane, machine_.links()[link].name + (lane > 0 ? fmt::format(" ({})", lane + 1) : ""));
    rows_ += lanes.count();
  }

  const sim::StepGraph& graph_;
  const sim::Machine& machine_;
  const sim::StepTimeline& timeline_;
  std::string text_;
  std::size_t rows_ = 0;  // of links
};

}  // namespace

std::string step_timeline_json(const sim::StepGraph& graph, const sim::Machine& machine, const sim::StepTimeline& timeline) {
  return Writer(graph, machine, timeline).write();
}

}  // namespace rehearse::report
