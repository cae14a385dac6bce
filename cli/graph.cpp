#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "cli/commands.hpp"
#include "cli/network_words.hpp"
#include "cli/say.hpp"
#include "policies/place/groups.hpp"
#include "report/graph_dot.hpp"
#include "report/table.hpp"
#include "scenarios/read/catalogue.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/output_file.hpp"
#include "sim/step/op_graph.hpp"
#include "traces/graphs/graph_json.hpp"
#include "traces/graphs/profiled_graph.hpp"
#include "traces/networks/network_file.hpp"
#include "workloads/layers/structure.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/steps/op_time.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/tensorflow/tensorflow.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::cli {

namespace {

sim::Device device_named(const GraphArguments& arguments) {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  sim::Mistakes mistakes;
  for (const std::string& file : arguments.catalogues) catalogue.add_file(file, mistakes);
  mistakes.throw_if_any();
  if (const sim::Device* device = catalogue.find_device(arguments.device)) return *device;
  throw sim::InputError({.expected = "the name of a device",
                         .found = "\"" + arguments.device + "\"",
                         .nearest = sim::nearest_name(arguments.device, catalogue.device_names())});
}

/// A line for each layer but losses, and one of all.
void print_layers(const workloads::Network& network) {
  const workloads::NetworkAccount account = account_of(network);
  const auto number = [](double n) { return sim::grouped(static_cast<std::int64_t>(n)); };
  std::vector<std::vector<std::string>> rows{{"layer", "kind", "output", "weights", "multiply-adds"}};
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    const workloads::Layer& layer = network.layers[i];
    const workloads::LayerAccount& of = account.of_layer[i];
    if (std::holds_alternative<workloads::Loss>(layer.spec)) continue;
    rows.push_back({sim::printable(layer.name), std::string(kind_name(layer.spec)), shape_words(of.output),
                    layer.shares < 0 ? number(of.weights) : "shared", number(of.multiply_adds)});
  }
  rows.push_back({"all", "", "", number(account.weights), number(account.multiply_adds)});
  say("{}\n{}\n", report::aligned(rows, {true, true, true, false, false}), read_words(account));
}

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

void print_kinds(const sim::OpGraph& graph, double batch, const std::vector<double>& seconds) {
  say("{:<14}{:>10}{:>14}{:>14}{:>14}\n", "kind", "operations", "GFLOP", "MB", "ms");
  for (std::size_t kind = 0; kind < traces::kOpKinds.size(); ++kind) {
    int count = 0;
    double flops = 0, bytes = 0, time_s = 0;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      const sim::Op& op = graph.ops[i];
      if (static_cast<std::size_t>(op.kind) != kind) continue;
      ++count;
      flops += op.flops.at(batch);
      bytes += op.bytes.at(batch);
      time_s += seconds[i];
    }
    if (count > 0)
      say("{:<14}{:>10}{:>14.3f}{:>14.1f}{:>14.3f}\n", traces::kOpKinds[kind], count, flops / 1e9, bytes / 1e6, 1e3 * time_s);
  }
}

void print_times(double all_s, double path_s, std::size_t path_ops, const std::string& device) {
  say("one after the other on {}: {:.3f} ms; critical path: {:.3f} ms, {} operations: at most {:.2f} times as fast\n", device,
      1e3 * all_s, 1e3 * path_s, path_ops, path_s > 0 ? all_s / path_s : 1.0);
}

/// What belongs together, or joins of it.
policies::Groups print_groups(const policies::GroupableGraph& graph, int count) {
  const policies::Groups given = colocate(graph, policies::ChainRule::none), chains = colocate(graph);
  say("groups: {} of operations that belong together, {} by chains, {} by single consumers", given.count, chains.count,
      colocate(graph, policies::ChainRule::single_consumer).count);
  const policies::Groups groups = count > 0 ? coarsen(graph, chains, count) : chains;
  if (count > 0) say(", {} after coarsening", groups.count);
  say("\n");
  return groups;
}

/// One node a group: those left by --groups in colours of their own.
void write_dot(const GraphArguments& arguments, const report::DotGraph& graph, const policies::Groups& groups) {
  std::vector<std::string> names;
  std::vector<int> colours(static_cast<std::size_t>(groups.count), -1);
  if (arguments.groups > 0) std::iota(colours.begin(), colours.end(), 0);
  if (arguments.groups > 0)
    for (int i = 0; i < groups.count; ++i) names.push_back(fmt::format("group {}", i));
  sim::write_file(arguments.dot, to_dot(grouped(graph, groups.of_op), colours, names));
}

