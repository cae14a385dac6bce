// What a run's files must hold, whatever the scenario: the same bytes, the same world for every policy, every job once, all
// money.
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "experiments/load.hpp"
#include "scenarios/read/scenario.hpp"
#include "sim/io/csv.hpp"
#include "tests/cli/program.hpp"

namespace {

namespace fs = std::filesystem;

const std::string kQuickstart = REHEARSE_SOURCE_DIR "/scenarios/quickstart.json";

const std::string kNoisy = R"({ "name": "noisy", "seed": 11, "repetitions": 2,
  "output": { "decisions": "all", "stages": "all", "curves": "all", "predictions": "all", "utilization": "all", "events": "all" },
  "cluster": { "pools": [
    { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 4 },
    { "name": "v100", "instance": "p3.8xlarge", "nodes": 4 },
    { "name": "cpu", "instance": "c5.18xlarge", "nodes": 4 } ] },
  "history": { "runs": 5 },
  "jobs": [
    { "generate": "mixed-cnn-rnn", "count": 30, "arrivals_per_hour": 6, "models": [
      { "model": "resnet18", "dataset": "cifar10" }, { "model": "rnnlm", "dataset": "ptb", "recurrent": true },
      { "model": "deepspeech2", "dataset": "cmu-arctic", "recurrent": true } ] },
    { "job_id": "measured", "gpus": 4, "duration_s": 1000, "submit_s": 50 },
    { "job_id": "too-wide", "gpus": 999, "duration_s": 1000, "submit_s": 60 } ],
  "policies": [ "manual", "static-isotonic-shared", "oracle" ] })";

/// Runs `scenario` (a path) into `folder`/`out`.
void run(const TemporaryFolder& folder, const std::string& scenario, const std::string& out,
         const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"run", scenario, "--out", out};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Ended ended = run_program(folder.path(), arguments);
  INFO(ended.err);
  REQUIRE(ended.status == 0);
}

std::map<std::string, std::string> files_of(const std::string& results) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(results))
    if (entry.path().filename() != "timing.json") files[entry.path().filename()] = text_of(entry.path());
  return files;
}

/// The lines of one policy.
std::string lines_of(const std::string& text, const std::string& policy) {
  std::istringstream in(text);
  std::string lines;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(policy + ",") || line.starts_with("{\"policy\":\"" + policy + "\"") ||
        line.starts_with("{\"policy\": \"" + policy + "\""))
      lines += line + '\n';
  return lines;
}

struct Row {
  std::string policy, repetition, job, model, submit, deadline, target, state, pool;
  double submit_s, end_s, cost_usd;
};

std::vector<Row> jobs_of(const std::string& results) {
  rehearse::sim::CsvReader csv(results + "/jobs.csv",
                               {.required = {"policy", "repetition", "job", "model", "submit_s", "end_s", "deadline_s",
                                             "target_accuracy", "state", "pool", "cost_usd"}});
  std::vector<Row> rows;
  while (rehearse::sim::CsvRow* row = csv.next()) {
    const auto text = [&](const char* column) { return row->has(column) ? std::string(row->text(column)) : std::string(); };
    rows.push_back({text("policy"), text("repetition"), text("job"), text("model"), text("submit_s"), text("deadline_s"),
                    text("target_accuracy"), text("state"), text("pool"), row->number("submit_s"), row->number("end_s"),
                    row->number("cost_usd")});
    REQUIRE(row->mistakes().empty());
  }
  return rows;
}

TEST_CASE("the same bytes twice in a row, whatever the number of processes") {
  const TemporaryFolder folder;
  for (const std::string& scenario : {kQuickstart, folder.write("noisy.json", kNoisy)}) {
    INFO(scenario);
    run(folder, scenario, "first", {"--replace"});
    const auto first = files_of(folder.path() + "/first");
    CHECK(first.size() == (first.contains("report.html") ? 13 : 12));  // without npm there is no report
    for (const auto& [name, text] : first) CHECK(text.size() > 0);
    for (const std::string processes : {"1", "2", "4"}) {
      INFO("--processes " << processes);
      run(folder, scenario, "again", {"--processes", processes, "--replace"});
      CHECK((files_of(folder.path() + "/again") == first));
    }
  }
}

