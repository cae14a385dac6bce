// Good scenarios: what the loader makes of them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>

#include "experiments/load.hpp"
#include "scenarios/read/convergence_json.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using Catch::Matchers::Contains;
using rehearse::scenarios::convergence_json;
using rehearse::scenarios::load_scenario;
using rehearse::scenarios::Scenario;

const std::string kMinimal = R"({
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "gpus": 1, "duration_s": 60 } ],
  "policies": [ "manual" ] })";

TEST_CASE("a minimal scenario, and its defaults") {
  const TemporaryFolder folder;
  const auto scenario = load_scenario(folder.write("my own.json", kMinimal), {});
  CHECK(scenario->name == "my own");
  CHECK(scenario->seed == 0);
  CHECK(scenario->policy_seed == 0);
  CHECK(scenario->repetitions == 1);
  CHECK(scenario->baseline == "manual");
  CHECK(scenario->policies.front().queue.name == "fifo");
  CHECK(scenario->jobs.front().name == "job-1");
  CHECK(scenario->jobs.front().work == rehearse::sim::Work::rigid);
  CHECK(scenario->cluster.pools.front().nodes == 2);
  CHECK(scenario->warnings.empty());
}

TEST_CASE("policy_seed follows seed unless given") {
  const TemporaryFolder folder;
  const auto load = [&](const std::string& head) {
    return load_scenario(folder.write("s.json", with(kMinimal, R"("cluster")", head + R"("cluster")")), {});
  };
  CHECK(load(R"("seed": 5, )")->policy_seed == 5);
  CHECK(load(R"("seed": 5, "policy_seed": 6, )")->policy_seed == 6);
  CHECK(load(R"("seed": 5.0, )")->seed == 5);
  CHECK_FALSE(load(R"("seed": 5, )")->policies.front().policy_seed);
  const std::string own = with(kMinimal, R"([ "manual" ])", R"([ { "name": "own", "policy_seed": 7 } ])");
  CHECK(load_scenario(folder.write("own.json", own), {})->policies.front().policy_seed == 7);
}

TEST_CASE("a world by name, and a preset whose errors keep their proportions") {
  const TemporaryFolder folder;
  const auto load = [&](const std::string& world) {
    const std::string text = with(kMinimal, R"("cluster")", R"("world": )" + world + R"(, "cluster")");
    return load_scenario(folder.write("s.json", text), {})->world_errors;
  };
  CHECK(load(R"("calibrated")").model_error == 0.10);
  CHECK(load(R"("calibrated")").memory_error == 0.05);
  CHECK(load(R"("datasheet")").model_error == 0.3);
  CHECK(load(R"({ "preset": "datasheet" })").workers_error == 0.08);
  CHECK(load(R"({ "preset": "datasheet", "memory_error": 0 })").memory_error == 0);
  CHECK(load(R"({ "preset": "datasheet", "model_error": 0.15 })").batch_error == Approx(0.04));
  CHECK(load(R"({ "preset": "datasheet", "model_error": 0 })").none());
  CHECK_FALSE(load(R"("datasheet")").is_of_other_form);
  CHECK(load(R"("other-form")").is_of_other_form);
  CHECK(load(R"("other-form")").model_error == 0.3);
  CHECK(load(R"({ "preset": "other-form", "model_error": 0 })").none());
  CHECK(load(R"({ "preset": "other-form", "model_error": 0 })").is_of_other_form);
  CHECK(load(R"({ "model_error": 0.2 })").sync_error == Approx(0.3));
  CHECK(load(R"({ "model_error": 0.2 })").batch_error == 0);
}

TEST_CASE("the resolved scenario has the overrides, and loads again") {
  const TemporaryFolder folder;
  const auto scenario = load_scenario(folder.write("s.json", kMinimal), {.overrides = {{"/seed", "7"}, {"/name", "renamed"}}});
  CHECK(scenario->seed == 7);
  CHECK(scenario->name == "renamed");
  const auto again = load_scenario(folder.write("again.json", scenario->resolved), {});
  CHECK(again->seed == 7);
  CHECK(again->name == "renamed");
  CHECK(again->resolved == scenario->resolved);
}

