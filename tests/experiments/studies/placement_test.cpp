#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "experiments/studies/placement_orderings.hpp"
#include "experiments/studies/process_scorer.hpp"
#include "experiments/studies/studies.hpp"
#include "policies/place/rl/placers.hpp"
#include "policies/place/throughput.hpp"
#include "scenarios/read/agent_file.hpp"
#include "scenarios/read/embedded.hpp"
#include "tests/experiments/studies/study_files.hpp"
#include "traces/graphs/profiled_graph.hpp"

namespace rehearse::tests {

namespace {

const std::string kScenario = R"({ "seed": 3, "study": { "name": "placement", "evaluations": 60,
    "graphs": [ { "model": "dcgan", "batch": 16, "groups": 6 }, { "name": "large", "model": "vgg16", "batch": 64, "groups": 4 } ],
    "machines": [ { "name": "two", "pool": "mine" }, { "name": "host", "pool": "mine", "gpus": 0 } ],
    "methods": [ "single-cpu", "single-gpu", "heft", "random-search", "annealing", { "name": "rl-refined", "samples": 4 } ] },
  "cluster": { "devices": [ { "name": "small", "kind": "gpu", "peak_flops": {"fp32": 1e13}, "memory_bytes": 4e9 },
                            { "name": "host", "kind": "cpu", "peak_flops": {"fp32": 1e12}, "cores": 8 } ],
    "instances": [ { "name": "node", "cpu": "host", "devices": [ { "device": "small", "count": 2 } ], "memory_bytes": 6.4e10,
                     "price_usd_per_hour": 1 } ],
    "pools": [ { "name": "mine", "instance": "node", "nodes": 1 } ] } })";

}  // namespace

TEST_CASE("the study of placement") {
  const TemporaryFolder folder, other;
  const StudyRun run = run_text(folder, kScenario, 1);
  CHECK_FALSE(run.failed);
  const report::Table& table = run.table("placement");
  REQUIRE(table.rows.size() == 2 * 2 * 6);
  std::map<std::string, double> step_s;
  for (const auto& row : table.rows) {
    const std::string method = text(table, row, "method"), where = text(table, row, "machine");
    const std::string key = text(table, row, "graph") + " " + where + " " + method;
    INFO(key);
    // Without a GPU single-gpu has no answer; everything else is no faster than the bound, and fits exactly if nothing is
    // missing.
    CHECK((text(table, row, "fits") == "") == (method == "single-gpu" && where == "host"));
    step_s[key] = number(table, row, "step_s");
    if (std::isnan(step_s[key])) continue;
    CHECK(number(table, row, "over_bound") == Approx(step_s[key] / number(table, row, "lower_bound_s")));
    CHECK(number(table, row, "over_bound") >= 1);
    CHECK((text(table, row, "fits") == "true") == (number(table, row, "missing_bytes") == 0));
    const bool searches = method == "random-search" || method == "annealing" || method == "rl-refined";
    if (searches) CHECK(number(table, row, "evaluations") == 60);
    if (method.starts_with("single") || where == "host") CHECK(number(table, row, "transferred_bytes") == 0);
  }
  // Annealing begins with the single devices; one device is all that the host has.
  CHECK(step_s["dcgan two annealing"] <= std::min(step_s["dcgan two single-cpu"], step_s["dcgan two single-gpu"]));
  CHECK(step_s["dcgan host heft"] == step_s["dcgan host single-cpu"]);

  // Each improvement is one, and the last is the answer.
  const report::Table& search = run.table("placement-search");
  std::map<std::string, std::pair<bool, double>> last;
  for (const auto& row : search.rows) {
    const std::string key = text(search, row, "graph") + " " + text(search, row, "machine") + " " + text(search, row, "method");
    const std::pair now{text(search, row, "fits") != "true", number(search, row, "step_s")};
    INFO(key);
    if (last.contains(key) && last[key].first == now.first && !now.first) CHECK(now.second < last[key].second);
    last[key] = now;
  }
  CHECK(last.size() == 2 * 2 * 3);
  for (const auto& [key, point] : last) CHECK(point.second == Approx(step_s[key]).epsilon(1e-9));

  // Whatever the number of processes.
  CHECK(run_text(other, kScenario, 3).files.at("placement.csv") == run.files.at("placement.csv"));
}

