// Graph files: what is written reads back, what others wrote is read, and hostile ones are refused with their place.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/step/step_timer.hpp"
#include "traces/graphs/graph_json.hpp"
#include "traces/graphs/profiled_graph.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse::traces;
namespace sim = rehearse::sim;
namespace workloads = rehearse::workloads;
namespace fs = std::filesystem;

namespace {

class File {
 public:
  explicit File(const std::string& text)
      : path_(fs::temp_directory_path() / ("rehearse_graph_" + std::to_string(::getpid()) + ".graph.txt")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() { fs::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

/// Every mistake in one text; empty when there is none.
std::string refused(const std::function<void()>& read) {
  try {
    read();
  } catch (const sim::InputError& error) {
    return error.what();
  }
  return {};
}

std::string native_mistakes(const std::string& ops) {
  const std::string text = R"({"format": "rehearse-graph-1", "name": "g", "ops": [)" + ops + "]}";
  return refused([&] { parse_graph(text, "g.json"); });
}
std::string pipedream_mistakes(const std::string& text) {
  const File file(text);
  return refused([&] { read_pipedream_graph(file.path()); });
}
std::string partitioning_mistakes(const std::string& nodes, const std::string& edges) {
  const File file(R"({"maxSizePerFPGA": 1e9, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [)" + nodes + R"(], "edges": [)" + edges +
                  "]}");
  return refused([&] { read_dnn_partitioning_graph(file.path()); });
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

std::string node(const std::string& name, const std::string& costs) { return name + " -- ReLU(inplace) -- " + costs + "\n"; }
const std::string kCosts =
    "forward_compute_time=2.000, backward_compute_time=3.000, activation_size=100.000, parameter_size=10.000";

std::string vertex(int id, const std::string& more = R"("size": 4)") {
  return R"({"name": "n)" + std::to_string(id) + R"(", "id": )" + std::to_string(id) +
         R"(, "supportedOnFpga": 1, "cpuLatency": 20, "fpgaLatency": 2, "isBackwardNode": false, )" + more + "}";
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}
std::string arc(int from, int to) {
  return R"({"sourceId": )" + std::to_string(from) + R"(, "destId": )" + std::to_string(to) + R"(, "cost": 0.5, "size": 8})";
}

}  // namespace

TEST_CASE("every zoo graph, plain and unrolled, reads back as it was written", "[graph_files]") {
  for (const workloads::ZooEntry& entry : workloads::zoo())
    for (const bool unroll : {false, true}) {
      if (unroll && entry.task == workloads::Task::speech_recognition) continue;  // 20,000 operations tell nothing new
      INFO(entry.name);
      const sim::OpGraph graph = workloads::zoo_graph(entry.name, {}, unroll);
      const std::string text = to_json(graph);
      const sim::OpGraph again = parse_graph(text, "g.json");
      CHECK(to_json(again) == text);
      REQUIRE(again.ops.size() == graph.ops.size());
      REQUIRE(again.edges.size() == graph.edges.size());
      CHECK(again.parameters == graph.parameters);
      const sim::Op &a = graph.ops[graph.ops.size() / 2], &b = again.ops[graph.ops.size() / 2];
      CHECK(a.name == b.name);
      CHECK(a.kind == b.kind);
      CHECK(a.phase == b.phase);
      CHECK(a.flops.at(7) == b.flops.at(7));
      CHECK(a.fast_forms.size() == b.fast_forms.size());
      CHECK(a.output_shape == b.output_shape);
      CHECK(a.matrix.k.at(7) == b.matrix.k.at(7));
    }
}

TEST_CASE("a small graph of our own, in any order", "[graph_files]") {
  const sim::OpGraph graph = parse_graph(R"({"format": "rehearse-graph-1", "name": "g", "input_bytes": [0, 5], "ops": [
      {"name": "last", "type": "softmax", "flops": [1, 2], "inputs": [{"from": "first", "bytes": [0, 8]}]},
      {"name": "first", "type": "gemm", "flops": 6, "parameter_bytes": 40, "matrix": {"m": [0, 1], "n": 2, "k": 3}}]})",
                                         "g.json");
  REQUIRE(graph.ops.size() == 2);
  CHECK(graph.ops[0].name == "first");
  CHECK(graph.ops[1].flops.at(10) == 21);
  CHECK(graph.parameters == 10);
  REQUIRE(graph.edges.size() == 1);
  CHECK(graph.edges[0].from == 0);
  CHECK(graph.edges[0].bytes.at(2) == 16);
}

TEST_CASE("hostile graphs of our own format", "[graph_files]") {
  const std::string a = R"({"name": "alpha", "type": "conv"})";
  CHECK(native_mistakes(a) == "");
  CHECK(has(native_mistakes(""), "at least one operation"));
  CHECK(has(native_mistakes(a + "," + a), "/ops/1/name: expected a name that no operation before has"));
  CHECK(has(native_mistakes(a + R"(,{"name": "b", "type": "conv", "inputs": [{"from": "alpah"}]})"),
            "/ops/1/inputs/0/from: expected the name of an operation, found \"alpah\"; did you mean \"alpha\"?"));
  CHECK(has(native_mistakes(R"({"name": "a", "type": "conv", "flops": -1})"), "/ops/0/flops"));
  CHECK(has(native_mistakes(R"({"name": "a", "type": "conv", "bytes": [0, -4]})"), "/ops/0/bytes/1"));
  CHECK(has(native_mistakes(R"({"name": "a", "type": "conv", "repeats": 0})"), "/ops/0/repeats"));
  CHECK(has(native_mistakes(R"({"name": "a", "type": "convv"})"), "did you mean \"conv\"?"));
  CHECK(has(native_mistakes(R"({"name": "a", "type": "conv", "flopz": 1})"), "flopz"));
  CHECK(has(native_mistakes(R"({"name": "a", "type": "gemm", "matrix": {"m": 1, "n": 0, "k": 1}})"), "above 0"));
  CHECK(has(native_mistakes(R"({"name": "a", "type": "conv", "inputs": [{"from": "a"}]})"), "a cycle through \"a\""));
  const std::string cycle = native_mistakes(
      R"({"name": "x", "type": "conv"}, {"name": "y", "type": "conv", "inputs": [{"from": "x"}, {"from": "z"}]},
         {"name": "z", "type": "conv", "inputs": [{"from": "y"}]})");
  CHECK((has(cycle, "a cycle through \"y\", \"z\"") || has(cycle, "a cycle through \"z\", \"y\"")));
  CHECK(has(refused([] { parse_graph(R"({"format": "rehearse-graph-2", "name": "g", "ops": []})", "g.json"); }), "/format"));

  // Cut anywhere, it is no graph.
  const std::string whole = to_json(workloads::zoo_graph("resnet32"));
  for (std::size_t size = 0; size + 2 < whole.size(); size += 997)
    CHECK(refused([&] { parse_graph(whole.substr(0, size), "g.json"); }) != "");
}

TEST_CASE("a PipeDream profile of three layers, by hand", "[graph_files]") {
  const std::string lstm =
      "c -- LSTM(2, 1) -- forward_compute_time=1.0, backward_compute_time=0.5, activation_size=[70.0; 20.0; 10.0], "
      "parameter_size=0.0\n";
  const File file(node("b", kCosts) + node("a", kCosts) + lstm + "\ta -- b\n\ta -- c\n\tb -- c\n");
  const ProfiledGraph graph = read_pipedream_graph(file.path());
  REQUIRE(graph.ops.size() == 6);
  std::vector<std::string> names;
  for (const ProfiledOp& op : graph.ops) names.push_back(op.name);
  CHECK(names == std::vector<std::string>{"a", "b", "c", "c/gradient", "b/gradient", "a/gradient"});
  CHECK(graph.ops[0].accelerator_s == Approx(0.002));
  CHECK(graph.ops[0].cpu_s == Approx(0.02));
  CHECK(graph.ops[0].resident_bytes == 3 * 10);  // parameters, gradients, momentum
  CHECK(graph.ops[2].type == "LSTM");
  CHECK(graph.ops[5].accelerator_s == Approx(0.003));
  CHECK(graph.ops[5].colour == graph.ops[0].colour);
  // Three forward, each with its gradient back and its input read again, and c's output to its own gradient.
  CHECK(graph.edges.size() == 3 * 3 + 1);
  CHECK(std::count_if(graph.edges.begin(), graph.edges.end(),
                      [](auto& e) { return e.from == 2 && e.to == 3 && e.bytes == 100; }) == 1);

  // Equal tensors of one producer are one: a's output goes to b, c and their gradients.
  const sim::StepGraph step = step_graph(graph, "k80", "cpu");
  CHECK(step.ops() == 6);
  CHECK(step.readers_of(step.first_tensor(0)).size() == 4);
  CHECK(step.duration(0, 0) == sim::ticks_up(0.002));
  CHECK(step.op(5).group == step.op(0).group);
  CHECK(read_pipedream_graph(file.path(), {.training = false}).ops.size() == 3);
}

TEST_CASE("hostile PipeDream profiles name the line", "[graph_files]") {
  const std::string two = node("a", kCosts) + node("b", kCosts);
  CHECK(pipedream_mistakes(two + "\ta -- b\n") == "");
  CHECK(has(pipedream_mistakes(""), "at least one operation"));
  CHECK(has(pipedream_mistakes("\n \n"), "at least one operation"));
  CHECK(has(pipedream_mistakes(two + "\ta -- c\n"), ":3: expected a node of this file, found \"c\""));
  CHECK(has(pipedream_mistakes(two + "\ta b\n"), ":3: expected NODE -- NODE"));
  CHECK(has(pipedream_mistakes(two + node("a", kCosts) + "\ta -- b\n"),
            ":3: expected a node that no line before has, found \"a\""));
  CHECK(has(pipedream_mistakes(two + "\ta -- b\n\tb -- a\n"), "a graph without cycles"));
  CHECK(has(pipedream_mistakes(two + "\ta -- a\n\ta -- b\n"), "a cycle through \"a\""));
  CHECK(has(pipedream_mistakes(two), "expected an edge at every operation, found none at \"a\""));
  CHECK(
      has(pipedream_mistakes(node("a", "forward_compute_time=-1, backward_compute_time=0, activation_size=0, parameter_size=0")),
          ":1: expected KEY=VALUE with a value of at least 0, found \"forward_compute_time=-1\""));
  for (const char* bad : {"nan", "inf", "1e999", "", "1.0x", "[1; 2", "[1; x]"}) {
    const std::string costs = kCosts.substr(0, kCosts.rfind('=') + 1) + bad;
    CHECK(has(pipedream_mistakes(node("a", costs)), ":1: expected KEY=VALUE"));
  }
  // Cut at any byte of the second line.
  for (std::size_t size = two.size() / 2 + 2; size + 8 < two.size(); ++size) CHECK(pipedream_mistakes(two.substr(0, size)) != "");
}

TEST_CASE("dnn-partitioning: a graph and its split", "[graph_files]") {
  const File file(R"({"maxSizePerFPGA": 1e9, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [)" +
                  vertex(7, R"("size": 4, "colorClass": 3)") + "," + vertex(5) + R"(], "edges": [)" + arc(5, 7) + "]}");
  const ProfiledGraph graph = read_dnn_partitioning_graph(file.path());
  REQUIRE(graph.ops.size() == 2);
  CHECK(graph.ops[0].id == 5);
  CHECK(graph.ops[0].colour == -1);
  CHECK(graph.ops[1].colour == 3);
  CHECK(graph.ops[1].accelerator_s == Approx(0.002));
  CHECK(graph.edges[0].transfer_s == Approx(0.0005));
  CHECK(graph.accelerators == 2);
  CHECK(step_graph(graph, "fpga", "cpu").tensor(0).held);
  const auto split = [&](const std::string& text) {
    const std::string path = file.path() + ".split";
    std::ofstream(path) << text;
    return read_dnn_partitioning_split(path, graph);
  };
  CHECK(split(R"({"fpgas": [{"nodes": []}, {"load": 1, "nodes": [5]}], "cpus": [{"nodes": [7]}], "maxLoad": -1})") ==
        std::vector<int>{1, 2});
  const auto wrong = [&](const std::string& fpgas) {
    return refused([&] { split(R"({"fpgas": [)" + fpgas + R"(], "cpus": []})"); });
  };
  CHECK(has(wrong(R"({"nodes": [5]})"), "none for node 7"));
  CHECK(has(wrong(R"({"nodes": [5, 7, 5]})"), "/fpgas/0/nodes/2: expected a node that is placed once"));
  CHECK(has(wrong(R"({"nodes": [5, 7, 8]})"), "/fpgas/0/nodes/2: expected the id of a node of the graph, found 8"));
  CHECK(has(wrong(R"({"nodes": [5, 7]}, {"nodes": []}, {"nodes": []})"), "at most the graph's 2"));
  fs::remove(file.path() + ".split");
}

TEST_CASE("dnn-partitioning: times of operations are milliseconds, costs of edges are if nothing else is said", "[graph_files]") {
  // 2 ms on an accelerator, 20 ms on a CPU; the edge costs 0.5 and has 8 bytes.
  const File file(R"({"maxSizePerFPGA": 1e9, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [)" + vertex(5) + "," + vertex(7) +
                  R"(], "edges": [)" + arc(5, 7) + "]}");
  for (const double unit_s : {1e-3, 1.0}) {
    const ProfiledGraph graph = read_dnn_partitioning_graph(file.path(), unit_s);
    CHECK(graph.ops[0].accelerator_s == Approx(0.002));
    CHECK(graph.ops[0].cpu_s == Approx(0.02));
    CHECK(graph.edges[0].transfer_s == Approx(0.5 * unit_s));
    // On the machine that the file plans for: 2 ms, the transfer over the accelerator's link alone, 20 ms on the CPU.
    const sim::Machine machine = planned_machine(graph);
    const sim::StepGraph step = planned_step_graph(graph);
    const double makespan_s = sim::make_fast_timer(step, machine)->time({.device_of_op = std::vector{0, 2}}).makespan_s();
    CHECK(makespan_s == Approx(0.002 + 0.5 * unit_s + 0.02));
  }
}

TEST_CASE("a backward pass that the file joins to nothing waits for the forward pass", "[graph_files]") {
  // Forward 1 -> 2, backward 8 -> 9; the file has the backward nodes first.
  const auto back = [](int id) { return replaced(vertex(id), "false", "true"); };
  const File file(R"({"maxSizePerFPGA": 1e9, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [)" + back(9) + "," + back(8) + "," +
                  vertex(2) + "," + vertex(1) + R"(], "edges": [)" + arc(1, 2) + "," + arc(8, 9) + "]}");
  const ProfiledGraph graph = read_dnn_partitioning_graph(file.path());
  std::vector<std::int64_t> ids;
  for (const ProfiledOp& op : graph.ops) ids.push_back(op.id);
  CHECK(ids == std::vector<std::int64_t>{1, 2, 8, 9});
  REQUIRE(graph.edges.size() == 3);
  CHECK(graph.edges[2].from == 1);
  CHECK(graph.edges[2].to == 2);
  CHECK(graph.edges[2].bytes == 0);
}

TEST_CASE("hostile dnn-partitioning graphs", "[graph_files]") {
  const std::string two = vertex(1) + "," + vertex(2);
  CHECK(partitioning_mistakes(two, arc(1, 2)) == "");
  CHECK(has(partitioning_mistakes("", ""), "at least one operation"));
  CHECK(has(partitioning_mistakes(two, arc(1, 3)), "/edges/0/destId: expected the id of a node, found 3"));
  CHECK(has(partitioning_mistakes(two + "," + vertex(1), arc(1, 2)), "/nodes/2/id: expected an id that no node before has"));
  CHECK(has(partitioning_mistakes(two, arc(1, 2) + "," + arc(2, 1)), "a graph without cycles"));
  CHECK(has(partitioning_mistakes(two, ""), "an edge at every operation"));
  CHECK(has(partitioning_mistakes(vertex(1, R"("size": -4)") + "," + vertex(2), arc(1, 2)), "/nodes/0/size"));
  CHECK(has(partitioning_mistakes(vertex(1, R"("weight": 4)"), ""), "weight"));
}

TEST_CASE("every graph of the optional data", "[graph_files]") {
  const char* data = std::getenv("REHEARSE_DATA");
  if (!data) {
    WARN("skipped: REHEARSE_DATA is not set");
    return;
  }
  const fs::path partitioning = fs::path(data) / "dnn_partitioning", pipedream = fs::path(data) / "pipedream_profiles";
  int graphs = 0, splits = 0, profiles = 0;
  for (const auto& entry : fs::recursive_directory_iterator(partitioning)) {
    if (entry.path().extension() != ".json" || entry.path().parent_path().filename() == "human-experts") continue;
    INFO(entry.path());
    const ProfiledGraph graph = read_dnn_partitioning_graph(entry.path());
    CHECK(step_graph(graph, "accelerator", "cpu").ops() == static_cast<int>(graph.ops.size()));
    ++graphs;
    const fs::path expert = partitioning / "human-experts" / (entry.path().stem().string() + "_expert.json");
    const bool planned = entry.path().string().find("throughput-inputs/LayerGraphs") != std::string::npos;
    if (!planned || !fs::exists(expert)) continue;
    const std::vector<int> device_of_op = read_dnn_partitioning_split(expert, graph);
    CHECK(std::set<int>(device_of_op.begin(), device_of_op.end()) == std::set<int>{0, 1, 2, 3, 4, 5});
    ++splits;
  }
  CHECK(graphs == 24);
  CHECK(splits == 6);
  for (const auto& entry : fs::recursive_directory_iterator(pipedream)) {
    if (!entry.path().string().ends_with(".graph.txt")) continue;
    INFO(entry.path());
    const ProfiledGraph graph = read_pipedream_graph(entry.path());
    CHECK(step_graph(graph, "v100", "cpu").ops() == static_cast<int>(graph.ops.size()));
    ++profiles;
    if (entry.path().filename() != "resnet18.graph.txt") continue;
    // The sums of the file's columns: 581.071 ms forward, 152.296 ms backward.
    double forward_s = 0, backward_s = 0;
    for (const ProfiledOp& op : graph.ops) (op.backward ? backward_s : forward_s) += op.accelerator_s;
    CHECK(forward_s == Approx(0.581071).margin(1e-9));
    CHECK(backward_s == Approx(0.152296).margin(1e-9));
  }
  CHECK(profiles == 14);
}
