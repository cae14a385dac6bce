#include "traces/networks/subject_json.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "sim/io/file.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/shown.hpp"
#include "traces/networks/network_file.hpp"

namespace rehearse::traces {
namespace {

using sim::between;
using workloads::Cell;
using workloads::Overloaded;
using workloads::Pass;

const std::vector<std::string> kCells{"vanilla", "gru", "lstm"};                          // in Cell's order
const std::vector<std::string> kBlocks{"plain", "residual", "bottleneck", "factorised"};  // in Block's order
const std::vector<std::string> kPasses{"forward", "data_gradient", "filter_gradient", "backward"};

int count(sim::ObjectReader& in, std::string_view key, int low, std::optional<std::int64_t> fallback = {}) {
  return static_cast<int>(in.integer(key, between(low, 1e6), fallback));
}

/// A list of `size` whole numbers.
std::vector<int> whole_numbers(sim::JsonValue value, std::size_t size, int low, sim::Mistakes& mistakes) {
  std::vector<int> numbers;
  if (value.is_array() && value.size() == size)
    for (const sim::JsonValue element : value.elements())
      numbers.push_back(static_cast<int>(read_integer(element, between(low, 1e7), mistakes)));
  else
    value.refuse(fmt::format("a list of {} whole numbers", size), mistakes);
  numbers.resize(size, 1);
  return numbers;
}

/// Height and width.
std::pair<int, int> pair_of(sim::ObjectReader& in, std::string_view key, int low, int fallback, sim::Mistakes& mistakes) {
  const auto child = in.child(key);
  if (!child) return {fallback, fallback};
  const std::vector<int> both = whole_numbers(*child, 2, low, mistakes);
  return {both[0], both[1]};
}

workloads::ConvKernel read_conv(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  workloads::ConvKernel c;
  c.batch = count(in, "batch", 1);
  c.height = count(in, "height", 1);
  c.width = count(in, "width", 1);
  c.channels = count(in, "channels", 1);
  c.filters = count(in, "filters", 1);
  std::tie(c.window.height, c.window.width) = pair_of(in, "kernel", 1, 1, mistakes);
  std::tie(c.window.stride_height, c.window.stride_width) = pair_of(in, "stride", 1, 1, mistakes);
  std::tie(c.window.pad_height, c.window.pad_width) = pair_of(in, "pad", 0, 0, mistakes);
  c.pass = static_cast<Pass>(in.choice("pass", kPasses, 0));
  in.finish();
  if (c.height + 2 * c.window.pad_height < c.window.height || c.width + 2 * c.window.pad_width < c.window.width)
    value.refuse("a window that fits into the padded image", mistakes);
  return c;
}

workloads::RecurrentKernel read_recurrent(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  workloads::RecurrentKernel r;
  r.cell = static_cast<Cell>(in.choice("cell", kCells, 2));
  r.batch = count(in, "batch", 1);
  r.hidden = count(in, "hidden", 1);
  r.steps = count(in, "steps", 1);
  r.pass = static_cast<Pass>(in.choice("pass", kPasses, 0));
  in.finish();
  return r;
}

workloads::ElementwiseKernel read_elementwise(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  workloads::ElementwiseKernel e;
  e.numbers = in.integer("numbers", between(1, 1e12));
  e.inputs = count(in, "inputs", 1, e.inputs);
  in.finish();
  return e;
}

workloads::RowsKernel read_rows(sim::JsonValue value, workloads::RowsOf what, sim::Mistakes& mistakes) {
  const std::vector<int> shape = whole_numbers(value, 2, 1, mistakes);
  return {.what = what, .rows = shape[0], .length = shape[1]};
}

}  // namespace

workloads::CnnStructure read_cnn(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  workloads::CnnStructure s;
  s.conv_layers = count(in, "conv_layers", 1, s.conv_layers);
  s.filters = count(in, "filters", 1, s.filters);
  s.kernel = count(in, "kernel", 1, s.kernel);
  s.layers_per_pool = count(in, "layers_per_pool", 1, s.layers_per_pool);
  s.dense_layers = count(in, "dense_layers", 0, s.dense_layers);
  s.nodes = count(in, "nodes", 1, s.nodes);
  s.image_height = count(in, "image_height", 1, s.image_height);
  s.image_width = count(in, "image_width", 1, s.image_width);
  s.channels = count(in, "channels", 1, s.channels);
  s.classes = count(in, "classes", 1, s.classes);
  s.batch_norm = in.boolean("batch_norm", s.batch_norm);
  s.block = static_cast<workloads::Block>(in.choice("block", kBlocks, 0));
  in.finish();
  return s;
}

workloads::RnnStructure read_rnn(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  workloads::RnnStructure s;
  s.cell = static_cast<Cell>(in.choice("cell", kCells, 2));
  s.layers = count(in, "layers", 1, s.layers);
  s.hidden = count(in, "hidden", 1, s.hidden);
  s.steps = count(in, "steps", 1, s.steps);
  s.vocabulary = count(in, "vocabulary", 0, s.vocabulary);
  s.features = count(in, "features", 1, s.features);
  s.classes = count(in, "classes", 1, s.classes);
  s.bidirectional = in.boolean("bidirectional", s.bidirectional);
  s.classify_every_step = in.boolean("classify_every_step", s.classify_every_step);
  in.finish();
  return s;
}

workloads::MlpStructure read_mlp(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  workloads::MlpStructure s;
  s.inputs = count(in, "inputs", 1, s.inputs);
  s.layers = count(in, "layers", 0, s.layers);
  s.nodes = count(in, "nodes", 1, s.nodes);
  s.classes = count(in, "classes", 1, s.classes);
  in.finish();
  return s;
}

workloads::Structure read_structure(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  const auto cnn = in.child("cnn"), rnn = in.child("rnn"), mlp = in.child("mlp");
  in.finish();
  if (cnn.has_value() + rnn.has_value() + mlp.has_value() != 1) {
    value.refuse("exactly one of cnn, rnn and mlp", mistakes);
    return workloads::MlpStructure{};
  }
  if (cnn) return read_cnn(*cnn, mistakes);
  if (rnn) return read_rnn(*rnn, mistakes);
  return read_mlp(*mlp, mistakes);
}

workloads::MeasuredNetwork read_measured_network(sim::JsonValue value, std::string_view text, const std::string& folder,
                                                 sim::Mistakes& mistakes) {
  for (const sim::JsonMember member : value.members()) {
    if (member.key.text() == "layers") return workloads::GivenNetwork{std::string(text), read_layers(value)};
    if (member.key.text() != "file") continue;
    if (value.size() > 1 || !member.value.is_string()) {
      value.refuse("a file's path, and nothing beside it", mistakes);
      return workloads::MlpStructure{};
    }
    const std::string path = (member.value.text().starts_with('/') ? "" : folder) + std::string(member.value.text());
    sim::require_regular(path);
    return workloads::GivenNetwork{fmt::format(R"({{"file": {}}})", sim::json_string(path)), read_network(path)};
  }
  return std::visit([](const auto& s) -> workloads::MeasuredNetwork { return s; }, read_structure(value, mistakes));
}

workloads::Kernel read_kernel(sim::JsonValue value, sim::Mistakes& mistakes) {
  sim::ObjectReader in(value, mistakes);
  const auto gemm = in.child("gemm"), conv = in.child("conv"), rnn = in.child("rnn"), elementwise = in.child("elementwise"),
             softmax = in.child("softmax"), layer_norm = in.child("layer_norm");
  in.finish();
  if (gemm.has_value() + conv.has_value() + rnn.has_value() + elementwise.has_value() + softmax.has_value() +
          layer_norm.has_value() !=
      1) {
    value.refuse("exactly one of gemm, conv, rnn, elementwise, softmax and layer_norm", mistakes);
    return workloads::GemmKernel{1, 1, 1};
  }
  if (conv) return read_conv(*conv, mistakes);
  if (rnn) return read_recurrent(*rnn, mistakes);
  if (elementwise) return read_elementwise(*elementwise, mistakes);
  if (softmax) return read_rows(*softmax, workloads::RowsOf::softmax, mistakes);
  if (layer_norm) return read_rows(*layer_norm, workloads::RowsOf::layer_norm, mistakes);
  const bool is_batched = gemm->is_array() && gemm->size() == 4;
  const std::vector<int> mnk = whole_numbers(*gemm, is_batched ? 4 : 3, 1, mistakes);
  return workloads::GemmKernel{mnk[0], mnk[1], mnk[2], is_batched ? mnk[3] : 1};
}

std::string to_json(const workloads::Structure& structure) {
  return std::visit(
      Overloaded{[](const workloads::CnnStructure& s) {
                   return fmt::format(
                       R"({{"cnn": {{"conv_layers": {}, "filters": {}, "kernel": {}, "layers_per_pool": {}, )"
                       R"("dense_layers": {}, "nodes": {}, "image_height": {}, "image_width": {}, "channels": {}, )"
                       R"("classes": {}, "batch_norm": {}, "block": "{}"}}}})",
                       s.conv_layers, s.filters, s.kernel, s.layers_per_pool, s.dense_layers, s.nodes, s.image_height,
                       s.image_width, s.channels, s.classes, s.batch_norm, kBlocks[static_cast<std::size_t>(s.block)]);
                 },
                 [](const workloads::RnnStructure& s) {
                   return fmt::format(R"({{"rnn": {{"cell": "{}", "layers": {}, "hidden": {}, "steps": {}, "vocabulary": {}, )"
                                      R"("features": {}, "classes": {}, "bidirectional": {}, "classify_every_step": {}}}}})",
                                      kCells[static_cast<std::size_t>(s.cell)], s.layers, s.hidden, s.steps, s.vocabulary,
                                      s.features, s.classes, s.bidirectional, s.classify_every_step);
                 },
                 [](const workloads::MlpStructure& s) {
                   return fmt::format(R"({{"mlp": {{"inputs": {}, "layers": {}, "nodes": {}, "classes": {}}}}})", s.inputs,
                                      s.layers, s.nodes, s.classes);
                 }},
      structure);
}

std::string to_json(const workloads::MeasuredNetwork& network) {
  return std::visit(Overloaded{[](const workloads::GivenNetwork& given) { return given.json; },
                               [](const auto& structure) { return to_json(workloads::Structure(structure)); }},
                    network);
}

std::string to_json(const workloads::Kernel& kernel) {
  return std::visit(
      Overloaded{[](const workloads::GemmKernel& g) {
                   return fmt::format(R"({{"gemm": [{}, {}, {}{}]}})", g.m, g.n, g.k,
                                      g.count > 1 ? fmt::format(", {}", g.count) : "");
                 },
                 [](const workloads::ConvKernel& c) {
                   const workloads::Window& w = c.window;
                   return fmt::format(R"({{"conv": {{"batch": {}, "height": {}, "width": {}, "channels": {}, "filters": {}, )"
                                      R"("kernel": [{}, {}], "stride": [{}, {}], "pad": [{}, {}], "pass": "{}"}}}})",
                                      c.batch, c.height, c.width, c.channels, c.filters, w.height, w.width, w.stride_height,
                                      w.stride_width, w.pad_height, w.pad_width, kPasses[static_cast<std::size_t>(c.pass)]);
                 },
                 [](const workloads::RecurrentKernel& r) {
                   return fmt::format(R"({{"rnn": {{"cell": "{}", "batch": {}, "hidden": {}, "steps": {}, "pass": "{}"}}}})",
                                      kCells[static_cast<std::size_t>(r.cell)], r.batch, r.hidden, r.steps,
                                      kPasses[static_cast<std::size_t>(r.pass)]);
                 },
                 [](const workloads::ElementwiseKernel& e) {
                   return fmt::format(R"({{"elementwise": {{"numbers": {}, "inputs": {}}}}})", e.numbers, e.inputs);
                 },
                 [](const workloads::RowsKernel& r) {
                   return fmt::format(R"({{"{}": [{}, {}]}})", r.what == workloads::RowsOf::softmax ? "softmax" : "layer_norm",
                                      r.rows, r.length);
                 }},
      kernel);
}

}  // namespace rehearse::traces
