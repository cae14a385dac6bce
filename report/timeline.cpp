#include "report/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/row_writer.hpp"
#include "report/svg.hpp"

namespace rehearse::report {

namespace {

constexpr PlotFrame kRowsFrame{.width = 960, .height = 480, .left = 76, .right = 150, .top = 40, .bottom = 40};
constexpr double kMostRowHeight = 14;
constexpr double kNameCharacter = 7;  // of the widest names' font, about

/// Not black, which would hide where slices meet.
std::string_view kind_colour(std::size_t kind) { return distinct_colour(kind + 1); }

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

std::string timeline_svg(const Timeline& timeline, double from_s, double to_s, const std::vector<std::string>& kinds) {
  const double rows = std::max<double>(1, static_cast<double>(timeline.rows.size()));
  const double row_height = std::min(kMostRowHeight, (kRowsFrame.height - kRowsFrame.top - kRowsFrame.bottom) / rows);
  const auto every = std::max<std::size_t>(1, static_cast<std::size_t>(12 / row_height + 1));
  double left = kRowsFrame.left;
  for (std::size_t row = 0; row < timeline.rows.size(); row += every)
    left = std::max(left, 12 + kNameCharacter * static_cast<double>(timeline.rows[row].size()));
  const double bottom = kRowsFrame.top + rows * row_height,
               scale = (kRowsFrame.width - left - kRowsFrame.right) / (to_s - from_s);
  Svg svg(kRowsFrame.width, bottom + kRowsFrame.bottom, timeline.title);
  svg.text(12, 18, timeline.title);
  for (std::size_t row = 0; row < timeline.rows.size(); row += every)
    svg.text(left - 6, kRowsFrame.top + (static_cast<double>(row) + 0.8) * row_height, timeline.rows[row], Anchor::end);
  for (const TimelineSlice& slice : timeline.slices) {
    const double begin = std::max(slice.start_s, from_s), end = std::min(slice.end_s, to_s);
    if (end > begin)
      svg.rectangle(left + (begin - from_s) * scale, kRowsFrame.top + slice.row * row_height, (end - begin) * scale, row_height,
                    {.fill = kind_colour(static_cast<std::size_t>(slice.kind))});
  }
  for (const double part : {0.0, 0.25, 0.5, 0.75, 1.0})
    svg.text(left + part * (kRowsFrame.width - left - kRowsFrame.right), bottom + 18,
             fmt::format("{:.4g} ms", 1e3 * (from_s + part * (to_s - from_s))), Anchor::middle);
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const double y = kRowsFrame.top + 12 + 20 * static_cast<double>(kind);
    svg.circle(kRowsFrame.width - kRowsFrame.right + 20, y - 4, 4, {.fill = kind_colour(kind)});
    svg.text(kRowsFrame.width - kRowsFrame.right + 30, y, kinds[kind]);
  }
  return std::move(svg).finish();
}

}  // namespace rehearse::report