TEST_CASE("however many processes score what is sampled, the placements are the same") {
  // 4 and 3 placements an update; random-search, annealing and the lists score one at a time.
  const auto files_with = [](int processes) {
    const TemporaryFolder folder;
    const std::string sampling = fmt::format(R"("evaluations": 60, "sampling_processes": {})", processes);
    const std::string methods = R"("annealing", { "name": "rl", "samples": 3 }, { "name": "rl-refined", "samples": 4 })";
    const std::string refined = R"("annealing", { "name": "rl-refined", "samples": 4 })";
    std::map<std::string, std::string> files =
        run_text(folder, with(with(kScenario, R"("evaluations": 60)", sampling), refined, methods)).files;
    return files.at("placement.csv") + files.at("placement-search.csv") + files.at("placement-dcgan-two-makespan.dot");
  };
  const std::string files = files_with(1);
  CHECK_THAT(files, Catch::Contains("rl-refined"));
  for (const int processes : {2, 3}) CHECK(files_with(processes) == files);
}

TEST_CASE("rl-transfer places with the agent that its parameter names") {
  // One evaluation: the placement that the network itself thinks likeliest.
  const TemporaryFolder folder;
  const auto step_s = [&](const std::string& method) {
    const std::string one = with(kScenario, R"("evaluations": 60)", R"("evaluations": 1)");
    const std::string all =
        R"("single-cpu", "single-gpu", "heft", "random-search", "annealing", { "name": "rl-refined", "samples": 4 })";
    const StudyRun run = run_text(folder, with(one, all, method));
    const report::Table& table = run.table("placement");
    return number(table, table.rows[0], "step_s");
  };
  const std::string with_agent = R"({ "name": "rl-transfer", "agent": "agent.json" })";
  const std::string shipped(scenarios::embedded_file(scenarios::agent_of("rl-transfer")));
  folder.write("agent.json", shipped);
  const double shipped_s = step_s(R"("rl-transfer")");
  CHECK(step_s(with_agent) == shipped_s);

  // With the last layer's weights turned round it prefers the devices that it thought worst.
  policies::NetworkState turned = scenarios::parse_agent(shipped, "shipped", policies::GraphLayers::blueprint());
  for (policies::NamedMatrix& matrix : turned.matrices)
    if (matrix.is.name == "output/weight")
      for (double& number : matrix.numbers) number = -number;
  scenarios::write_agent_file(folder.path() + "/agent.json", turned);
  CHECK(step_s(with_agent) > shipped_s);

  // Another strategy's agent.
  folder.write("agent.json", std::string(scenarios::embedded_file(scenarios::agent_of("staged-rl"))));
  CHECK_THAT(complaints(folder, with(kScenario, R"("heft")", with_agent)), Catch::Contains("rl-transfer"));
}

TEST_CASE("a batch is scored in order by as many processes as asked for, and no more than it has placements") {
  // A placement's score is its first device; the missing bytes tell which process it was scored by.
  struct ByProcess final : policies::PlacementScorer {
    void score(std::span<const policies::DeviceOfGroup> placements, std::span<policies::StepScore> scores) override {
      for (std::size_t i = 0; i < placements.size(); ++i) {
        sim::check(placements[i][0] != 13, "thirteen");
        scores[i] = {.missing_bytes = ::getpid(), .makespan = placements[i][0]};
      }
    }
  } scorer;
  for (const auto& [processes, count, used] : {std::tuple{1, 5, 1}, {2, 5, 2}, {3, 5, 3}, {8, 5, 5}, {3, 1, 1}, {3, 0, 0}}) {
    INFO(processes << " for " << count);
    std::vector<policies::DeviceOfGroup> placements;
    for (int i = 0; i < count; ++i) placements.push_back({i});
    std::vector<policies::StepScore> scores(placements.size());
    scenarios::ProcessScorer(scorer, processes).score(placements, scores);
    std::set<std::int64_t> pids;
    for (int i = 0; i < count; ++i) {
      CHECK(scores[static_cast<std::size_t>(i)].makespan == i);
      pids.insert(scores[static_cast<std::size_t>(i)].missing_bytes);
    }
    CHECK(static_cast<int>(pids.size()) == used);
    CHECK(pids.contains(::getpid()) == (used == 1));
  }
  // What goes wrong in a child goes wrong here.
  const std::vector<policies::DeviceOfGroup> unlucky{{1}, {2}, {13}};
  std::vector<policies::StepScore> scores(3);
  CHECK_THROWS_WITH(scenarios::ProcessScorer(scorer, 3).score(unlucky, scores), Catch::Contains("thirteen"));
}

