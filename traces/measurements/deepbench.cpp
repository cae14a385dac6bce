// DeepBench (Baidu, github.com/baidu-research/DeepBench), a training sheet saved as CSV: blocks of matrix products, convolutions
// and recurrent layers, each under its header line; milliseconds. The file's name tells the device. All-reduce is left out.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "traces/measurements/measurement_list.hpp"

namespace rehearse::traces {
namespace {

using workloads::Cell;
using workloads::Measurement;
using workloads::Pass;

struct Sheet {
  std::string_view part, device;
};
constexpr Sheet kSheets[] = {
    {"NV_M40", "m40"}, {"NV_TitanX", "titan-x-maxwell"}, {"NV_P100", "p100"}, {"NV_V100", "v100"}, {"KNL7250", "knl-7250"}};

enum class Block { none, gemm, conv, vanilla, lstm, gru, all_reduce };

struct Heading {
  std::string_view text;
  Block block;
};
constexpr Heading kHeadings[] = {{"Dense Matrix Multiplication", Block::gemm},   {"Convolution", Block::conv},
                                 {"Recurrent Layers - Vanilla", Block::vanilla}, {"Recurrent Layers - LSTM", Block::lstm},
                                 {"Recurrent Layers - GRU", Block::gru},         {"All-Reduce", Block::all_reduce}};

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

class SheetReader {
 public:
  SheetReader(MeasurementCollector& out, std::string device) : out_(out), device_(std::move(device)) {}

  void read(std::string_view line, std::int64_t number) {
    line_ = number;
    fields_ = split(line);
    for (const Heading& h : kHeadings)
      if (fields_[0] == h.text) block_ = h.block;
    if (fields_.size() > 8 && fields_[2] == "W") height_first_ = fields_[7].starts_with("R");  // sheets differ
    if (fields_.size() < 7 || !integer(2)) return;  // a heading, a footnote, an empty line
    if (block_ == Block::gemm) gemm();
    if (block_ == Block::conv) conv();
    if (block_ == Block::vanilla || block_ == Block::lstm || block_ == Block::gru) recurrent();
    if (block_ == Block::all_reduce) out_.leave_out(number, "an all-reduce, which is no kernel of a device");
  }

 private:
  std::optional<int> integer(std::size_t i) const {
    int value = 0;
    if (i >= fields_.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(fields_[i].data(), fields_[i].data() + fields_[i].size(), value);
    return error == std::errc{} && end == fields_[i].data() + fields_[i].size() ? std::optional(value) : std::nullopt;
  }

  /// 0 for an empty field and for "N/A*".
  double seconds(std::size_t i) const {
    double value_ms = 0;
    if (i < fields_.size()) std::from_chars(fields_[i].data(), fields_[i].data() + fields_[i].size(), value_ms);
    return value_ms / 1000;
  }

  /// `transposed` tells the transpositions of a product's two factors: " NT".
  void add(workloads::Kernel kernel, double step_s, const std::string& transposed = {}) {
    if (step_s <= 0) return out_.leave_out(line_, "a pass that was not measured (N/A or empty)");
    out_.add({.line = line_, .kernel = kernel, .device = device_, .step_s = step_s, .source = "deepbench" + transposed});
  }

  /// The fields from `first` on, all of which must be whole.
  std::optional<std::vector<int>> integers(std::size_t first, std::size_t count) {
    std::vector<int> all;
    for (std::size_t i = first; i < first + count; ++i) {
      const auto value = integer(i);
      if (!value) {
        out_.leave_out(line_, "a shape that is no whole number");
        return std::nullopt;
      }
      all.push_back(*value);
    }
    return all;
  }

  void gemm() {
    if (const auto mnk = integers(2, 3))
      add(workloads::GemmKernel{(*mnk)[0], (*mnk)[1], (*mnk)[2]}, seconds(8), fmt::format(" {}{}", fields_[5], fields_[6]));
  }

  void conv() {
    const auto whole = integers(2, 11);  // W, H, C, N, K, filter, padding, strides
    if (!whole) return;
    const std::vector<int>& v = *whole;
    const std::size_t h = height_first_ ? 0 : 1, w = 1 - h;
    workloads::ConvKernel c{.batch = v[3], .height = v[1], .width = v[0], .channels = v[2], .filters = v[4]};
    c.window = {v[5 + h], v[5 + w], v[9 + h], v[9 + w], v[7 + h], v[7 + w]};
    for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::filter_gradient}) {
      c.pass = pass;
      add(c, seconds(13 + static_cast<std::size_t>(pass)));
    }
  }

  void recurrent() {
    const auto shape = integers(2, 3);
    if (!shape) return;
    workloads::RecurrentKernel r{.batch = (*shape)[1], .hidden = (*shape)[0], .steps = (*shape)[2]};
    r.cell = block_ == Block::lstm ? Cell::lstm : block_ == Block::gru ? Cell::gru : Cell::vanilla;
    for (const Pass pass : {Pass::forward, Pass::data_gradient, Pass::filter_gradient}) {
      r.pass = pass;
      add(r, seconds(6 + static_cast<std::size_t>(pass)));
    }
  }

  MeasurementCollector& out_;
  std::string device_;
  std::vector<std::string_view> fields_;
  std::int64_t line_ = 0;
  Block block_ = Block::none;
  bool height_first_ = false;
};

}  // namespace

MeasurementList read_deepbench(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  const auto sheet = std::find_if(std::begin(kSheets), std::end(kSheets),
                                  [&](const Sheet& s) { return path.find(s.part) != std::string::npos; });
  if (sheet == std::end(kSheets) || path.find("FP32") == std::string::npos)
    throw sim::InputError({.file = path,
                           .expected = "a single-precision sheet whose name has NV_M40, NV_TitanX, NV_P100, NV_V100 or KNL7250",
                           .found = "another name"});
  const std::string text = sim::read_file(path, kMostBytes);
  MeasurementCollector out(path);
  SheetReader reader(out, std::string(sheet->device));
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    reader.read(line, ++number);
    begin = end + 1;
  }
  out.note("recurrent layers are measured without the products of their input");
  return out.finish();
}

}  // namespace rehearse::traces