TEST_CASE("SimGrid solves the shared network as the replay does") {
  const TemporaryFolder folder;
  const std::string scenario = REHEARSE_SOURCE_DIR "/scenarios/cluster/network.json";
  run(folder, scenario, "own", {"--set", "/jobs/0/count=60"});
  run(folder, scenario, "simgrid", {"--set", "/jobs/0/count=60", "--set", "/network_solver=simgrid"});
  const std::vector<Row> own = jobs_of(folder.path() + "/own"), simgrid = jobs_of(folder.path() + "/simgrid");
  REQUIRE(own.size() == simgrid.size());
  for (std::size_t i = 0; i < own.size(); ++i) CHECK(own[i].end_s == Approx(simgrid[i].end_s).epsilon(1e-9));
}

TEST_CASE("another seed is another world") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("noisy.json", kNoisy);
  run(folder, scenario, "eleven");
  run(folder, scenario, "twelve", {"--set", "/seed=12"});
  CHECK(text_of(folder.path() + "/eleven/jobs.csv") != text_of(folder.path() + "/twelve/jobs.csv"));
}

TEST_CASE("a policy's rows do not depend on the policies beside it") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("noisy.json", kNoisy);
  run(folder, scenario, "two", {"--set", R"(/policies=["manual", "oracle"])"});
  run(folder, scenario, "four",
      {"--set", R"(/policies=["random-feasible", "oracle", "static-isotonic-shared", "manual"])", "--set", "/baseline=manual"});
  for (const std::string file :
       {"jobs.csv", "decisions.csv", "stages.csv", "curves.csv", "predictions.csv", "utilization.csv", "events.jsonl"}) {
    const std::string two = text_of(folder.path() + "/two/" + file), four = text_of(folder.path() + "/four/" + file);
    for (const std::string policy : {"manual", "oracle"}) {
      INFO(file << ", " << policy);
      if (file != "predictions.csv" || policy != "manual") CHECK(lines_of(two, policy) != "");
      CHECK((lines_of(two, policy) == lines_of(four, policy)));
    }
  }
}

TEST_CASE("all policies see the same jobs, and each job ends once, finished or failed") {
  const TemporaryFolder folder;
  run(folder, folder.write("noisy.json", kNoisy), "out");
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>> seen;  // by policy and repetition
  for (const Row& row : jobs_of(folder.path() + "/out")) {
    CHECK((row.state == "finished" || row.state == "failed"));
    CHECK((row.state == "failed") == (row.job == "too-wide"));
    const bool once = seen[{row.policy, row.repetition}]
                          .emplace(row.job, row.model + " " + row.submit + " " + row.deadline + " " + row.target)
                          .second;
    CHECK(once);
  }
  CHECK(seen.size() == 3 * 2);
  for (const auto& [run, jobs] : seen) {
    CHECK(jobs.size() == 32);
    CHECK((jobs == seen.at({"manual", run.second})));
  }
  CHECK((seen.at({"manual", "0"}) != seen.at({"manual", "1"})));  // another repetition is another world
}

// Money: what the jobs pay and what is left idle is what the pools cost from the first submission to the last completion.
TEST_CASE("jobs and idle devices together cost what the pools cost") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("noisy.json", kNoisy);
  const rehearse::sim::Cluster cluster = rehearse::scenarios::load_scenario(scenario, {})->cluster;
  double pools_usd_per_s = 0;
  for (const auto& pool : cluster.pools)
    pools_usd_per_s += pool.nodes * cluster.instances[static_cast<std::size_t>(pool.instance)].price_usd_per_hour / 3600;
  // Nodes that are rented are nobody's while they are not: their bill is what the books of nodes.csv say (tests/fuzz).
  for (const std::string billing : {"allocated", "node", "pool"}) {
    INFO(billing);
    run(folder, scenario, "out", {"--set", "/billing=" + billing, "--set", "/repetitions=1"});
    const auto summary = nlohmann::json::parse(text_of(folder.path() + "/out/summary.json"));
    const std::vector<Row> rows = jobs_of(folder.path() + "/out");
    for (const nlohmann::json& policy : summary.at("policies")) {
      INFO(policy.at("policy"));
      double jobs_usd = 0, first_s = INFINITY, last_s = 0;
      for (const Row& row : rows) {
        if (row.policy != policy.at("policy")) continue;
        jobs_usd += row.cost_usd;
        first_s = std::min(first_s, row.submit_s);
        last_s = std::max(last_s, row.end_s);
      }
      const auto mean = [&](const char* field) { return policy.at(field).at("mean").get<double>(); };
      CHECK(jobs_usd + mean("profiling_cost_usd") == Approx(mean("cost_usd")).epsilon(1e-9));
      if (billing == "node") {
        CHECK(mean("idle_cost_usd") == 0);
        CHECK(mean("marginal_cost_usd") <= mean("cost_usd") * (1 + 1e-9));
      } else {
        CHECK(jobs_usd + mean("idle_cost_usd") == Approx((last_s - first_s) * pools_usd_per_s).epsilon(1e-9));
      }
      if (billing == "allocated") CHECK(mean("marginal_cost_usd") == Approx(mean("cost_usd")).epsilon(1e-9));
      CHECK(mean("makespan_s") == Approx(last_s - first_s).epsilon(1e-9));
      CHECK(mean("jobs") == 32);
      CHECK(mean("jobs_completed") + mean("jobs_failed") == 32);
    }
  }
}

