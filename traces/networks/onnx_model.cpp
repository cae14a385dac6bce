// ONNX files by the ONNX project's own library (libonnx-dev): the only source that includes it. Where it is missing,
// onnx_model_missing.cpp is compiled instead.
#define ONNX_NAMESPACE onnx
#define ONNX_ML 1
#include <fmt/format.h>
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "sim/base/errors.hpp"
#include "traces/networks/onnx_graph.hpp"

namespace rehearse::traces {
namespace {

/// The numbers of a small tensor: ONNX has them in a field of their type, or as they lie in memory.
template <class Number>
std::vector<double> raw_numbers(const std::string& raw, std::size_t count) {
  std::vector<double> numbers;
  if (raw.size() != count * sizeof(Number)) return numbers;
  for (std::size_t i = 0; i < count; ++i) {
    Number one;
    std::memcpy(&one, raw.data() + i * sizeof(Number), sizeof(Number));
    numbers.push_back(static_cast<double>(one));
  }
  return numbers;
}

std::vector<double> numbers_of(const onnx::TensorProto& t, std::size_t count) {
  using T = onnx::TensorProto;
  const auto list = [](const auto& field) { return std::vector<double>(field.begin(), field.end()); };
  const bool raw = t.has_raw_data();
  switch (t.data_type()) {
    case T::FLOAT:
      return raw ? raw_numbers<float>(t.raw_data(), count) : list(t.float_data());
    case T::DOUBLE:
      return raw ? raw_numbers<double>(t.raw_data(), count) : list(t.double_data());
    case T::INT64:
      return raw ? raw_numbers<std::int64_t>(t.raw_data(), count) : list(t.int64_data());
    case T::INT32:
      return raw ? raw_numbers<std::int32_t>(t.raw_data(), count) : list(t.int32_data());
    case T::BOOL:
    case T::UINT8:
      return raw ? raw_numbers<std::uint8_t>(t.raw_data(), count) : list(t.int32_data());
    default:
      return {};
  }
}

OnnxValue value_of(const onnx::TensorProto& tensor) {
  OnnxValue value{.shape = OnnxShape(tensor.dims().begin(), tensor.dims().end()), .type = tensor.data_type(), .constant = true};
  const std::int64_t count = onnx_elements(*value.shape);
  if (count < 0 || count > kOnnxMostNumbers || tensor.data_location() == onnx::TensorProto::EXTERNAL) return value;
  std::vector<double> numbers = numbers_of(tensor, static_cast<std::size_t>(count));
  if (numbers.size() == static_cast<std::size_t>(count)) value.numbers = std::move(numbers);
  return value;
}

void read_attribute(const onnx::AttributeProto& a, OnnxNode& node) {
  using A = onnx::AttributeProto;
  const auto one = [](double x) { return OnnxValue{.shape = OnnxShape{}, .type = 1, .constant = true, .numbers = {{x}}}; };
  const auto many = [](const auto& list, int type) {
    return OnnxValue{.shape = OnnxShape{list.size()},
                     .type = type,
                     .constant = true,
                     .numbers = std::vector<double>(list.begin(), list.end())};
  };
  if (a.type() == A::GRAPH || a.type() == A::GRAPHS || a.has_g() || a.graphs_size() > 0) node.has_graph = true;
  if (a.has_i()) node.numbers[a.name()] = {a.i()};
  if (a.ints_size() > 0 || a.type() == A::INTS) node.numbers[a.name()] = {a.ints().begin(), a.ints().end()};
  if (a.has_f()) node.reals[a.name()] = {a.f()};
  if (a.floats_size() > 0) node.reals[a.name()] = {a.floats().begin(), a.floats().end()};
  if (a.has_s()) node.texts[a.name()] = a.s();
  if (a.has_t()) node.tensor = value_of(a.t());
  if (node.type != "Constant") return;
  if (a.name() == "value_float") node.tensor = one(a.f());
  if (a.name() == "value_int") node.tensor = {.shape = OnnxShape{}, .type = 7, .constant = true, .numbers = {{double(a.i())}}};
  if (a.name() == "value_floats") node.tensor = many(a.floats(), 1);
  if (a.name() == "value_ints") node.tensor = many(a.ints(), 7);
}

OnnxNode node_of(const onnx::NodeProto& proto) {
  OnnxNode node{.name = proto.name(),
                .type = proto.op_type(),
                .domain = proto.domain() == "ai.onnx" ? "" : proto.domain(),
                .inputs = {proto.input().begin(), proto.input().end()},
                .outputs = {proto.output().begin(), proto.output().end()}};
  for (const onnx::AttributeProto& attribute : proto.attribute()) read_attribute(attribute, node);
  if (node.name.empty())
    for (const std::string& output : node.outputs)
      if (node.name.empty()) node.name = output;
  return node;
}

OnnxDeclared declared_of(const onnx::ValueInfoProto& info) {
  OnnxDeclared value{.name = info.name()};
  if (!info.type().has_tensor_type()) return value;
  value.type = info.type().tensor_type().elem_type();
  if (!info.type().tensor_type().has_shape()) return value;
  value.shape.emplace();
  for (const auto& dimension : info.type().tensor_type().shape().dim()) {
    const bool fixed = dimension.has_dim_value() && dimension.dim_value() > 0;
    value.shape->push_back(fixed ? dimension.dim_value() : -1);
    value.symbols.push_back(fixed ? "" : dimension.dim_param());
  }
  return value;
}

onnx::TypeProto type_of(const OnnxValue& value) {
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(value.type == 0 ? onnx::TensorProto::FLOAT : value.type);
  if (!value.shape) return type;
  onnx::TensorShapeProto& shape = *type.mutable_tensor_type()->mutable_shape();
  for (const std::int64_t size : *value.shape) shape.add_dim()->set_dim_value(size);
  return type;
}

onnx::TensorProto tensor_of(const OnnxValue& value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(value.type);
  for (const std::int64_t size : *value.shape) tensor.add_dims(size);
  for (const double x : *value.numbers) {
    if (value.type == onnx::TensorProto::FLOAT)
      tensor.add_float_data(static_cast<float>(x));
    else if (value.type == onnx::TensorProto::DOUBLE)
      tensor.add_double_data(x);
    else if (value.type == onnx::TensorProto::INT64)
      tensor.add_int64_data(onnx_whole(x));
    else
      tensor.add_int32_data(static_cast<std::int32_t>(onnx_whole(x)));
  }
  return tensor;
}

/// What one node's shape rule asks for.
class NodeContext final : public onnx::InferenceContext {
 public:
  NodeContext(const onnx::NodeProto& node, const std::map<std::string, OnnxValue>& values)
      : node_(node), types_(node.input_size()), data_(node.input_size()), outputs_(node.output_size()) {
    for (int i = 0; i < node.input_size(); ++i) {
      const auto found = values.find(node.input(i));
      if (node.input(i).empty() || found == values.end()) continue;
      types_[i] = type_of(found->second);
      if (found->second.numbers && found->second.shape && found->second.type != 0) data_[i] = tensor_of(found->second);
    }
  }
  const onnx::AttributeProto* getAttribute(const std::string& name) const override {
    for (const onnx::AttributeProto& attribute : node_.attribute())
      if (attribute.name() == name) return &attribute;
    return nullptr;
  }
  size_t getNumInputs() const override { return types_.size(); }
  const onnx::TypeProto* getInputType(size_t i) const override { return i < types_.size() && types_[i] ? &*types_[i] : nullptr; }
  const onnx::TensorProto* getInputData(size_t i) const override { return i < data_.size() && data_[i] ? &*data_[i] : nullptr; }
  size_t getNumOutputs() const override { return outputs_.size(); }
  /// Rules write to outputs that a damaged node lacks.
  onnx::TypeProto* getOutputType(size_t i) override { return i < outputs_.size() ? &outputs_[i] : &spare_; }
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string&) override { return nullptr; }
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t) const override { return nullptr; }

