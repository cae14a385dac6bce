#include "workloads/tensorflow/tf_operations.hpp"

#include <algorithm>

namespace rehearse::workloads::tf {

using sim::Affine;
using sim::OpKind;

namespace {

constexpr Affine kScalar{kBytesPerNumber, 0};

TfSpec elementwise(std::string type) { return {.type = std::move(type), .dispatch = TfDispatch::elementwise}; }
TfSpec movement(std::string type) { return {.type = std::move(type), .dispatch = TfDispatch::movement}; }

bool equal(const Affine& a, const Affine& b) { return a.fixed == b.fixed && a.per_sample == b.per_sample; }

TfSpec product(std::string type, const sim::Op& cost) {
  const TfDispatch dispatch = cost.kind == OpKind::conv ? TfDispatch::library : TfDispatch::product;
  TfSpec spec{.type = std::move(type), .dispatch = dispatch};
  spec.cost.kind = cost.kind == OpKind::rnn ? OpKind::gemm : cost.kind;
  spec.cost.flops = cost.flops;
  spec.cost.bytes = cost.bytes;
  spec.cost.matrix = cost.matrix;
  spec.cost.relative_efficiency = cost.relative_efficiency;
  spec.cost.fast_forms = cost.fast_forms;
  spec.cost.workspace_bytes = cost.workspace_bytes;
  return spec;
}

/// What every gradient of a broadcasting operation begins with: two shapes and what to sum over.
void broadcast_args(TfBuilder& b) { b.add_metadata({"Shape", "Shape", "BroadcastGradientArgs"}); }

/// Sum and Reshape to an input's shape. Without anything to sum over the kernel hands its input on.
TfTensor reduced(TfBuilder& b, TfTensor g, const Affine& to) {
  if (equal(b.bytes(g), to)) return b.view("Reshape", b.view("Sum", g));
  return b.view("Reshape", b.make(movement("Sum"), {g}, to));
}

/// Of a reduction, back to the size of what was reduced: shapes worked out on the host, then Tile.
TfTensor tiled(TfBuilder& b, TfTensor g, const Affine& to) {
  b.add_metadata({"Shape", "Size", "add", "mod", "Shape", "range/start", "range/delta", "range", "Fill/value", "Fill",
                  "DynamicStitch", "Maximum/y", "Maximum", "floordiv"});
  return b.make(elementwise("Tile"), {b.view("Reshape", g)}, to);
}

}  // namespace

TfTensor unary(TfBuilder& b, const std::string& type, TfTensor x) {
  const TfTensor y = b.make(elementwise(type), {x}, b.bytes(x));
  b.differentiate({x}, {y}, [&b, type, x, y](const TfTensors& g) -> TfTensors {
    return {b.make(elementwise(type + "Grad"), {g[0], y}, b.bytes(x))};
  });
  return y;
}

TfTensor binary(TfBuilder& b, const std::string& type, TfTensor x, TfTensor y) {
  if (!y.exists()) y = b.make({.type = "Const"}, {}, kScalar);
  const TfTensor z = b.make(elementwise(type), {x, y}, b.bytes(x));
  b.differentiate({x, y}, {z}, [&b, type, x, y](const TfTensors& g) -> TfTensors {
    const Affine all = b.bytes(x), small = b.bytes(y);
    broadcast_args(b);
    if (type == "Add") return {reduced(b, g[0], all), reduced(b, g[0], small)};
    if (type == "Sub") {
      const TfTensor left = reduced(b, g[0], all), sum = reduced(b, g[0], small);
      return {left, b.make(elementwise("Neg"), {sum}, small)};
    }
    if (type == "Mul") {
      const TfTensor left = reduced(b, b.make(elementwise("mul"), {g[0], y}, all), all);
      return {left, reduced(b, b.make(elementwise("mul"), {x, g[0]}, all), small)};
    }
    if (type == "RealDiv") {
      const TfTensor left = reduced(b, b.make(elementwise("RealDiv"), {g[0], y}, all), all);
      TfTensor right = b.make(elementwise("Neg"), {x}, all);
      for (int i = 0; i < 2; ++i) right = b.make(elementwise("RealDiv"), {right, y}, all);
      return {left, reduced(b, b.make(elementwise("mul"), {g[0], right}, all), small)};
    }
    // SquaredDifference
    b.add_metadata({"scalar"});
    const TfTensor scaled = b.make(elementwise("Mul"), {g[0]}, all), difference = b.make(elementwise("sub"), {x, y}, all);
    const TfTensor d = b.make(elementwise("Mul"), {scaled, difference}, all);
    const TfTensor left = reduced(b, d, all), sum = reduced(b, d, small);
    return {left, b.make(elementwise("Neg"), {sum}, small)};
  });
  return z;
}

TfTensor mean(TfBuilder& b, TfTensor x, const Affine& to) {
  b.add_metadata({"reduction_indices"});
  const TfTensor y = b.make(movement("Mean"), {x}, to);
  b.differentiate({x}, {y}, [&b, x](const TfTensors& g) -> TfTensors {
    const TfTensor wide = tiled(b, g[0], b.bytes(x));
    b.add_metadata({"Shape", "Shape", "Const", "Prod", "Const", "Prod", "Maximum/y", "Maximum", "floordiv", "Cast"});
    return {b.make(elementwise("truediv"), {wide}, b.bytes(x))};
  });
  return y;
}

TfTensor reshape(TfBuilder& b, const std::string& type, TfTensor x) {
  b.add_metadata({"shape"});
  const TfTensor y = b.view(type, x);
  b.differentiate({x}, {y}, [&b](const TfTensors& g) -> TfTensors {
    b.add_metadata({"Shape"});
    return {b.view("Reshape", g[0])};
  });
  return y;
}

TfTensor transpose(TfBuilder& b, TfTensor x) {
  b.add_metadata({"perm"});
  const TfTensor y = b.make(movement("Transpose"), {x}, b.bytes(x));
  b.differentiate({x}, {y}, [&b](const TfTensors& g) -> TfTensors {
    b.add_metadata({"InvertPermutation"});
    return {b.make(movement("Transpose"), {g[0]}, b.bytes(g[0]))};
  });
  return y;
}

TfTensor stop_gradient(TfBuilder& b, TfTensor x) { return b.without_gradient(b.view("StopGradient", x)); }

namespace {

TfTensor joined(TfBuilder& b, const char* type, const TfTensors& parts) {
  Affine all;
  bool wanted = false;
  for (const TfTensor part : parts) {
    all = {all.fixed + b.bytes(part).fixed, all.per_sample + b.bytes(part).per_sample};
    wanted = wanted || b.wanted(part);
  }
  const int op = b.add(movement(type), parts);
  b.op(op).bytes = {2 * all.fixed, 2 * all.per_sample};
  return b.output(op, all, wanted);
}

/// One operation with several outputs of these sizes.
TfTensors pieces(TfBuilder& b, const char* type, TfTensor x, const std::vector<Affine>& sizes) {
  const int op = b.add(movement(type), {x});
  b.op(op).bytes = {2 * b.bytes(x).fixed, 2 * b.bytes(x).per_sample};
  TfTensors result;
  for (const Affine& size : sizes) result.push_back(b.output(op, size, b.wanted(x)));
  return result;
}

std::vector<Affine> equal_parts(const Affine& whole, int parts) {
  return std::vector<Affine>(static_cast<std::size_t>(parts), Affine{whole.fixed / parts, whole.per_sample / parts});
}

/// What is missing does not reach the loss: zeros.
TfTensors filled(TfBuilder& b, TfTensors gradients, const TfTensors& like) {
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (!gradients[i].exists()) gradients[i] = b.make(elementwise("zeros_like"), {}, b.bytes(like[i]));
  return gradients;
}

}  // namespace

TfTensor concat(TfBuilder& b, const TfTensors& parts) {
  b.add_metadata({"axis"});
  const TfTensor all = joined(b, "ConcatV2", parts);
  b.differentiate(parts, {all}, [&b, parts](const TfTensors& g) -> TfTensors {
    b.add_metadata({"Rank", "mod", "ShapeN", "ConcatOffset"});
    TfTensors sent;
    for (const TfTensor part : parts) {
      const TfTensor slice = b.make(movement("Slice"), {g[0]}, b.bytes(part));
      const Affine size = b.bytes(part);
      b.op(b.producer(slice)).bytes = {2 * size.fixed, 2 * size.per_sample};
      sent.push_back(slice);
    }
    return sent;
  });
  return all;
}

TfTensors split(TfBuilder& b, TfTensor x, int parts) {
  b.add_metadata({"split_dim"});
  const TfTensors all = pieces(b, "Split", x, equal_parts(b.bytes(x), parts));
  b.differentiate({x}, all, [&b, all](const TfTensors& g) -> TfTensors { return {joined(b, "ConcatV2", filled(b, g, all))}; });
  return all;
}

TfTensors unpack(TfBuilder& b, TfTensor x, int parts) {
  const TfTensors all = pieces(b, "Unpack", x, equal_parts(b.bytes(x), parts));
  b.differentiate({x}, all, [&b, all](const TfTensors& g) -> TfTensors { return {joined(b, "Pack", filled(b, g, all))}; });
  return all;
}

TfTensor pack(TfBuilder& b, const TfTensors& parts) {
  const TfTensor all = joined(b, "Pack", parts);
  b.differentiate(parts, {all}, [&b, parts](const TfTensors& g) -> TfTensors {
    std::vector<Affine> sizes;
    for (const TfTensor part : parts) sizes.push_back(b.bytes(part));
    return pieces(b, "Unpack", g[0], sizes);
  });
  return all;
}

TfTensor matmul(TfBuilder& b, const std::string& type, TfTensor x, TfTensor weights, const ProductCosts& costs,
                const Affine& bytes) {
  const TfTensor y = b.make(product(type, costs.forward), {x, weights}, bytes);
  b.differentiate({x, weights}, {y}, [&b, type, x, weights, costs](const TfTensors& g) -> TfTensors {
    TfTensors sent(2);
    if (b.wanted(x)) sent[0] = b.make(product(type, costs.data), {g[0], weights}, b.bytes(x));
    if (b.wanted(weights)) sent[1] = b.make(product(type, costs.weights), {x, g[0]}, b.bytes(weights));
    return sent;
  });
  return y;
}

TfTensor convolution(TfBuilder& b, const std::string& type, TfTensor x, TfTensor filters, const ProductCosts& costs,
                     const Affine& bytes) {
  b.add_metadata({"Shape", "dilation_rate"});
  const TfTensor y = b.make(product(type, costs.forward), {x, filters}, bytes);
  b.differentiate({x, filters}, {y}, [&b, x, filters, costs](const TfTensors& g) -> TfTensors {
    TfTensors sent(2);
    b.add_metadata({"Shape", "Shape"});
    if (b.wanted(x)) sent[0] = b.make(product("Conv2DBackpropInput", costs.data), {filters, g[0]}, b.bytes(x));
    sent[1] = b.make(product("Conv2DBackpropFilter", costs.weights), {x, g[0]}, b.bytes(filters));
    return sent;
  });
  return y;
}

TfTensor bias_add(TfBuilder& b, TfTensor x, TfTensor bias) {
  const TfTensor y = b.make(elementwise("BiasAdd"), {x, bias}, b.bytes(x));
  b.differentiate({x, bias}, {y}, [&b, bias](const TfTensors& g) -> TfTensors {
    return {g[0], b.make(movement("BiasAddGrad"), {g[0]}, b.bytes(bias))};
  });
  return y;
}

TfTensor l2_loss(TfBuilder& b, TfTensor x) {
  const TfTensor y = b.make(movement("L2Loss"), {x}, kScalar);
  b.differentiate({x}, {y}, [&b, x](const TfTensors& g) -> TfTensors {
    return {b.make(elementwise("mul"), {x, g[0]}, b.bytes(x))};
  });
  return y;
}

TfTensor add_n(TfBuilder& b, const TfTensors& parts) {
  const int op = b.add(elementwise("AddN"), parts);
  const TfTensor all = b.output(op, b.bytes(parts[0]), true);
  b.differentiate(parts, {all}, [n = parts.size()](const TfTensors& g) { return TfTensors(n, g[0]); });
  return all;
}

TfTensor window(TfBuilder& b, const std::string& type, TfTensor x, const Affine& bytes, bool reads_both) {
  TfSpec spec{.type = type, .dispatch = TfDispatch::library};
  spec.cost.kind = type == "LRN" ? OpKind::batch_norm : OpKind::pool;
  const TfTensor y = b.make(spec, {x}, bytes);
  b.differentiate({x}, {y}, [&b, spec, x, y, reads_both](const TfTensors& g) -> TfTensors {
    TfSpec back = spec;
    back.type += "Grad";
    if (reads_both) return {b.make(back, {x, y, g[0]}, b.bytes(x))};
    b.add_metadata({"Shape"});
    return {b.make(back, {g[0]}, b.bytes(x))};
  });
  return y;
}

TfTensor gather(TfBuilder& b, TfTensor table, TfTensor ids, const Affine& bytes) {
  TfSpec spec = movement("Gather");
  spec.cost.kind = OpKind::embedding;
  spec.cost.bytes = {2 * bytes.fixed, 2 * bytes.per_sample};
  const TfTensor y = b.make(spec, {table, ids}, bytes);
  b.differentiate({table}, {y}, [&b](const TfTensors& g) -> TfTensors {
    b.add_metadata({"Shape", "Size", "ExpandDims/dim", "ExpandDims", "strided_slice/stack", "strided_slice/stack_1",
                    "strided_slice/stack_2", "strided_slice", "concat/axis", "concat", "Reshape_indices"});
    const TfTensor rows = b.view("Reshape", g[0]);
    b.mark_rows(rows);
    return {rows};
  });
  return y;
}

TfTensor softmax(TfBuilder& b, TfTensor x) {
  TfSpec spec = movement("Softmax");
  spec.cost.kind = OpKind::softmax;
  const TfTensor y = b.make(spec, {x}, b.bytes(x));
  b.differentiate({x}, {y}, [&b, y](const TfTensors& g) -> TfTensors {  // (g - sum(g y)) y
    const TfTensor weighted = b.make(elementwise("mul"), {g[0], y}, b.bytes(y));
    b.add_metadata({"Sum/reduction_indices", "Reshape/shape"});
    const TfTensor sum = b.view("Reshape", b.make(movement("Sum"), {weighted}, kScalar));
    const TfTensor rest = b.make(elementwise("sub"), {g[0], sum}, b.bytes(y));
    return {b.make(elementwise("mul"), {rest, y}, b.bytes(y))};
  });
  return y;
}

TfTensor cross_entropy(TfBuilder& b, TfTensor x, const Affine& bytes) {
  b.add_metadata({"labels", "Shape"});
  TfSpec spec = movement("SparseSoftmaxCrossEntropyWithLogits");
  spec.cost.kind = OpKind::softmax;
  spec.cost.bytes = {2 * b.bytes(x).fixed, 2 * b.bytes(x).per_sample};
  const int op = b.add(spec, {x});
  const TfTensor losses = b.output(op, bytes, b.wanted(x)), kept = b.output(op, b.bytes(x), false);
  b.differentiate({x}, {losses}, [&b, kept](const TfTensors& g) -> TfTensors {
    b.add_metadata({"PreventGradient", "ExpandDims/dim"});
    const TfTensor column = b.view("ExpandDims", g[0]);
    return {b.make(elementwise("mul"), {column, kept}, b.bytes(kept))};
  });
  return losses;
}

TfTensor dropout(TfBuilder& b, TfTensor x) {
  const Affine size = b.bytes(x);
  b.add_metadata({"keep_prob", "Shape", "random_uniform/min", "random_uniform/max"});
  TfTensor mask = b.make(movement("RandomUniform"), {}, size);
  for (const char* type : {"random_uniform/sub", "random_uniform/mul", "random_uniform", "add", "Floor"})
    mask = std::string_view(type).ends_with("sub") ? (b.add_metadata({type}), mask)
                                                   : b.make(elementwise(type), {mask}, b.bytes(mask));
  return binary(b, "Mul", binary(b, "RealDiv", x), mask);
}

}  // namespace rehearse::workloads::tf