TEST_CASE("the study draws each case's best placement and says what fits on one GPU") {
  const TemporaryFolder folder;
  const StudyRun run = run_text(folder, kScenario);
  for (const std::string machine : {"two", "host"})
    for (const std::string graph : {"dcgan", "large"}) {
      const std::string name = graph + "-" + machine + "-makespan";
      CHECK_THAT(run.files.at("placement-" + name + ".dot"), Catch::StartsWith("digraph"));
      CHECK_THAT(run.files.at("timeline-" + name + ".json"), Catch::Contains("traceEvents"));
    }
  const auto said = [&](const std::string& model) {
    const std::string begin = model + ": a GPU of mine holds a step of at most ";
    for (const std::string& note : run.summary.notes)
      if (note.starts_with(begin)) return std::stoi(note.substr(begin.size()));
    return -1;
  };
  CHECK(said("dcgan") > 16);
  // 64 samples of VGG-16 do not fit (below): 0.94 x 4e9 - 0.6e9 bytes, of which parameters, gradients and momentum take 1.66e9.
  CHECK((said("large") > 0 && said("large") < 64));
}

TEST_CASE("a step that does not fit says which operation asked which device for what") {
  // VGG-16 has 138e6 parameters: with gradients and momentum 1.66e9 bytes; activations of 256 images do not fit beside them in
  // 0.94 x 4e9 - 0.6e9 bytes.
  const TemporaryFolder folder;
  std::string scenario = with(kScenario, R"("batch": 64)", R"("batch": 256)");
  const StudyRun run = run_text(folder, scenario);
  const report::Table& table = run.table("placement");
  for (const auto& row : table.rows)
    if (text(table, row, "graph") == "large" && text(table, row, "method") == "single-gpu" &&
        text(table, row, "machine") == "two") {
      CHECK(text(table, row, "fits") == "false");
      CHECK(number(table, row, "missing_bytes") > 0);
    }
  const auto named = [&](const std::string& note) {
    return note.starts_with("large on two, makespan, single-gpu: ") && note.ends_with("GB are free");
  };
  CHECK(std::count_if(run.summary.notes.begin(), run.summary.notes.end(), named) == 1);
}

TEST_CASE("mistakes in the study of placement") {
  const TemporaryFolder folder;
  const auto says = [&](std::string_view what, std::string_view instead, const std::string& expected) {
    INFO(instead);
    CHECK_THAT(complaints(folder, with(kScenario, what, instead)), Catch::Contains(expected));
  };
  says(R"("model": "dcgan")", R"("model": "dcgam")", R"(did you mean "dcgan"?)");
  says(R"("batch": 16)", R"("batch": 0)", "/study/graphs/0/batch: expected a number from 1 to 1000000, found 0");
  says(R"("groups": 6)", R"("groups": 0)", "/study/graphs/0/groups: expected a whole number from 1 to 4096, found 0");
  says(R"("groups": 6)", R"("group": 6)", "/study/graphs/0/group");
  says(R"("name": "large", )", R"("name": "dcgan", )", "/study/graphs/1: expected a name that is given once");
  says(R"("pool": "mine" })", R"("pool": "mime" })", R"(did you mean "mine"?)");
  says(R"("gpus": 0)", R"("gpus": 3)", "/study/machines/1");
  says(R"("heft")", R"("hefd")", R"(did you mean "heft"?)");
  says(R"("heft")", R"("annealing")", "a name that is given once");
  says(R"("samples": 4)", R"("samples": 1)", "/study/methods/5/samples");
  says(R"("samples": 4)", R"("sample": 4)", "/study/methods/5/sample");
  says(R"("evaluations": 60)", R"("evaluations": 0)", "/study/evaluations: expected a whole number from 1 to");
  says(R"("evaluations": 60)", R"("sampling_processes": 0)", "/study/sampling_processes: expected a whole number from 1 to 256");
  says(R"("cpu": "host", )", "", "CPU");
  says(R"("model": "dcgan", "batch": 16)", R"("model": "dcgan")", "/study/graphs/0: expected a batch, samples of the step");
  says(R"("model": "dcgan")", R"("model": "dcgan", "file": "a.json")", "/study/graphs/0: expected exactly one of model and file");
  says(R"("model": "dcgan")", R"("file": "a.txt", "format": "pipedream")", "/study/graphs/0: expected no batch beside measured");
  says(R"("model": "dcgan")", R"("model": "dcgan", "split": "s.json")", "expected a split of a dnn-partitioning graph alone");
  says(R"("model": "dcgan")", R"("model": "dcgan", "edge_costs": "s")",
       "expected costs of edges of a dnn-partitioning graph alone");
  says(R"("evaluations": 60)", R"("objectives": ["speed"])", "/study/objectives/0: expected one of makespan, throughput");
  says(R"("machines": [ { "name": "two", "pool": "mine" }, { "name": "host", "pool": "mine", "gpus": 0 } ],)", "",
       "/study: expected machines for graphs whose files plan for none");
}