// One job, 4 nodes of 4 V100s, a deadline that a single GPU keeps. By the device, and by the node, few GPUs are cheapest; a pool
// that is paid for until the job ends is cheapest when the job is soon done, and who counted devices alone would pay five times
// as much.
TEST_CASE("under every billing nobody is cheaper than the oracle, and the results say who pays for what") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("s.json", R"({ "name": "one", "world": { "model_error": 0 },
    "cluster": { "pools": [ { "name": "v100", "instance": "p3.8xlarge", "nodes": 4 } ] },
    "jobs": [ { "model": "resnet50", "dataset": "imagenet", "target_accuracy": 0.7, "deadline_s": 4000000 } ],
    "manual": { "workers": 16 }, "policies": [ "manual", "median-feasible", "oracle" ] })");
  std::map<std::string, double> oracle_usd;
  for (const std::string billing : {"allocated", "node", "pool"}) {
    INFO(billing);
    const Ended ended = run_program(folder.path(), {"run", scenario, "--out", "out", "--set", "/billing=" + billing});
    REQUIRE(ended.status == 0);
    CHECK_THAT(ended.out, Catch::Contains("\nBilling: " + billing));
    const auto summary = nlohmann::json::parse(text_of(folder.path() + "/out/summary.json"));
    CHECK(summary.at("billing") == billing);
    const auto mean = [&](int policy, const char* field) {
      return summary.at("policies").at(static_cast<std::size_t>(policy)).at(field).at("mean").get<double>();
    };
    for (int policy = 0; policy < 3; ++policy) {
      INFO(policy);
      REQUIRE(mean(policy, "limits_broken") == 0);
      CHECK(mean(2, "cost_usd") <= mean(policy, "cost_usd") * (1 + 1e-9));
      CHECK(mean(policy, "marginal_cost_usd") == Approx(mean(policy, "cost_usd")));  // there is nobody else
      CHECK(mean(policy, "cost_error_median") < 1e-6);
    }
    CHECK(mean(2, "saving_percent") >= 0);
    oracle_usd[billing] = mean(2, "cost_usd");
  }
  CHECK(oracle_usd.at("allocated") < oracle_usd.at("node"));
}

// A T4 does not hold the batch that the user insists on, and there is nothing else.
TEST_CASE("who breaks the limits of a job that manual cannot run has no effective cost and does not win") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("s.json", R"({ "name": "nowhere", "world": { "model_error": 0 },
    "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.xlarge", "nodes": 1 } ] },
    "jobs": [ { "job_id": "small", "model": "resnet18", "dataset": "cifar10", "epochs": 1 },
              { "job_id": "vast", "model": "vgg16", "dataset": "imagenet", "gpus": 1, "batch_size": 4096, "steps": 10 } ],
    "policies": [ "manual", "oracle" ] })");
  run(folder, scenario, "out");
  const auto summary = nlohmann::json::parse(text_of(folder.path() + "/out/summary.json"));
  for (const nlohmann::json& policy : summary.at("policies")) {
    INFO(policy.at("policy"));
    CHECK(policy.at("limits_broken").at("mean") == 1);
    CHECK(policy.at("effective_cost_usd").at("mean").is_null());
    CHECK(policy.at("effective_saving_percent").at("mean").is_null());
    CHECK(policy.at("regret_mean_usd").at("mean").is_null());
    CHECK(policy.at("cost_usd").at("mean") > 0);
  }
  CHECK_THAT(run_program(folder.path(), {"run", scenario, "--out", "again"}).out, !Catch::Contains("lowest effective cost"));
}