TEST_CASE("the resolved scenario has its files' fingerprints, and tells of a file that has changed") {
  const TemporaryFolder folder;
  folder.write("jobs.csv", "job_id,submit_s,gpus,duration_s\na,0,1,60\n");
  const auto scenario = load_scenario(
      folder.write("s.json", with(kMinimal, R"({ "gpus": 1, "duration_s": 60 })", R"({ "trace": "jobs.csv" })")), {});
  CHECK(scenario->resolved.find("\"jobs.csv\": \"" + scenario->inputs.at(0).sha256) != std::string::npos);
  const std::string again = folder.write("again.json", scenario->resolved);
  CHECK(load_scenario(again, {})->warnings.empty());
  folder.write("jobs.csv", "job_id,submit_s,gpus,duration_s\na,0,1,61\n");
  CHECK(load_scenario(again, {})->warnings ==
        std::vector<std::string>{"\"jobs.csv\" has changed since this scenario was resolved"});
}

TEST_CASE("a strategy's learner chooses its variant, whose name the row has; a former name is accepted and said once") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& policies) {
    const std::string text = R"({ "name": "s", "cluster": { "pools": [ { "name": "a", "instance": "p3.2xlarge", "nodes": 2 } ] },
      "jobs": [ { "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.8 } ], "policies": )";
    return load_scenario(folder.write("s.json", text + policies + " }"), {});
  };
  const auto shared = read(R"([ { "name": "static-isotonic", "learner": "thesis" }, "static-isotonic",
    { "name": "mine", "configure": { "name": "static-isotonic", "learner": "thesis", "margin_quantile": 0.5 } },
    { "name": "bounds", "configure": { "name": "static-isotonic", "learner": "bounds" } } ])");
  std::vector<std::string> rows, strategies;
  for (const auto& spec : shared->policies) rows.push_back(spec.name), strategies.push_back(spec.configure.name);
  CHECK(rows == std::vector<std::string>{"static-isotonic-shared", "static-isotonic", "mine", "bounds"});
  CHECK(strategies == std::vector<std::string>{"static-isotonic-shared", "static-isotonic", "static-isotonic-shared",
                                               "static-isotonic"});
  CHECK(shared->warnings.empty());
  const auto former = read(R"([ "static-isotonic", "active-isotonic", { "name": "a", "configure": "active-isotonic" } ])");
  CHECK(former->policies[1].name == "active-isotonic");  // rows of one scenario need names of their own
  CHECK(former->policies[1].configure.name == "static-isotonic");
  CHECK(former->policies[2].configure.name == "static-isotonic");
  CHECK(former->warnings == std::vector<std::string>{R"("active-isotonic" is a former name of strategy "static-isotonic")"});
}

TEST_CASE("jobs are sorted by date, in the file's order at one date, on the grid of dates") {
  const TemporaryFolder folder;
  const auto scenario = load_scenario(folder.write("s.json", with(kMinimal, R"({ "gpus": 1, "duration_s": 60 })", R"(
      { "job_id": "late", "submit_s": 10, "gpus": 1, "duration_s": 60 },
      { "job_id": "a", "submit_s": 5, "gpus": 1, "duration_s": 60 },
      { "job_id": "b", "submit_s": 5, "gpus": 1, "duration_s": 60 },
      { "job_id": "off-grid", "submit_s": 0.1, "gpus": 1, "duration_s": 60 })")),
                                      {});
  std::vector<std::string> names;
  for (const auto& job : scenario->jobs) names.push_back(job.name);
  CHECK(names == std::vector<std::string>{"off-grid", "a", "b", "late"});
  // 0.1 * 2^20 = 104857.6, rounded up.
  CHECK(scenario->jobs.front().submit_s == 104858 / 1048576.0);
}

const std::string kHardware = R"({
  "cluster": {
    "catalogues": [ "site.json" ],
    "devices": [ { "name": "npu", "kind": "gpu", "peak_flops": { "fp32": 3e13 } } ],
    "instances": [
      { "name": "npu.2x", "devices": [ { "device": "npu", "count": 2 } ], "cpu": "xeon-e5-2686-v4", "price_usd_per_hour": 2 },
      { "name": "site.big", "devices": [ { "device": "v100", "count": 8 } ], "price_usd_per_hour": 7 } ],
    "pools": [ { "name": "mine", "instance": "npu.2x", "nodes": 1 }, { "name": "big", "instance": "site.big", "nodes": 1 },
               { "name": "small", "instance": "site.small", "nodes": 1 } ] },
  "jobs": [ { "gpus": 1, "duration_s": 60 } ],
  "policies": [ "manual" ] })";

