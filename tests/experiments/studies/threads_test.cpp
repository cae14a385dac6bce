#include <catch2/catch.hpp>
#include <set>

#include "experiments/load.hpp"
#include "experiments/studies/studies.hpp"
#include "sim/io/file.hpp"
#include "sim/io/json.hpp"
#include "tests/scenarios/loading.hpp"
#include "workloads/zoo/zoo.hpp"

namespace {

using namespace rehearse;

const std::string kScenario = R"({ "seed": 3, "repetitions": 2, "study": { "name": "threads", "strides": [4], "factors": [1] },
  "cluster": { "devices": [ { "name": "mine", "kind": "cpu", "peak_flops": {"fp32": 1e12}, "cores": 8, "sockets": 2, "threads_per_core": 2 } ],
    "instances": [ { "name": "my-node", "cpu": "mine", "memory_bytes": 6.4e10, "price_usd_per_hour": 1 } ],
    "pools": [ { "name": "cpu", "instance": "my-node", "nodes": 1 } ] },
  "jobs": [ { "job_id": "a", "model": "resnet18", "dataset": "cifar10", "batch_size": 16, "steps": 100 },
            { "job_id": "b", "model": "dcgan", "batch_size": 16, "steps": 100 },
            { "job_id": "c", "model": "rnnlm", "batch_size": 16, "steps": 100 } ] })";

const report::Table& table_of(const report::StudySummary& summary, const std::string& name) {
  for (const report::Table& table : summary.tables)
    if (table.name == name) return table;
  throw std::invalid_argument(name);
}

}  // namespace

TEST_CASE("the study of threads in TensorFlow's operations", "[tensorflow]") {
  const TemporaryFolder folder;
  std::string text = kScenario;
  const auto replace = [&](const std::string& what, const std::string& by) { text.replace(text.find(what), what.size(), by); };
  replace(R"("repetitions": 2)", R"("repetitions": 1)");
  replace(R"("name": "threads")", R"("name": "threads", "granularity": "tensorflow")");
  replace(R"({ "job_id": "c", "model": "rnnlm", "batch_size": 16, "steps": 100 })",
          R"({ "job_id": "c", "model": "alexnet", "batch_size": 16, "steps": 100 })");
  const auto scenario = scenarios::load_scenario(folder.write("s.json", text), {});
  bool failed = true;
  const report::StudySummary summary = scenarios::run_study(*scenario, {.out = folder.path() + "/out", .processes = 1}, failed);
  CHECK_FALSE(failed);
  // ResNet-18's largest kinds are there, and its batch norm has fallen apart into element-wise operations.
  std::set<std::string> kinds;
  for (const auto& row : table_of(summary, "threads").rows) kinds.insert(std::get<std::string>(row[3]));
  CHECK(kinds.contains("convolution"));
  CHECK(kinds.contains("element-wise"));
  CHECK_FALSE(kinds.contains("normalisation"));
  CHECK(table_of(summary, "threads-strategies").rows.size() == 3 * 21);
}

TEST_CASE("the study of threads on a machine of one's own") {
  const TemporaryFolder folder;
  const auto scenario = scenarios::load_scenario(folder.write("s.json", kScenario), {});
  bool failed = true;
  const std::string out = folder.path() + "/out";
  const report::StudySummary summary = scenarios::run_study(*scenario, {.out = out, .processes = 1}, failed);
  CHECK_FALSE(failed);

  // Recommended, default, manual-best, 11 combinations, two as given, exhaustive S1, regression, all, and two bounds, for each of
  // three models.
  const report::Table& strategies = table_of(summary, "threads-strategies");
  CHECK(strategies.rows.size() == 3 * 21);
  double bound_s = 0;
  for (auto row = strategies.rows.rbegin(); row != strategies.rows.rend(); ++row) {
    if (std::get<std::string>((*row)[2]) == "lower bound") bound_s = std::get<double>((*row)[3]);
    CHECK(std::get<double>((*row)[3]) >= bound_s);
  }
  // A strategy that does not pay is left out: at most the noise of trial steps is lost.
  for (const auto& row : strategies.rows)
    if (const auto& name = std::get<std::string>(row[2]); name[0] == 'S' && name.find(',') == std::string::npos) {
      INFO(name);
      CHECK(std::get<double>(row[4]) >= -1);
    }
  // Every kind of operation has a name; an unrolled model has variables, too.
  std::set<std::string> kinds;
  for (const auto& row : table_of(summary, "threads").rows) kinds.insert(std::get<std::string>(row[3]));
  CHECK(kinds == std::set<std::string>{"convolution", "element-wise", "embedding", "matrix product", "normalisation", "pooling",
                                       "recurrent", "softmax", "update", "variable"});
  CHECK(table_of(summary, "threads-estimators").rows.size() == 3 * 3);
  // Of two repetitions: what has no noise is the same in both, what is planned from noisy times is within its interval.
  for (const auto& row : table_of(summary, "threads-gains").rows) {
    const double mean = std::get<double>(row[2]), low = std::get<double>(row[3]), high = std::get<double>(row[4]);
    INFO(std::get<std::string>(row[1]));
    CHECK((low <= mean && mean <= high));
    if (std::get<std::string>(row[1]) == "default") CHECK(high - low == Approx(0).margin(1e-9));
  }
  CHECK(table_of(summary, "threads-sensitivity").rows.size() == 4);

  // The timeline names every core, and every operation is on it.
  const sim::JsonDocument timeline = sim::parse_json(sim::read_file(out + "/timeline-cpu-c.json", 1 << 26), "timeline");
  std::set<std::string> rows;
  std::set<std::string> ops;
  sim::Mistakes mistakes;
  sim::ObjectReader whole(timeline.root(), mistakes);
  for (const sim::JsonValue event : whole.list("traceEvents")) {
    sim::ObjectReader in(event, mistakes);
    const std::string kind = in.text("ph"), name = in.text("name");
    if (kind == "X") ops.insert(name);
    if (const auto args = in.child("args"); args && name == "thread_name")
      rows.insert(sim::ObjectReader(*args, mistakes).text("name"));
  }
  for (int core = 0; core < 8; ++core) CHECK(rows.contains("core " + std::to_string(core)));
  // The recurrent layers' time steps are operations of their own.
  CHECK(ops.size() == workloads::zoo_graph("rnnlm", "ptb", true).ops.size());
}