// Of one GPU's prices an hour and single-precision TFLOP/s: T4 0.526 and 8.1, A100 21.957642/8 = 2.74 and 19.5, H100 87.83244/8
// = 10.98 and 66.9, that is 0.065, 0.141 and 0.164 $ for a TFLOP/s.
TEST_CASE("manual takes the pool of its users' habit, and a pool that is called like a habit before it") {
  const TemporaryFolder folder;
  const std::string scenario = folder.write("s.json", R"({ "world": { "model_error": 0 },
    "cluster": { "pools": [
      { "name": "a100", "instance": "p4d.24xlarge", "nodes": 1 },
      { "name": "h100", "instance": "a3-highgpu-8g", "nodes": 1 },
      { "name": "t4", "instance": "g4dn.xlarge", "nodes": 1 } ] },
    "jobs": [ { "model": "resnet50", "dataset": "imagenet", "batch_size": 32, "epochs": 1 } ],
    "policies": [ "manual" ] })");
  const auto pool = [&](const std::string& habit, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--set", "/manual=" + habit});
    run(folder, scenario, "out", more);
    const std::vector<Row> jobs = jobs_of(folder.path() + "/out");
    REQUIRE(jobs.size() == 1);
    return jobs[0].pool;
  };
  CHECK(pool("{}") == "a100");
  CHECK(pool(R"({"pool": "median", "batch_size": "publication"})") == "a100");
  CHECK(pool(R"({"pool": "cheapest"})") == "t4");
  CHECK(pool(R"({"pool": "fastest"})") == "h100");
  CHECK(pool(R"({"pool": "t4", "by_model": {"resnet50": {"pool": "fastest"}}})") == "h100");
  CHECK(pool(R"({"pool": "cheapest"})", {"--set", "/cluster/pools/1/name=cheapest"}) == "cheapest");
}

TEST_CASE("repetitions.csv has what summary.json averages") {
  const TemporaryFolder folder;
  run(folder, folder.write("noisy.json", kNoisy), "out");
  const auto summary = nlohmann::json::parse(text_of(folder.path() + "/out/summary.json"));
  std::map<std::string, std::vector<double>> sums;  // by policy
  const std::vector<std::string> columns{"cost_usd", "jct_mean_s", "energy_kwh", "limits_broken"};
  rehearse::sim::CsvReader csv(folder.path() + "/out/repetitions.csv",
                               {.required = {"policy", "repetition", "step_evaluations"}, .optional = columns});
  std::size_t rows = 0;
  while (rehearse::sim::CsvRow* row = csv.next()) {
    CHECK(row->integer("repetition") == static_cast<std::int64_t>(rows++ % 2));
    CHECK(row->number("step_evaluations") > 0);
    auto& sum = sums[std::string(row->text("policy"))];
    sum.resize(columns.size());
    for (std::size_t c = 0; c < columns.size(); ++c) sum[c] += row->number(columns[c]);
    REQUIRE(row->mistakes().empty());
  }
  REQUIRE(rows == 3 * 2);
  for (const nlohmann::json& policy : summary.at("policies"))
    for (std::size_t c = 0; c < columns.size(); ++c)
      CHECK(sums.at(policy.at("policy"))[c] / 2 == Approx(policy.at(columns[c]).at("mean").get<double>()).epsilon(1e-12));
}

TEST_CASE("nothing is written to what a link in a stranger's folder leads to, under a name that the program made up") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 1 } ] },
    "jobs": [ { "job_id": "one", "gpus": 1, "duration_s": 100 } ], "policies": [ "manual" ], "repetitions": 2 })");
  run(folder, folder.path() + "/s.json", "theirs");
  folder.write("mine.txt", "mine");
  fs::remove(folder.path() + "/theirs/report.html");
  for (const std::string name : {"report.html", "cdf.gp", "cdf.dat"})
    fs::create_symlink("../mine.txt", folder.path() + "/theirs/" + name);
  const Ended page = run_program(folder.path(), {"report", "theirs"});
  INFO(page.err);
  CHECK(page.status == 0);
  CHECK(!fs::is_symlink(folder.path() + "/theirs/report.html"));
  run_program(folder.path(), {"plot", "cdf", "theirs", "-o", "cdf.svg", "--data", "theirs"});
  CHECK(text_of(folder.path() + "/mine.txt") == "mine");
}