// What comes later wins: the program's own, then files that the scenario names, the scenario itself, files of the command line.
TEST_CASE("a later entry of the same name overrides an earlier one") {
  const TemporaryFolder folder;
  folder.write("site.json", R"({
    "devices": [ { "name": "v100", "kind": "gpu", "peak_flops": { "fp32": 1e13 } } ],
    "instances": [
      { "name": "site.big", "devices": [ { "device": "k80", "count": 4 } ], "price_usd_per_hour": 3 },
      { "name": "site.small", "devices": [ { "device": "v100" } ], "price_usd_per_hour": 1 } ] })");
  const std::string path = folder.write("s.json", kHardware);
  const auto price_of = [](const Scenario& s, std::size_t pool) {
    return s.cluster.instances[static_cast<std::size_t>(s.cluster.pools[pool].instance)].price_usd_per_hour;
  };
  const auto gpus_of = [](const Scenario& s, std::size_t pool) {
    return s.cluster.instances[static_cast<std::size_t>(s.cluster.pools[pool].instance)].gpus.front();
  };
  const auto scenario = load_scenario(path, {});
  CHECK(price_of(*scenario, 0) == 2);
  CHECK(price_of(*scenario, 1) == 7);  // the scenario's, not the file's 3
  CHECK(gpus_of(*scenario, 1).count == 8);
  CHECK(price_of(*scenario, 2) == 1);
  const auto& v100 = scenario->cluster.devices[static_cast<std::size_t>(gpus_of(*scenario, 2).device)];
  CHECK(v100.peak_fp32_flops == 1e13);  // the file's, not the program's 1.57e13

  const std::string last = folder.write(
      "last.json", R"({"instances": [{"name": "site.big", "devices": [{"device": "t4"}], "price_usd_per_hour": 9}]})");
  CHECK(price_of(*load_scenario(path, {.catalogues = {last}}), 1) == 9);
}

TEST_CASE("a name twice in one catalogue file is a mistake with the file's own place") {
  const TemporaryFolder folder;
  folder.write("site.json", R"({ "instances": [
    { "name": "site.big", "devices": [ { "device": "k80" } ] },
    { "name": "site.small", "devices": [ { "device": "k80" } ] },
    { "name": "site.big", "devices": [ { "device": "t4" } ] } ], "device": [] })");
  CHECK(complaints(folder, kHardware) ==
        "site.json:4:66: /device: found unknown key \"device\"; did you mean \"devices\"?\n"
        "site.json:4:5: /instances/2: expected a name that is given once, found \"site.big\" again");
}