  std::vector<OnnxValue> outputs() const {
    std::vector<OnnxValue> values;
    for (const onnx::TypeProto& type : outputs_) {
      OnnxValue& value = values.emplace_back();
      if (!type.has_tensor_type()) continue;
      value.type = type.tensor_type().elem_type();
      if (!type.tensor_type().has_shape()) continue;
      OnnxShape shape;
      for (const auto& dimension : type.tensor_type().shape().dim())
        if (dimension.has_dim_value()) shape.push_back(dimension.dim_value());
      if (static_cast<int>(shape.size()) == type.tensor_type().shape().dim_size()) value.shape = std::move(shape);
    }
    return values;
  }

 private:
  const onnx::NodeProto& node_;
  std::vector<std::optional<onnx::TypeProto>> types_;
  std::vector<std::optional<onnx::TensorProto>> data_;
  std::vector<onnx::TypeProto> outputs_;
  onnx::TypeProto spare_;
};

}  // namespace

struct OnnxModel::Library {
  onnx::ModelProto model;
  std::map<std::string, std::int64_t> opsets;  // by domain
};

OnnxModel::OnnxModel(std::string_view bytes, const std::string& file) : library_(std::make_unique<Library>()) {
  onnx::ModelProto& model = library_->model;
  if (bytes.size() > std::numeric_limits<int>::max())
    throw sim::InputError(
        sim::Mistake{.file = file,
                     .expected = "a file below 2 GiB; save its weights beside it (onnx.save with save_as_external_data=True)",
                     .found = fmt::format("{} bytes", bytes.size())});
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw sim::InputError(
        sim::Mistake{.file = file, .expected = "an ONNX model (Protocol Buffers)", .found = "bytes that are none, or damaged"});
  for (const auto& set : model.opset_import()) library_->opsets[set.domain() == "ai.onnx" ? "" : set.domain()] = set.version();
  const onnx::GraphProto& graph = model.graph();
  graph_.name = graph.name();
  graph_.opset = library_->opsets.contains("") ? library_->opsets[""] : 1;
  for (const onnx::NodeProto& node : graph.node()) graph_.nodes.push_back(node_of(node));
  if (graph_.nodes.empty())
    throw sim::InputError(sim::Mistake{.file = file, .expected = "an ONNX model with nodes", .found = "none"});
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    OnnxValue value = value_of(tensor);
    value.origin = tensor.name();
    graph_.values[tensor.name()] = std::move(value);
  }
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer())
    graph_.values[sparse.values().name()] = {.shape = OnnxShape(sparse.dims().begin(), sparse.dims().end()),
                                             .type = sparse.values().data_type(),
                                             .constant = true,
                                             .origin = sparse.values().name()};
  model.mutable_graph()->clear_initializer();  // the weights take most of the memory
  for (const onnx::ValueInfoProto& info : graph.input()) {
    if (graph_.values.contains(info.name())) continue;  // old files list weights among the inputs
    graph_.inputs.push_back(info.name());
    inputs_.push_back(declared_of(info));
  }
  for (const onnx::ValueInfoProto& info : graph.value_info()) declared_.push_back(declared_of(info));
  for (const onnx::ValueInfoProto& info : graph.output()) {
    graph_.outputs.push_back(info.name());
    declared_.push_back(declared_of(info));
  }
}