TEST_CASE("a pipe in a folder of results is refused by all that read it, not waited for") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 1 } ] },
    "jobs": [ { "job_id": "one", "gpus": 1, "duration_s": 100 } ], "policies": [ "manual" ] })");
  run(folder, folder.path() + "/s.json", "good");
  run(folder, folder.path() + "/s.json", "bad");
  REQUIRE(run_program(folder.path(), {"bundle", "good", "-o", "packed"}).status == 0);
  for (const std::string where : {"bad", "packed"}) REQUIRE(::mkfifo((folder.path() + "/" + where + "/pipe").c_str(), 0600) == 0);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"explain", "bad", "one"},
                                             {"compare", "good", "bad"},
                                             {"report", "bad", "-o", "page.html"},
                                             {"plot", "cdf", "bad", "-o", "cdf.svg"},
                                             {"export", "results", "paje", "bad", "-o", "run.paje"},
                                             {"regress", "good", "--against", "bad"},
                                             {"bundle", "bad", "-o", "again"},
                                             {"reproduce", "packed"}}) {
    INFO(words.front());
    const Ended ended = run_program(folder.path(), words);
    CHECK(ended.status == 3);
    CHECK(has(ended.err, "/pipe: expected a regular file, found a pipe, a device or a socket"));
  }
}

/// Words of a command line.
std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST_CASE("no command reads results that are not what the run wrote") {
  const TemporaryFolder folder;
  folder.write("s.json", kNoisy);
  run(folder, "s.json", "out");
  fs::copy(folder.path() + "/out", folder.path() + "/whole", fs::copy_options::recursive);
  std::string jobs = text_of(folder.path() + "/out/jobs.csv");
  const std::size_t digit = jobs.rfind('1');
  jobs[digit] = '2';
  folder.write("out/jobs.csv", jobs);
  for (const std::string command : {"report out", "compare whole out", "compare out whole", "explain out measured",
                                    "plot cdf out -o a.svg", "plot cdf out/jobs.csv -o a.svg", "regress out --against whole",
                                    "bundle out -o b", "export results paje out -o a.paje"}) {
    INFO(command);
    const Ended ended = run_program(folder.path(), words_of(command));
    CHECK(ended.status == 3);
    CHECK(ended.err.find("out/jobs.csv: expected " + std::to_string(jobs.size()) + " bytes with the SHA-256 ") !=
          std::string::npos);
    CHECK(ended.err.find("as Rehearse wrote it (rehearse run s.json --out out --replace makes the results again)") !=
          std::string::npos);
  }
  // The command that the message names.
  CHECK(run_program(folder.path(), {"run", "s.json", "--out", "out", "--replace"}).status == 0);
  CHECK(files_of(folder.path() + "/out") == files_of(folder.path() + "/whole"));
  // Times are not the same from run to run: their sum stands in their own file.
  std::string timing = text_of(folder.path() + "/out/timing.json");
  timing[timing.find("\"max_rss_bytes\": ") + 17] = '0';
  folder.write("out/timing.json", timing);
  const Ended timed = run_program(folder.path(), {"regress", "out", "--against", "whole"});
  CHECK(timed.status == 3);
  CHECK(timed.err.find("out/timing.json: expected a text with the SHA-256 ") != std::string::npos);
}

TEST_CASE("a report that is made again belongs to its results") {
  const TemporaryFolder folder;
  folder.write("s.json", kNoisy);
  run(folder, "s.json", "out");
  if (!fs::exists(folder.path() + "/out/report.html")) return;  // built without it
  CHECK(run_program(folder.path(), {"report", "out", "--timing"}).status == 0);
  CHECK(run_program(folder.path(), {"bundle", "out", "-o", "b"}).status == 0);
  folder.write("out/report.html", "mine");
  CHECK(run_program(folder.path(), {"compare", "out", "out"}).status == 0);
  CHECK(run_program(folder.path(), {"bundle", "out", "-o", "c"}).status == 3);
  CHECK(run_program(folder.path(), {"report", "out"}).status == 0);
  CHECK(run_program(folder.path(), {"bundle", "out", "-o", "c"}).status == 0);
}

TEST_CASE("too few open files and too small a stack are told with the limit and what raises it") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& limit) {
    const int status = std::system(
        ("cd '" + folder.path() + "' && (" + limit + "; exec '" + program_path() + "' list models) >out 2>said").c_str());
    return std::to_string(WEXITSTATUS(status)) + ": " + text_of(folder.path() + "/said");
  };
  CHECK(said("ulimit -n 16") ==
        "3: rehearse needs at least 32 open files, and this shell allows 16: start it after \"ulimit -n 1024\" in a shell that "
        "may raise "
        "that\n");
  CHECK(said("ulimit -s 256") ==
        "3: rehearse needs at least 1024 KiB of stack, and this shell allows 256: start it after \"ulimit -s 8192\" in a shell "
        "that may "
        "raise that\n");
  CHECK(said("ulimit -Sn 16; ulimit -Ss 256") == "0: ");  // the soft limits are raised
}

}  // namespace