TEST_CASE("a cluster's stack changes its devices, and precision where a job names none") {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& stack) {
    return load_scenario(folder.write("s.json", R"({
    "cluster": { )" + stack + R"(
      "stacks": [ { "name": "ours", "time_factor": 1.5, "launch_s": 3e-5, "precision": "bf16" } ],
      "pools": [ { "name": "p", "instance": "p3.2xlarge", "nodes": 1 } ] },
    "jobs": [ { "model": "resnet18", "dataset": "cifar10", "epochs": 1 },
              { "model": "resnet18", "dataset": "cifar10", "epochs": 1, "precision": "fp16" } ], "policies": [ "manual" ] })"),
                         {});
  };
  const auto sheet = with(""), none = with(R"("stack": "none",)"), named = with(R"("stack": "ours",)");
  const auto v100 = [](const Scenario& s) {
    return *std::ranges::find(s.cluster.devices, std::string("v100"), &rehearse::sim::Device::name);
  };
  CHECK(v100(*sheet).efficiency.launch_s == 1e-5);
  CHECK(v100(*none).efficiency.launch_s == 1e-5);
  CHECK_FALSE(sheet->stack);
  CHECK(v100(*named).efficiency.launch_s == 3e-5);
  CHECK(v100(*named).efficiency.model_factor == 1.5);
  REQUIRE(named->stack);
  CHECK(named->stack->name == "ours");
  CHECK(sheet->jobs[0].profile->precision == rehearse::sim::Precision::fp32);
  CHECK(named->jobs[0].profile->precision == rehearse::sim::Precision::bf16);
  CHECK(named->jobs[1].profile->precision == rehearse::sim::Precision::fp16);
}

TEST_CASE("own hardware has documented defaults; without a price it costs nothing, and the user is told") {
  const TemporaryFolder folder;
  const auto scenario = load_scenario(folder.write("s.json", R"({
    "cluster": {
      "devices": [ { "name": "npu", "kind": "gpu", "peak_flops": { "fp32": 3e13 } } ],
      "instances": [ { "name": "box", "devices": [ { "device": "npu" } ] } ],
      "pools": [ { "name": "p", "instance": "box", "nodes": 1 } ] },
    "jobs": [ { "gpus": 1, "duration_s": 60 } ], "policies": [ "manual" ] })"),
                                      {});
  const auto& npu = scenario->cluster.devices.front();
  CHECK(npu.peak_fp16_flops == 3e13);
  CHECK(npu.memory_bytes == 16.0 * 1024 * 1024 * 1024);
  CHECK(npu.memory_bandwidth_bytes_per_s == Approx(3e13 / 15));
  CHECK(npu.multiprocessors == 167);  // 3e13 / 1.8e11 = 166.7
  CHECK(scenario->warnings == std::vector<std::string>{"instance \"box\" has no price_usd_per_hour: it costs nothing"});
}

TEST_CASE("own model, dataset and convergence carry a job with a target") {
  const TemporaryFolder folder;
  const auto scenario = load_scenario(folder.write("s.json", R"({
    "datasets": [ { "name": "flowers", "training_samples": 6000, "validation_samples": 1000 } ],
    "models": [ { "name": "tiny", "dataset": "flowers", "global_batch": 64, "optimizer": "adam",
                  "cnn": { "conv_layers": 2, "filters": 8, "nodes": 32, "classes": 102 } } ],
    "convergence": [ { "model": "tiny", "dataset": "flowers", "reference_batch": 64, "reference_epochs": 20,
      "noise_scale": [ { "progress": 0, "samples": 500 } ],
      "phases": [ { "start_progress": 0, "ceiling": 0.9, "scale": 3, "exponent": 1 } ] } ],
    "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
    "jobs": [ { "model": "tiny", "target_accuracy": 0.8 } ],
    "policies": [ "manual" ] })"),
                                      {});
  const auto& job = scenario->jobs.front();
  CHECK(job.profile->dataset == "flowers");  // the model's own
  const auto& model = scenario->profile_models.of(*job.profile);
  CHECK(model.training_samples == 6000);
  CHECK(model.publication_batch == 64);
  CHECK(model.convergence->reference_epochs == 20);
}

