// NeuSight (Lee, Phanishayee and Mahajan, "Forecasting GPU Performance for Deep Learning Training and Inference", ASPLOS 2025):
// times of single forward kernels, PyTorch 2.1, single precision without TF32. One file of all its devices and operations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/io/csv.hpp"
#include "traces/measurements/measurement_list.hpp"

namespace rehearse::traces {
namespace {

using workloads::Measurement;

struct TimedDevice {
  std::string_view theirs, device;
};
constexpr TimedDevice kTimedDevices[] = {{"Tesla P4", "p4"},
                                         {"Tesla P100-PCIE-16GB", "p100"},
                                         {"Tesla T4", "t4"},
                                         {"Tesla V100-PCIE-32GB", "v100-pcie-32gb"},
                                         {"NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"}};
// With two tensors read, and with one: a scalar, or a function of each number.
constexpr std::string_view kOfTwo[] = {"add", "mul", "div", "pow"};
constexpr std::string_view kOfOne[] = {"addu", "mulu", "divu", "powu", "relu", "gelu", "tanh"};
constexpr double kMost = 1e9;

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

int whole(sim::CsvRow& row, std::string_view column) { return static_cast<int>(row.integer(column, sim::between(1, kMost))); }

/// Refuses the row where it is none.
workloads::Kernel timed_kernel(sim::CsvRow& row) {
  const std::string_view op = row.text("op");
  if (op == "linear" || op == "bmm") {
    // A linear layer multiplies all rows of its batch by the same weights: one product.
    const double rows = static_cast<double>(whole(row, "b")) * whole(row, "m");
    if (op == "linear" && rows > kMost) row.refuse("m", "fewer rows than 1e9");
    if (op == "linear") return workloads::GemmKernel{static_cast<int>(std::min(rows, kMost)), whole(row, "n"), whole(row, "k")};
    return workloads::GemmKernel{whole(row, "m"), whole(row, "n"), whole(row, "k"), whole(row, "b")};
  }
  const int rows = whole(row, "b"), length = whole(row, "h");
  if (op == "softmax") return workloads::RowsKernel{workloads::RowsOf::softmax, rows, length};
  if (op == "ln") return workloads::RowsKernel{workloads::RowsOf::layer_norm, rows, length};
  if (!is_one_of(op, kOfTwo) && !is_one_of(op, kOfOne)) row.refuse("op", "linear, bmm, softmax, ln or an element-wise one");
  return workloads::ElementwiseKernel{std::int64_t{rows} * length, is_one_of(op, kOfTwo) ? 2 : 1};
}

}  // namespace

MeasurementList read_neusight(const std::string& path) {
  sim::CsvReader reader(path, {.required = {"op", "device", "b", "h", "m", "n", "k", "latency_ms"}});
  MeasurementCollector out(path);
  while (sim::CsvRow* row = reader.next()) {
    const auto device = std::ranges::find(kTimedDevices, row->text("device"), &TimedDevice::theirs);
    if (device == std::end(kTimedDevices)) {
      out.leave_out(row->line(), fmt::format("a device that is not known: {}", row->text("device")));
      continue;
    }
    Measurement m{.line = row->line(), .kernel = timed_kernel(*row), .device = std::string(device->device)};
    m.step_s = row->number("latency_ms", sim::above(0)) / 1000;
    m.source = "neusight pytorch-2";
    if (row->mistakes().empty()) {
      out.add(std::move(m));
      continue;
    }
    const sim::Mistake& first = row->mistakes().front();
    out.leave_out(row->line(), fmt::format("{}: expected {}, found {}", first.pointer, first.expected, first.found));
  }
  out.note("forward kernels in single precision, the mean over repetitions");
  return out.finish();
}

}  // namespace rehearse::traces
