#include "workloads/tensorflow/tensorflow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/base/errors.hpp"
#include "workloads/tensorflow/tf_layers.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::workloads {

namespace {

using sim::Affine;
using sim::Phase;

// Operations of the graph that no training step runs.
constexpr int kRandomInitialiser = 7;  // shape, two parameters, the random numbers, mul, add; Assign
constexpr int kConstantInitialiser = 2;
constexpr int kSaver = 4;  // tensor_names, shape_and_slices, RestoreV2, Assign

const char* apply_name(Optimizer optimizer) {
  return optimizer == Optimizer::adam ? "ApplyAdam" : optimizer == Optimizer::momentum ? "ApplyMomentum" : "ApplyGradientDescent";
}

class TensorFlowStep {
 public:
  TensorFlowStep(const Network& network, const TensorFlowOptions& options)
      : network_(network), options_(options), b_(network), layers_(network, b_) {}

  TensorFlowGraph build() {
    layers_.forward();
    b_.gradients(total_loss());
    for (TfBuilder::Variable& variable : b_.variables()) {
      b_.made().outside_step += kSaver + (variable.spec.random ? kRandomInitialiser : kConstantInitialiser);
      if (variable.spec.trained) update(variable);
    }
    share_flops();
    b_.made().graph.input_bytes = {0, options_.stored_bytes_per_sample};
    return std::move(b_.made());
  }

 private:
  /// Of all losses, and of weight decay.
  TfTensor total_loss() {
    TfTensors losses = layers_.losses();
    if (losses.empty()) losses.push_back(b_.make({.type = "zeros"}, {}, fixed(kBytesPerNumber)));
    const TfPlace here = b_.place();
    for (const auto& [matrix, layer] : layers_.matrices()) {
      if (!options_.weight_decay) break;
      b_.enter({layer, 0, Phase::forward});  // get_variable puts it beside the variable
      losses.push_back(tf::binary(b_, "Mul", tf::l2_loss(b_, matrix)));
    }
    b_.enter(here);
    return losses.size() == 1 ? losses[0] : tf::add_n(b_, losses);
  }

  void update(TfBuilder::Variable& variable) {
    b_.enter({variable.place.layer, variable.place.step, Phase::backward});
    const TfTensor gradient = b_.gradient_of(variable.read);
    if (!gradient.exists()) return;
    const int slots = optimizer_slots(options_.optimizer);
    b_.add_slots(variable, slots);
    b_.made().outside_step += slots * (kConstantInitialiser + 1 + kSaver);
    b_.enter({variable.place.layer, variable.place.step, Phase::update});
    const bool rows = b_.is_rows(gradient);
    if (rows)
      b_.add_metadata(
          {"Unique", "Shape", "strided_slice/stack", "strided_slice/stack_1", "strided_slice/stack_2", "strided_slice"});
    TfTensor applied = gradient;
    if (rows) applied = b_.make({.type = "UnsortedSegmentSum", .dispatch = TfDispatch::movement}, {gradient}, b_.bytes(gradient));
    TfSpec spec{.type = (rows ? "Sparse" : "") + std::string(apply_name(options_.optimizer)),
                .dispatch = TfDispatch::elementwise};
    spec.cost.kind = sim::OpKind::update;
    // Adam of rows decays the moments of all of the table.
    const bool all = !rows || options_.optimizer == Optimizer::adam;
    const double passes = 3.0 + 2.0 * slots;
    spec.cost.bytes = all ? fixed(passes * kBytesPerNumber * variable.spec.numbers)
                          : Affine{passes * b_.bytes(gradient).fixed, passes * b_.bytes(gradient).per_sample};
    std::vector<int> after = variable.slots;
    after.push_back(variable.op);
    const int apply = b_.add(spec, std::span(&applied, 1), after);
    if (options_.running_parameters) average(variable, apply);
  }