TEST_CASE("fitted convergence reads back as it was written") {
  const rehearse::workloads::ConvergenceParameters c{.model = "resnet18",
                                                     .dataset = "cifar10",
                                                     .metric = "top-1",
                                                     .source = "my \"own\" curves\\",
                                                     .reference_batch = 64,
                                                     .reference_learning_rate = 0.3,
                                                     .reference_rate_fraction = 0.4,
                                                     .rate_exponent = 0.5,
                                                     .reference_epochs = 33,
                                                     .start_accuracy = 0.1,
                                                     .gap_batch = 77.7,
                                                     .staleness_loss = 0.01,
                                                     .noise = {{10, 123.456, 0.25}, {1e4, 1e4 / 3, 0}},
                                                     .phases = {{0, 0.7, 100, 1.5, 0.001}, {1000, 0.9, 20.5, 8, 0}}};
  const TemporaryFolder folder;
  std::string list = convergence_json({c});
  list = list.substr(list.find('[', list.find("\"convergence\"")));
  list = list.substr(0, list.rfind(']') + 1);
  const auto scenario = load_scenario(folder.write("s.json", R"({
    "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
    "convergence": )" + list + R"(,
    "jobs": [ { "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.8 } ],
    "policies": [ "manual" ] })"),
                                      {});
  const auto& read = scenario->profile_models.of(*scenario->jobs.front().profile).convergence;
  REQUIRE(read.has_value());
  CHECK(convergence_json({*read}) == convergence_json({c}));
  CHECK(read->source == c.source);
  CHECK(read->rate_exponent == 0.5);
  CHECK(read->noise[1].noise_scale == c.noise[1].noise_scale);
  CHECK(read->phases[1].exponent == 8);
}

TEST_CASE("a job's recipe gives its rule, its convergence and its ceiling; beside it the same pair without") {
  const TemporaryFolder folder;
  const auto scenario = load_scenario(folder.write("s.json", R"({
    "cluster": { "pools": [ { "name": "gpu", "instance": "p3.16xlarge", "nodes": 2 } ] },
    "recipes": [ { "name": "ours", "optimizer": "adam", "label_smoothing": 0.1, "outcomes": [ { "model": "resnet50",
      "dataset": "imagenet", "reference_batch": 512, "epochs": 50, "final_accuracy": 0.77, "critical_batch_factor": 2 } ] } ],
    "jobs": [ { "model": "resnet50", "dataset": "imagenet", "target_accuracy": 0.74 },
              { "model": "resnet50", "dataset": "imagenet", "recipe": "sgd-warmup", "target_accuracy": 0.76 },
              { "model": "resnet50", "dataset": "imagenet", "recipe": "sgd-warmup", "lr_rule": "sqrt", "target_accuracy": 0.76 },
              { "model": "resnet50", "dataset": "imagenet", "recipe": "ours", "target_accuracy": 0.765 } ],
    "policies": [ "manual" ] })"),
                                      {});
  const auto& jobs = scenario->jobs;
  const auto model = [&](std::size_t job) -> const rehearse::workloads::ProfileModel& {
    return scenario->profile_models.of(*jobs[job].profile);
  };
  CHECK(jobs[0].profile->recipe.empty());
  CHECK(model(0).convergence->source == rehearse::workloads::find_convergence("resnet50", "imagenet")->source);
  CHECK(jobs[1].profile->recipe == "sgd-warmup");
  CHECK(jobs[1].profile->lr_rule == rehearse::sim::LrRule::linear_warmup);
  CHECK(jobs[2].profile->lr_rule == rehearse::sim::LrRule::sqrt);
  CHECK(model(1).publication_batch == 256);
  CHECK(model(1).convergence->reference_batch == 256);
  CHECK(model(3).optimizer == rehearse::workloads::Optimizer::adam);
  CHECK(model(3).convergence->reference_batch == 512);
  CHECK(model(3).convergence->rate_exponent == 0.5);
}