namespace {

/// Six operations of 1 ms in a line on two accelerators and a CPU; 0.25 ms between any two.
std::string line_of_six(std::string_view last_edge = R"({"sourceId": 4, "destId": 5, "cost": 0.25, "size": 10})") {
  std::string nodes, edges;
  for (int i = 0; i < 6; ++i) {
    nodes += fmt::format(R"({}{{"name": "n{}", "id": {}, "supportedOnFpga": 1, "cpuLatency": 10, "fpgaLatency": 1,
      "isBackwardNode": 0, "colorClass": {}, "size": 30}})",
                         i == 0 ? "" : ", ", i, i, i);
    if (i < 4) edges += fmt::format(R"({{"sourceId": {}, "destId": {}, "cost": 0.25, "size": 10}}, )", i, i + 1);
  }
  return fmt::format(R"({{"maxSizePerFPGA": 100, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [{}], "edges": [{}{}]}})", nodes, edges,
                     last_edge);
}

std::string planned(std::string_view groups = "6") {
  return fmt::format(R"({{ "study": {{ "name": "placement", "objectives": ["throughput", "makespan"], "evaluations": 100,
    "graphs": [ {{ "file": "line.json", "format": "dnn-partitioning", "split": "split.json", "groups": {} }} ],
    "methods": ["single-gpu", "dpl", "dpl-annealed"] }},
    "cluster": {{ "pools": [ {{ "name": "p", "instance": "p2.xlarge", "nodes": 1 }} ] }} }})",
                     groups);
}

}  // namespace

TEST_CASE("a planner's graph, its devices and its split in the study") {
  const TemporaryFolder folder;
  folder.write("line.json", line_of_six());
  folder.write("split.json",
               R"({"maxLoad": -1, "fpgas": [{"nodes": [0, 1], "load": -1}, {"nodes": [2, 3, 4, 5], "load": -1}], "cpus": []})");
  const StudyRun run = run_text(folder, planned());
  const report::Table& table = run.table("placement");
  std::map<std::string, double> ms;
  for (const auto& row : table.rows) {
    CHECK(text(table, row, "machine") == "its own");
    ms[text(table, row, "objective") + " " + text(table, row, "method")] = 1e3 * number(table, row, "step_s");
  }
  // Throughput. One accelerator: 6 ms, and 180 bytes do not fit into its 100. Halves: 3 + 0.25 ms. The split: 4 + 0.25 ms.
  CHECK(ms.at("throughput single-gpu") == Approx(6).epsilon(1e-5));
  CHECK(ms.at("throughput dpl") == Approx(3.25).epsilon(1e-5));
  CHECK(ms.at("throughput dpl-annealed") == Approx(3.25).epsilon(1e-5));
  CHECK(ms.at("throughput split") == Approx(4.25).epsilon(1e-5));
  // One sample: the line, and one transfer between accelerators over two links.
  CHECK(ms.at("makespan split") == Approx(6.25).epsilon(1e-3));

  // Costs of edges in seconds: 4 ms + 0.25 s; halves are not worth it.
  const StudyRun in_seconds = run_text(folder, with(planned(), R"("groups": 6)", R"("groups": 6, "edge_costs": "s")"));
  const report::Table& dear = in_seconds.table("placement");
  for (const auto& row : dear.rows)
    if (text(dear, row, "objective") == "throughput" && text(dear, row, "method") == "split")
      CHECK(number(dear, row, "step_s") == Approx(0.254).epsilon(1e-5));
}