  /// tf.train.ExponentialMovingAverage, after the update.
  void average(const TfBuilder::Variable& variable, int apply) {
    b_.made().outside_step += kConstantInitialiser + 1 + kSaver;
    b_.add_metadata({"ExponentialMovingAverage", "decay", "sub/x"});
    TfSpec spec{.type = "sub", .dispatch = TfDispatch::elementwise};
    const double bytes = kBytesPerNumber * variable.spec.numbers;
    spec.cost.bytes = fixed(3 * bytes);
    const int difference = b_.add(spec, {}, std::span(&apply, 1));
    spec.type = "mul";
    spec.cost.bytes = fixed(2 * bytes);
    const TfTensor from = b_.output(difference, fixed(bytes), false);
    const TfTensor step = b_.make(spec, {from}, fixed(bytes));
    spec.type = "AssignSub";
    spec.cost.bytes = fixed(3 * bytes);
    b_.add(spec, {step});
  }

  /// FLOPs beside products are the layer's; its operations have them in proportion to the bytes that they move.
  void share_flops() {
    const sim::OpGraph layers = build_graph(network_, {.optimizer = options_.optimizer, .unroll = true});
    std::map<std::pair<int, Phase>, Affine> missing;
    for (const sim::Op& op : layers.ops) add(missing[{op.layer, op.phase}], op.flops, 1);
    std::map<std::pair<int, Phase>, std::vector<std::pair<std::size_t, Affine>>> takers;
    sim::OpGraph& made = b_.made().graph;
    for (std::size_t i = 0; i < made.ops.size(); ++i) {
      const std::pair key{made.ops[i].layer, made.ops[i].phase};
      add(missing[key], made.ops[i].flops, -1);
      const TfDispatch dispatch = b_.made().facts[i].dispatch;
      if (dispatch != TfDispatch::product && made.ops[i].kind != sim::OpKind::conv) takers[key].push_back({i, made.ops[i].bytes});
    }
    for (const auto& [key, flops] : missing) {
      double all = 0;
      for (const auto& [op, bytes] : takers[key]) all += bytes.at(1);
      for (const auto& [op, bytes] : takers[key]) {
        const double share = all > 0 ? bytes.at(1) / all : 1.0 / static_cast<double>(takers[key].size());
        add(made.ops[op].flops, {std::max(0.0, flops.fixed), std::max(0.0, flops.per_sample)}, share);
      }
    }
  }

  static void add(Affine& to, const Affine& what, double times) {
    to.fixed += times * what.fixed;
    to.per_sample += times * what.per_sample;
  }

  const Network& network_;
  const TensorFlowOptions& options_;
  TfBuilder b_;
  TfLayers layers_;
};

}  // namespace

TensorFlowGraph build_tensorflow_graph(const Network& network, const TensorFlowOptions& options) {
  return TensorFlowStep(network, options).build();
}

namespace {

constexpr PaperCounts kPaperCounts[] = {{"rnnlm", 8943, 188}, {"nmt", 22097, 280}, {"inception-v3", 31180, 83}};

SequenceShape completed(SequenceShape shape, const SequenceShape& by) {
  for (int SequenceShape::*size :
       {&SequenceShape::layers, &SequenceShape::hidden, &SequenceShape::steps, &SequenceShape::vocabulary})
    if (shape.*size == 0) shape.*size = by.*size;
  return shape;
}

}  // namespace

const PaperCounts* paper_counts(std::string_view model) {
  const auto found =
      std::find_if(std::begin(kPaperCounts), std::end(kPaperCounts), [&](const auto& c) { return c.model == model; });
  return found == std::end(kPaperCounts) ? nullptr : found;
}

TensorFlowGraph zoo_tensorflow_graph(std::string_view model, std::string_view dataset) {
  const ZooEntry& entry = zoo_entry(model);
  const Dataset& data = workloads::dataset(dataset.empty() ? entry.dataset : dataset);
  // Weight decay: every CNN's publication trains with it. Running averages: Szegedy et al. 2016, section 8.
  return build_tensorflow_graph(entry.build(data), {.optimizer = entry.optimizer,
                                                    .stored_bytes_per_sample = data.bytes_per_sample,
                                                    .weight_decay = entry.task == Task::image_classification,
                                                    .running_parameters = model == "inception-v3"});
}