TEST_CASE("relative paths begin at the scenario's folder; ${REHEARSE_DATA} at the optional data") {
  const TemporaryFolder folder, data;
  folder.write("jobs.csv", "job_id,submit_s,gpus,duration_s\na,100,1,60\nb,130,2,60\n");
  data.write("more.csv", "job_id,submit_s,gpus,duration_s\nc,7,1,60\n");
  const EnvironmentVariable set("REHEARSE_DATA", data.path().c_str());
  const auto scenario = load_scenario(
      folder.write("s.json", with(kMinimal, R"({ "gpus": 1, "duration_s": 60 })",
                                  R"({ "trace": "jobs.csv" }, { "trace": "${REHEARSE_DATA}/more.csv", "keep_origin": true })")),
      {});
  std::vector<std::pair<std::string, double>> jobs;
  for (const auto& job : scenario->jobs) jobs.emplace_back(job.name, job.submit_s);
  CHECK(jobs == std::vector<std::pair<std::string, double>>{{"a", 0}, {"c", 7}, {"b", 30}});
  CHECK(scenario->inputs.at(1).path == "${REHEARSE_DATA}/more.csv");  // as written: results do not depend on the machine
  CHECK(scenario->inputs.at(0).sha256.size() == 64);
}

TEST_CASE("a trace's jobs with a floor that is not modelled are dropped and accounted for") {
  const TemporaryFolder folder;
  folder.write("jobs.csv",
               "job_id,submit_s,model,dataset,epochs,target_accuracy\n"
               "a,0,bert,squad,2,0.8\nb,1,resnet18,cifar10,,0.8\nc,2,bert,squad,2,\n");
  const auto scenario = load_scenario(
      folder.write("s.json", with(kMinimal, R"({ "gpus": 1, "duration_s": 60 })", R"({ "trace": "jobs.csv" })")), {});
  REQUIRE(scenario->jobs.size() == 2);
  CHECK(scenario->jobs[0].name == "b");
  CHECK(scenario->inputs.at(0).jobs == 2);
  REQUIRE(scenario->inputs.at(0).dropped.size() == 1);
  CHECK(scenario->inputs.at(0).dropped[0].rows == 1);
}

TEST_CASE("a history of one's own") {
  const TemporaryFolder folder;
  folder.write("past.csv",
               "model,dataset,instance,workers,batch_size,samples,epochs,time_s,accuracy\n"
               "vgg16,imagenet,p3.2xlarge,1,64,1000,1,10,0.5\n");
  const auto scenario = load_scenario(
      folder.write("s.json", with(kMinimal, R"("cluster")", R"("history": { "file": "past.csv" }, "cluster")")), {});
  REQUIRE(scenario->history.own.size() == 1);
  CHECK(scenario->history.own.front().time_s == 10);
  CHECK(scenario->warnings == std::vector<std::string>{"history: without column precision: all runs count as fp32",
                                                       "history: without column lr_rule: all runs count as adascale"});
}

TEST_CASE("every shipped scenario loads") {
  const TemporaryFolder folder;
  int loaded = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(REHEARSE_SOURCE_DIR "/scenarios")) {
    if (entry.path().extension() != ".json" || entry.path().filename() == "scenario.schema.json") continue;
    // A suite of regressions names scenarios beside it; what is recorded of them are results.
    if (entry.path().filename() == "suite.json" || entry.path().string().find("/recorded/") != std::string::npos) continue;
    INFO(entry.path());
    const std::string said = complaints_about(folder, entry.path().string());
    // Without the optional data every mistake is that it is missing.
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK((std::getenv("REHEARSE_DATA") == nullptr && line.find("variable REHEARSE_DATA") != std::string::npos));
    }
    ++loaded;
  }
  CHECK(loaded >= 3);
}

}  // namespace

