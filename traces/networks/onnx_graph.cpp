#include "traces/networks/onnx_graph.hpp"

#include "sim/base/errors.hpp"

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

std::optional<std::uint64_t> next_packed(std::string_view& packed) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !packed.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(packed.front());
    packed.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> ProtobufReader::varint() { return next_packed(rest_); }

std::optional<std::uint64_t> ProtobufReader::fixed(std::size_t bytes) {
  if (rest_.size() < bytes) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
  rest_.remove_prefix(bytes);
  return value;
}

std::optional<ProtobufField> ProtobufReader::next() {
  if (rest_.empty() || damaged_) return std::nullopt;
  const auto tag = varint();
  const unsigned wire = tag ? static_cast<unsigned>(*tag & 7) : 7;
  ProtobufField field{.number = tag ? static_cast<std::uint32_t>(*tag >> 3) : 0};
  std::optional<std::uint64_t> value;
  if (wire == 0) value = varint();
  if (wire == 1) value = fixed(8);
  if (wire == 5) value = fixed(4);
  if (wire == 2) value = varint();
  if (!value || field.number == 0 || (wire == 2 && *value > rest_.size())) {
    damaged_ = true;
    return std::nullopt;
  }
  field.is_bytes = wire == 2;
  if (field.is_bytes) {
    field.bytes = rest_.substr(0, *value);
    rest_.remove_prefix(*value);
  } else {
    field.value = *value;
  }
  return field;
}

}  // namespace rehearse::traces
