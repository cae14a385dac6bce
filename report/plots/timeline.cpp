#include "report/plots/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

}  // namespace rehearse::report