TEST_CASE("a pool is dominated by what was measured of the models, not by the data sheet alone") {
  const TemporaryFolder folder;
  const auto warnings = [&](const std::string& corrections) {
    return load_scenario(folder.write("s.json", R"({
      "cluster": {
        "devices": [
          { "name": "new", "peak_flops": { "fp32": 2e13 }, "corrections": [)" +
                                                    corrections + R"(] },
          { "name": "old", "peak_flops": { "fp32": 1e13 } } ],
        "instances": [
          { "name": "new.1x", "devices": [ { "device": "new" } ], "price_usd_per_hour": 1 },
          { "name": "old.1x", "devices": [ { "device": "old" } ], "price_usd_per_hour": 4 } ],
        "pools": [ { "name": "new", "instance": "new.1x", "nodes": 1 }, { "name": "old", "instance": "old.1x", "nodes": 1 } ] },
      "jobs": [ { "model": "resnet50", "dataset": "imagenet", "epochs": 1 } ],
      "policies": [ "manual" ] })"),
                         {})
        ->warnings;
  };
  CHECK(warnings("") == std::vector<std::string>{"pool \"new\" is faster and cheaper than pool \"old\" for every model: savings "
                                                 "over the latter mean nothing"});
  CHECK(warnings(R"({ "model": "resnet50", "dataset": "imagenet", "time_factor": 5 })").empty());
  CHECK(warnings(R"({ "model": "vgg16", "dataset": "imagenet", "time_factor": 5 })").size() == 1);  // of another model
}

TEST_CASE("a rigid job names nodes and several pools") {
  const TemporaryFolder folder;
  const auto scenario_with = [&](const std::string& job) {
    return folder.write("s.json", R"({ "name": "s", "policies": [ { "name": "easy", "queue": "easy" } ], "cluster": { "pools": [
      { "name": "a", "instance": "p3.16xlarge", "nodes": 4 }, { "name": "b", "instance": "p4d.24xlarge", "nodes": 1 } ] },
      "jobs": [ )" + job + " ] }");
  };
  const std::string rigid = R"("gpus": 8, "duration_s": 60)";
  const auto job =
      load_scenario(scenario_with("{ " + rigid + R"(, "nodes": 1, "pool": [ "a", { "name": "b", "speed": 2.5 } ] })"), {})
          ->jobs.at(0);
  CHECK(job.nodes == 1);
  CHECK(job.pool == -1);
  REQUIRE(job.pools.size() == 2);
  CHECK(job.duration_on_s(0) == 60);
  CHECK(job.duration_on_s(1) == 24);
  const auto alike = load_scenario(scenario_with("{ " + rigid + R"(, "pool": "a;b:2.5" })"), {})->jobs.at(0);
  CHECK(alike.duration_on_s(1) == 24);
  CHECK(load_scenario(scenario_with("{ " + rigid + R"(, "pool": [ "b" ] })"), {})->jobs.at(0).pool == 1);

  const auto said = [&](const std::string& more) { return complaints_about(folder, scenario_with("{ " + more + " }")); };
  CHECK_THAT(said(rigid + R"(, "nodes": 3)"), Contains("/jobs/0/nodes") && Contains("a number that divides its gpus"));
  CHECK_THAT(said(R"("model": "resnet50", "epochs": 2, "nodes": 1)"), Contains("nothing without duration_s"));
  CHECK_THAT(said(rigid + R"(, "pool": [ "a", "c" ])"), Contains("/jobs/0/pool/1") && Contains("\"c\""));
  CHECK_THAT(said(rigid + R"(, "pool": [ "a", "a" ])"), Contains("a pool that is named once"));
  CHECK_THAT(said(rigid + R"(, "pool": [])"), Contains("at least one pool"));
  CHECK_THAT(said(rigid + R"(, "pool": [ { "name": "b", "speed": 0 } ])"), Contains("/jobs/0/pool/0/speed"));
  CHECK_THAT(said(rigid + R"(, "pool": [ { "name": "b", "sped": 2 } ])"), Contains("sped"));
  CHECK_THAT(said(R"("model": "resnet50", "epochs": 2, "pool": [ { "name": "b", "speed": 2 } ])"),
             Contains("pools without a speed"));
  CHECK(said(R"("model": "resnet50", "epochs": 2, "pool": [ "b", "a" ])").empty());
}
