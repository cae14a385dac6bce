#include "traces/networks/onnx_graph.hpp"

#include "sim/base/errors.hpp"
#include "traces/networks/protobuf.hpp"

namespace rehearse::traces {
namespace {

/// Calls `take` for every field; throws where the message is damaged.
template <class Take>
void each_field(std::string_view message, const std::string& file, Take&& take) {
  ProtobufReader reader(message);
  while (const auto field = reader.next()) take(*field);
  if (reader.is_damaged())
    throw sim::InputError(
        {.file = file, .expected = "an ONNX model (Protocol Buffers)", .found = "bytes that are none, or damaged"});
}

void add_numbers(const ProtobufField& field, std::vector<std::int64_t>& numbers) {
  if (!field.is_bytes) return numbers.push_back(static_cast<std::int64_t>(field.value));
  std::string_view packed = field.bytes;
  while (const auto one = next_packed(packed)) numbers.push_back(static_cast<std::int64_t>(*one));
}

void read_attribute(std::string_view message, const std::string& file, OnnxNode& node) {
  std::string name, text;
  std::vector<std::int64_t> numbers;
  each_field(message, file, [&](const ProtobufField& f) {
    if (f.number == 1) name = f.bytes;
    if (f.number == 3 || f.number == 8) add_numbers(f, numbers);  // i, ints
    if (f.number == 4) text = f.bytes;
  });
  if (!numbers.empty()) node.numbers[name] = std::move(numbers);
  if (!text.empty()) node.texts[name] = std::move(text);
}

OnnxNode read_node(std::string_view message, const std::string& file) {
  OnnxNode node;
  each_field(message, file, [&](const ProtobufField& f) {
    if (f.number == 1) node.inputs.emplace_back(f.bytes);
    if (f.number == 2) node.outputs.emplace_back(f.bytes);
    if (f.number == 3) node.name = f.bytes;
    if (f.number == 4) node.type = f.bytes;
    if (f.number == 5) read_attribute(f.bytes, file, node);
  });
  if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs.front();
  return node;
}

void read_weight(std::string_view message, const std::string& file, OnnxGraph& graph) {
  std::string name;
  std::vector<std::int64_t> sizes;
  each_field(message, file, [&](const ProtobufField& f) {
    if (f.number == 1) add_numbers(f, sizes);
    if (f.number == 8) name = f.bytes;
  });
  graph.weights[name] = std::move(sizes);
}

/// ValueInfoProto: name 1, type 2 {tensor_type 1 {shape 2 {dim 1 {dim_value 1}}}}.
void read_input(std::string_view message, const std::string& file, OnnxGraph& graph) {
  std::string name;
  std::vector<std::int64_t> sizes;
  const auto dimension = [&](const ProtobufField& dim) {
    std::int64_t size = 0;
    each_field(dim.bytes, file, [&](const ProtobufField& f) {
      if (f.number == 1) size = static_cast<std::int64_t>(f.value);
    });
    sizes.push_back(size);
  };
  each_field(message, file, [&](const ProtobufField& f) {
    if (f.number == 1) name = f.bytes;
    if (f.number != 2) return;
    each_field(f.bytes, file, [&](const ProtobufField& type) {
      if (type.number != 1) return;
      each_field(type.bytes, file, [&](const ProtobufField& tensor) {
        if (tensor.number == 2) each_field(tensor.bytes, file, dimension);
      });
    });
  });
  graph.inputs[name] = std::move(sizes);
}

}  // namespace

std::int64_t OnnxNode::number(const std::string& key, std::int64_t fallback) const {
  const auto found = numbers.find(key);
  return found == numbers.end() ? fallback : found->second.front();
}

OnnxGraph read_onnx_graph(std::string_view bytes, const std::string& file) {
  OnnxGraph graph;
  each_field(bytes, file, [&](const ProtobufField& model) {
    if (model.number != 7 || !model.is_bytes) return;
    each_field(model.bytes, file, [&](const ProtobufField& f) {
      if (f.number == 1) graph.nodes.push_back(read_node(f.bytes, file));
      if (f.number == 2) graph.name = f.bytes;
      if (f.number == 5) read_weight(f.bytes, file, graph);
      if (f.number == 11) read_input(f.bytes, file, graph);
    });
  });
  for (const auto& [name, sizes] : graph.weights) graph.inputs.erase(name);  // old files list weights among the inputs
  if (graph.nodes.empty()) throw sim::InputError({.file = file, .expected = "an ONNX model with nodes", .found = "none"});
  return graph;
}

}  // namespace rehearse::traces