OnnxModel::~OnnxModel() = default;

std::int64_t OnnxModel::newest_opset() {
  const auto& versions = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  const auto found = versions.find(onnx::ONNX_DOMAIN);
  return found == versions.end() ? 0 : found->second.second;
}

std::vector<OnnxValue> OnnxModel::infer(std::size_t node, const std::map<std::string, OnnxValue>& values) const {
  const onnx::NodeProto& proto = library_->model.graph().node(static_cast<int>(node));
  const std::string domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  const auto opset = library_->opsets.find(domain);
  const int version = opset == library_->opsets.end() ? 1 : static_cast<int>(std::min<std::int64_t>(opset->second, 1 << 20));
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(proto.op_type(), version, domain);
  NodeContext context(proto, values);
  if (schema == nullptr) return context.outputs();
  const auto strides = graph_.nodes[node].numbers.find("strides");  // the library divides by them
  if (strides != graph_.nodes[node].numbers.end() && std::ranges::any_of(strides->second, [](std::int64_t n) { return n < 1; }))
    throw sim::InputError(sim::Mistake{.expected = "strides of at least 1", .found = "others"});
  for (int i = 0; i < schema->min_input(); ++i)  // rules read them unasked
    if (context.getInputType(static_cast<std::size_t>(i)) == nullptr)
      throw sim::InputError(sim::Mistake{.expected = fmt::format("at least {} inputs", schema->min_input()), .found = "fewer"});
  if (proto.op_type().find("Conv") != std::string::npos) {  // the library takes the number of sides from the weights and reads as many of the image
    const auto* image = context.getInputType(0);
    const auto* weights = context.getInputType(proto.op_type() == "QLinearConv" ? 3 : 1);
    if (image != nullptr && weights != nullptr && image->tensor_type().shape().dim_size() != weights->tensor_type().shape().dim_size())
      throw sim::InputError(sim::Mistake{.expected = "weights of as many dimensions as the input", .found = "others"});
  }
  try {
    schema->GetTypeAndShapeInferenceFunction()(context);
  } catch (const std::exception& error) {
    throw sim::InputError(sim::Mistake{.expected = error.what(), .found = "other inputs"});
  }
  return context.outputs();
}

}  // namespace rehearse::traces