/// `read`: the layers that the graph is of; null where there are none.
void show(const GraphArguments& arguments, const sim::OpGraph& graph, workloads::Optimizer optimizer,
          const workloads::Network* read) {
  const sim::Device device = device_named(arguments);
  if (read != nullptr) print_layers(*read);
  const double batch = arguments.batch;
  std::vector<double> seconds;
  double flops = 0, bytes = 0;
  for (const sim::Op& op : graph.ops) {
    const bool computes = op.kind != sim::OpKind::variable;
    seconds.push_back(computes ? workloads::op_duration_s(workloads::work_of(op), device, {.batch = batch}) : 0);
    flops += op.flops.at(batch);
    bytes += op.bytes.at(batch);
  }
  say("{}, batch {}{}: {} operations, {} edges\n\n", graph.name, batch, arguments.unroll ? ", unrolled" : "", graph.ops.size(),
      graph.edges.size());
  print_kinds(graph, batch, seconds);
  say("\n{:.3f} GFLOP, {:.1f} MB moved, {:.2f} M parameters\n", flops / 1e9, bytes / 1e6, graph.parameters / 1e6);
  const workloads::MemoryModel memory(graph, optimizer);
  say("memory: {:.2f} GB on one device, context included; tensors alive at once, in this order: {:.2f} GB\n",
      memory.bytes(batch) / 1e9, peak_tensor_bytes(graph, batch) / 1e9);
  const sim::LongestPath path = longest_path(graph, seconds);
  print_times(sum(seconds), path.length, path.ops.size(), device.name);
  const policies::Groups groups = print_groups(policies::groupable(graph, batch, seconds), arguments.groups);
  if (!arguments.json.empty()) sim::write_file(arguments.json, traces::to_json(graph));
  if (!arguments.dot.empty()) write_dot(arguments, report::dot_graph(graph, batch), groups);
}

void show(const GraphArguments& arguments, const traces::ProfiledGraph& profiled) {
  const sim::StepGraph graph = step_graph(profiled, "accelerator", "cpu");
  sim::OpGraph shape;
  std::vector<double> seconds;
  double bytes = 0;
  for (const traces::ProfiledOp& op : profiled.ops) {
    shape.ops.emplace_back();
    seconds.push_back(op.accelerator_s);
    bytes += op.resident_bytes;
  }
  for (int tensor = 0; tensor < graph.tensors(); ++tensor)
    for (int reader : graph.readers_of(tensor)) shape.edges.push_back({graph.tensor(tensor).producer, reader, {}});
  say("{}: {} operations, {} edges, {:.2f} GB resident", profiled.name, seconds.size(), profiled.edges.size(), bytes / 1e9);
  if (profiled.accelerators > 0)
    say("; planned for {} accelerators of {:.2f} GB and {} CPUs", profiled.accelerators, profiled.accelerator_memory_bytes / 1e9,
        profiled.cpus);
  say("\n");
  const sim::LongestPath path = longest_path(shape, seconds);
  print_times(sum(seconds), path.length, path.ops.size(), "the accelerator");
  const policies::Groups groups = print_groups(policies::groupable(graph, 0), arguments.groups);
  if (!arguments.dot.empty()) write_dot(arguments, report::dot_graph(graph), groups);
}

constexpr std::array kDispatchNames{"metadata", "elementwise", "movement", "product", "library"};

/// Beside the paper's.
void print_counts(const workloads::TensorFlowGraph& made, std::string_view model, const policies::Groups& groups) {
  std::array<int, kDispatchNames.size()> count{};
  for (const workloads::TfOpFacts& op : made.facts) ++count[static_cast<std::size_t>(op.dispatch)];
  say("host: ");
  for (std::size_t i = 0; i < count.size(); ++i) say("{}{} {}", i == 0 ? "" : ", ", count[i], kDispatchNames[i]);
  say("\ngraph: {} operations, of which a step runs {}", made.operations(), made.graph.ops.size());
  if (const workloads::PaperCounts* paper = workloads::paper_counts(model))
    say(" (Mirhoseini et al. 2017: {}, {:+.1f} %), {} groups by chains (there: {})", paper->operations,
        100.0 * (made.operations() - paper->operations) / paper->operations, groups.count, paper->groups);
  say("\n");
}