TensorFlowGraph tensorflow_graph(std::string_view model, std::string_view dataset, const SequenceShape& shape) {
  const bool sequences = model == "rnnlm" || model == "nmt";
  if (sequences && !dataset.empty())
    throw sim::InputError(sim::Mistake{.expected = fmt::format("no dataset: {} in TensorFlow's operations has sizes", model),
                                       .found = std::string(dataset)});
  if (!sequences && shape != SequenceShape())
    throw sim::InputError(sim::Mistake{.expected = "sizes of rnnlm or nmt alone", .found = std::string(model)});
  if (!sequences) return zoo_tensorflow_graph(model, dataset);
  const Network network = model == "rnnlm" ? language_model(shape) : translation_model(shape);
  return build_tensorflow_graph(network, {.optimizer = zoo_entry(model).optimizer});
}

sim::OpGraph computing_operations(const TensorFlowGraph& made) {
  sim::OpGraph graph{.name = made.graph.name,
                     .ops = {},
                     .edges = {},
                     .parameters = made.graph.parameters,
                     .input_bytes = made.graph.input_bytes};
  std::vector<int> kept(made.graph.ops.size(), -1);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (made.facts[i].dispatch == TfDispatch::metadata) continue;
    kept[i] = static_cast<int>(graph.ops.size());
    graph.ops.push_back(made.graph.ops[i]);
  }
  for (const sim::Edge& edge : made.graph.edges) {
    const int from = kept[static_cast<std::size_t>(edge.from)], to = kept[static_cast<std::size_t>(edge.to)];
    if (from >= 0 && to >= 0) graph.edges.push_back({from, to, edge.bytes});
  }
  return graph;
}

Network language_model(SequenceShape shape) {
  shape = completed(shape, {.layers = 2, .hidden = 2048, .steps = 40, .vocabulary = 10'000});
  Network net{"rnnlm", {}};
  net.add("tokens", Input{{1, shape.steps, 1}});
  net.add("embedding", Embedding{shape.vocabulary, shape.hidden});
  for (int i = 1; i <= shape.layers; ++i) {
    if (shape.dropout) net.add(fmt::format("dropout{}", i), Dropout{});
    net.add(fmt::format("lstm{}", i), Recurrent{Cell::lstm, shape.hidden});
  }
  if (shape.dropout) net.add("dropout", Dropout{});
  net.add("classifier", Dense{shape.vocabulary});
  net.add("loss", Loss{});
  return net;
}

Network translation_model(SequenceShape shape) {
  shape = completed(shape, {.layers = 2, .hidden = 1024, .steps = 40, .vocabulary = 30'000});
  Network net{"nmt", {}};
  net.add("source", Input{{1, shape.steps, 1}});
  int memory = net.add("source/embedding", Embedding{shape.vocabulary, shape.hidden});
  for (int i = 1; i <= shape.layers; ++i) memory = net.add(fmt::format("encoder{}", i), Recurrent{Cell::lstm, shape.hidden});
  net.add("target", Input{{1, shape.steps, 1}});
  net.add("target/embedding", Embedding{shape.vocabulary, shape.hidden});
  int state = net.add("decoder1", Recurrent{Cell::lstm, shape.hidden});
  const int query = net.add("attention/query", Dense{shape.hidden, false}, {state});
  const int key = net.add("attention/key", Dense{shape.hidden, false}, {memory});
  const int context = net.add("attention", Attention{1}, {query, key, memory});
  for (int i = 2; i <= shape.layers; ++i) {
    net.add(fmt::format("decoder{}/concat", i), Concat{}, {state, context});
    state = net.add(fmt::format("decoder{}", i), Recurrent{Cell::lstm, shape.hidden});
  }
  if (shape.layers == 1) state = net.add("answer", Concat{}, {state, context});
  net.add("classifier", Dense{shape.vocabulary}, {state});
  net.add("loss", Loss{});
  return net;
}

}  // namespace rehearse::workloads