TEST_CASE("loads of the splits by hand are sums of their files' own numbers") {
  const char* data = std::getenv("REHEARSE_DATA");
  if (data == nullptr) {
    WARN("skipped: REHEARSE_DATA is not set");
    return;
  }
  const std::string folder = std::string(data) + "/dnn_partitioning/";
  // The largest over devices of: latencies of its nodes, cost of each node that others read, once, and of each node that it
  // reads from others, once. Summed from the JSON by a separate script, everything in the file's unit.
  const std::pair<const char*, double> splits[] = {
      {"bert24_inference", 20.083953125},          {"bert24_training", 49.40490625},
      {"gnmt_inference", 46.208451171875},         {"gnmt_training", 137.15390234375},
      {"inceptionv3_inference", 102.482076049805}, {"resnet50_inference", 43.9182578125}};
  for (const auto& [name, load_ms] : splits) {
    INFO(name);
    const traces::ProfiledGraph graph =
        traces::read_dnn_partitioning_graph(folder + "throughput-inputs/LayerGraphs/" + name + ".json");
    const std::vector<int> split = traces::read_dnn_partitioning_split(folder + "human-experts/" + name + "_expert.json", graph);
    const sim::StepGraph step = traces::planned_step_graph(graph);
    const sim::Machine machine = traces::planned_machine(graph);
    policies::Groups groups{.count = step.ops()};
    for (int op = 0; op < step.ops(); ++op) groups.of_op.push_back(op);
    const policies::PlacementView view(step, machine, groups, 1);
    // Durations and transfers are rounded up to ticks of a nanosecond.
    CHECK(1e3 *
              sim::seconds_of(policies::throughput_score(view, std::vector<std::int32_t>(split.begin(), split.end())).makespan) ==
          Approx(load_ms).epsilon(1e-5));
  }
}

TEST_CASE("mistakes in a planner's files end the study with the file's name") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& scenario) -> std::string {
    try {
      run_text(folder, scenario);
    } catch (const sim::InputError& error) {
      return error.what();
    }
    return {};
  };
  folder.write("split.json", R"({"fpgas": [{"nodes": [0, 1, 2, 3, 4]}], "cpus": []})");
  folder.write("line.json", line_of_six());
  CHECK_THAT(said(planned()), Catch::Contains("none for node 5"));
  CHECK_THAT(said(planned("7")), Catch::Contains("1 to 6 groups"));
  folder.write(
      "line.json",
      line_of_six(R"({"sourceId": 4, "destId": 1, "cost": 0, "size": 0}, {"sourceId": 4, "destId": 5, "cost": 0, "size": 0})"));
  CHECK_THAT(said(planned()), Catch::Contains("a graph without cycles"));
  folder.write("line.json", line_of_six(R"({"sourceId": 4, "destId": 9, "cost": 0, "size": 0})"));
  CHECK_THAT(said(planned()), Catch::Contains("the id of a node"));
  folder.write("line.json", line_of_six(R"({"sourceId": 4, "destId": 5, "cost": -1, "size": 0})"));
  CHECK_THAT(said(planned()), Catch::Contains("/edges/4/cost"));
}

namespace {

/// The paper's own table 2, as if we had found it; `spoilt` changes one answer.
report::Table papers_table(const std::function<void(scenarios::PaperAnswer&)>& spoilt = [](scenarios::PaperAnswer&) {}) {
  const struct {
    const char* model;
    int gpus;
    double single, scotch, min_cut, expert, rl;
  } rows[] = {{"rnnlm", 2, 1.57, 13.43, 11.94, 3.81, 1.57},
              {"rnnlm", 4, 1.57, 11.52, 10.44, 4.46, 1.57},
              {"nmt", 2, 0, 14.19, 11.54, 4.99, 4.04},
              {"nmt", 4, 0, 11.23, 11.78, 4.73, 3.92},
              {"inception-v3", 2, 4.60, 25.24, 22.88, 11.22, 4.60},
              {"inception-v3", 4, 4.60, 23.41, 24.52, 10.65, 3.85}};
  std::vector<scenarios::PaperAnswer> answers;
  for (const auto& r : rows)
    for (const auto& [method, step_s] :
         {std::pair{"single-gpu", r.single}, {"scotch", r.scotch}, {"min-cut", r.min_cut}, {"expert", r.expert}, {"rl", r.rl}}) {
      answers.push_back({"paper", r.model, r.gpus, method, step_s == 0 ? 9 : step_s, step_s > 0});
      spoilt(answers.back());
    }
  return scenarios::orderings_table(answers);
}

std::vector<std::string> held(const report::Table& table) {
  std::vector<std::string> holds;
  for (const auto& row : table.rows) holds.push_back(text(table, row, "holds"));
  return holds;
}

}  // namespace