void show_tensorflow(const GraphArguments& arguments) {
  const workloads::SequenceShape shape{arguments.layers, arguments.hidden, arguments.steps, arguments.vocabulary,
                                       arguments.dropout};
  const workloads::TensorFlowGraph made = workloads::tensorflow_graph(arguments.model, arguments.dataset, shape);
  const sim::OpGraph& graph = made.graph;
  const sim::Device device = device_named(arguments);
  const double batch = arguments.batch;
  std::vector<double> seconds;
  double flops = 0, bytes = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const bool runs = made.facts[i].dispatch != workloads::TfDispatch::metadata;
    seconds.push_back(
        runs ? workloads::op_duration_s(workloads::work_of(graph.ops[i]), device, {.batch = batch, .launch_factor = 0}) : 0);
    flops += graph.ops[i].flops.at(batch);
    bytes += graph.ops[i].bytes.at(batch);
  }
  say("{} in TensorFlow's operations, batch {}: {} operations, {} edges\n\n", graph.name, batch, graph.ops.size(),
      graph.edges.size());
  print_kinds(graph, batch, seconds);
  say("\n{:.3f} GFLOP, {:.1f} MB moved, {:.2f} M parameters in {} variables\n", flops / 1e9, bytes / 1e6, graph.parameters / 1e6,
      made.variables);
  const sim::LongestPath path = longest_path(graph, seconds);
  print_times(sum(seconds), path.length, path.ops.size(), device.name + ", the host aside");
  const policies::GroupableGraph groupable = policies::groupable(graph, batch, seconds, workloads::kLeastTensorBytes);
  const policies::Groups groups = print_groups(groupable, arguments.groups);
  print_counts(made, arguments.model, colocate(groupable));
  if (!arguments.json.empty()) sim::write_file(arguments.json, traces::to_json(graph));
  if (!arguments.dot.empty()) write_dot(arguments, report::dot_graph(graph, batch), groups);
}

void refuse_granularity(const GraphArguments& arguments) {
  if (arguments.granularity != "layers" && (arguments.format != "native" || traces::names_file(arguments.model)))
    throw sim::InputError({.expected = "--granularity with a model of the zoo", .found = arguments.model});
  if (arguments.granularity == "layers" &&
      (arguments.layers != 0 || arguments.hidden != 0 || arguments.steps != 0 || arguments.vocabulary != 0 || arguments.dropout))
    throw sim::InputError(sim::Mistake{.expected = "--layers, --hidden, --steps and --vocabulary with --granularity tensorflow",
                                       .found = "layers"});
}

void refuse_json(const GraphArguments& arguments) {
  if (!arguments.json.empty())
    throw sim::InputError({.expected = "--json with a model or a graph of our own", .found = arguments.format});
}

void show_native(const GraphArguments& arguments) {
  if (!traces::names_file(arguments.model)) {
    const workloads::Network network = workloads::zoo_network(arguments.model, arguments.dataset);
    return show(arguments, workloads::zoo_graph(arguments.model, arguments.dataset, arguments.unroll),
                workloads::zoo_entry(arguments.model).optimizer, &network);
  }
  const traces::NetworkOrGraph read = traces::read_network_or_graph(arguments.model);
  const workloads::Network* network = std::get_if<workloads::Network>(&read);
  show(arguments, network != nullptr ? build_graph(*network, {.unroll = arguments.unroll}) : std::get<sim::OpGraph>(read),
       workloads::Optimizer::momentum, network);
}

}  // namespace

int graph_command(const GraphArguments& arguments) {
  refuse_granularity(arguments);
  if (arguments.granularity == "tensorflow") {
    show_tensorflow(arguments);
  } else if (arguments.format == "pipedream") {
    refuse_json(arguments);
    show(arguments, traces::read_pipedream_graph(arguments.model));
  } else if (arguments.format == "dnn-partitioning") {
    refuse_json(arguments);
    show(arguments, traces::read_dnn_partitioning_graph(arguments.model));
  } else {
    show_native(arguments);
  }
  return kOk;
}

}  // namespace rehearse::cli