TEST_CASE("the paper's own table has all eight orderings, and each can be lost", "[orderings]") {
  const report::Table table = papers_table();
  REQUIRE(table.rows.size() == 9);
  CHECK(held(table) == std::vector<std::string>{"yes", "yes", "yes", "yes", "yes", "yes", "yes", "yes", ""});
  CHECK(text(table, table.rows.back(), "ours") == "8");
  const auto lost = [](int ordering, const std::string& model, int gpus, const std::string& method, double step_s, bool fits) {
    const report::Table spoilt = papers_table([&](scenarios::PaperAnswer& a) {
      if (a.model == model && a.gpus == gpus && a.method == method) a.step_s = step_s, a.fits = fits;
    });
    INFO(model << " " << method);
    CHECK(held(spoilt)[static_cast<std::size_t>(ordering)] == "no");
    CHECK(text(spoilt, spoilt.rows.back(), "ours") == "7");
  };
  lost(0, "rnnlm", 4, "rl", 1.5, true);
  lost(1, "nmt", 2, "single-gpu", 5, true);
  lost(2, "nmt", 4, "rl", 4.5, true);           // 5 % is too little,
  lost(2, "nmt", 2, "rl", 3.0, true);           // 40 % too much
  lost(3, "inception-v3", 4, "rl", 3.2, true);  // 30 %
  lost(4, "inception-v3", 2, "rl", 4.4, true);  // 4 %
  lost(5, "rnnlm", 2, "scotch", 3.0, true);
  lost(6, "nmt", 4, "min-cut", 4.0, true);
  lost(7, "inception-v3", 2, "expert", 20, false);
}

TEST_CASE("orderings whose answers are missing are left open", "[orderings]") {
  CHECK(scenarios::orderings_table({}).rows.empty());
  CHECK(scenarios::orderings_table({{"a", "rnnlm", 2, "heft", 1, true}}).rows.empty());
  const report::Table one = scenarios::orderings_table({{"a", "nmt", 2, "single-gpu", 1, false}});
  REQUIRE(one.rows.size() == 9);
  CHECK(held(one)[0].empty());
  CHECK(held(one)[1] == "yes");
  const report::Table two =
      scenarios::orderings_table({{"a", "nmt", 2, "single-gpu", 1, false}, {"b", "nmt", 2, "single-gpu", 1, true}});
  REQUIRE(two.rows.size() == 2 * 9 + 8);
  CHECK(text(two, two.rows[2 * 9 + 1], "ours") == "held under 1 of 2");
  CHECK(text(two, two.rows[2 * 9], "ours") == "held under 0 of 0");
}

TEST_CASE("placement in TensorFlow's operations, issued by a host", "[tensorflow]") {
  const TemporaryFolder folder;
  std::string scenario = kScenario;
  const auto replace = [&](const std::string& what, const std::string& by) {
    const std::size_t at = scenario.find(what);
    REQUIRE(at != std::string::npos);
    scenario.replace(at, what.size(), by);
  };
  replace(
      R"({ "model": "dcgan", "batch": 16, "groups": 6 }, { "name": "large", "model": "vgg16", "batch": 64, "groups": 4 })",
      R"({ "model": "rnnlm", "granularity": "tensorflow", "hidden": 64, "steps": 4, "vocabulary": 100, "batch": 8, "groups": 12,
               "assumption": "small" })");
  replace(R"({ "name": "host", "pool": "mine", "gpus": 0 })", R"({ "name": "slow", "pool": "mine", "dispatch": 4 })");
  replace(R"("single-cpu", "single-gpu", "heft", "random-search", "annealing", { "name": "rl-refined", "samples": 4 })",
          R"("single-gpu", "expert", "annealing")");
  const StudyRun run = run_text(folder, scenario, 1);
  CHECK_FALSE(run.failed);
  const report::Table& table = run.table("placement");
  REQUIRE(table.rows.size() == 2 * 3);
  std::map<std::string, double> step_s;
  for (const auto& row : table.rows) {
    step_s[text(table, row, "machine") + " " + text(table, row, "method")] = number(table, row, "step_s");
    CHECK(number(table, row, "ops") > 500);
    CHECK(number(table, row, "groups") <= 12);
    CHECK(number(table, row, "over_bound") >= 1);
  }
  // So small a model waits for its host: four times the cost of dispatch, four times the step, nearly.
  CHECK(step_s["slow single-gpu"] > 3.5 * step_s["two single-gpu"]);
  CHECK(step_s["slow single-gpu"] <= 4 * step_s["two single-gpu"]);
}

}  // namespace rehearse::tests
