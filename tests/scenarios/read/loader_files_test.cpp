// What the loader says about the files that a scenario names, and about --set.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "experiments/load.hpp"
#include "tests/scenarios/mistakes.hpp"

namespace {

/// The base with one more key at its end, from line 5 column 3 on.
std::string with_key(const std::string& member) { return with(kBase, "[ \"manual\" ] }", "[ \"manual\" ],\n  " + member + " }"); }

TEST_CASE("files that a scenario names") {
  const EnvironmentVariable unset("REHEARSE_DATA", nullptr);
  check_all({
      {"'gpus': 1, 'duration_s': 60", "'trace': 'none.csv'",
       "s.json:3:24: /jobs/0/trace: expected a readable file, found no such file: none.csv"},
      {"'gpus': 1, 'duration_s': 60", "'trace': '.'",
       "s.json:3:24: /jobs/0/trace: expected a readable file, found a directory: ."},
      {"'gpus': 1, 'duration_s': 60", "'trace': '${REHEARSE_DATA}/a.csv'",
       R"(s.json:3:24: /jobs/0/trace: expected the environment variable REHEARSE_DATA to name the folder of the optional data (README, "Optional data"), found "${REHEARSE_DATA}/a.csv")"},
      {"'gpus': 1, 'duration_s': 60", "'trace': '${REHEARSE_DATA}/e.csv', 'format': 'elasticflow-rigid'",
       R"(s.json:3:24: /jobs/0/trace: expected the environment variable REHEARSE_DATA to name the folder of the optional data (README, "Optional data"), or --set /jobs/0/trace=FILE; to get the file, download data/elasticflow-traces.tar.gz of the GitHub repository microsoft/elasticflow-traces and unpack it; the one of 195 jobs is 195job.csv, found "${REHEARSE_DATA}/e.csv")"},
      {"'gpus': 1, 'duration_s': 60", "'trace': 3", "s.json:3:24: /jobs/0/trace: expected a text in double quotes, found 3"},
      {"'seed': 1", "'history': { 'file': 'none.csv' }",
       "s.json:1:24: /history/file: expected a readable file, found no such file: none.csv"},
      {"'cluster': { ", "'cluster': { 'catalogues': [ 'none.json' ], ",
       "s.json:2:32: /cluster/catalogues/0: expected a readable file, found no such file: none.json"},
  });
}

TEST_CASE("rows of a history") {
  const TemporaryFolder folder;
  const std::string header = "model,dataset,instance,workers,batch_size,samples,epochs,time_s,accuracy\n";
  const std::string good = "vgg16,imagenet,p3.2xlarge,1,64,1000,1,10,0.5\n";
  const auto said = [&](const std::string& csv) {
    folder.write("past.csv", csv);
    return complaints(folder, with_key("\"history\": { \"file\": \"past.csv\" }"));
  };
  CHECK(said(header + good) == "");
  CHECK(said("") == "s.json:5:24: /history/file: expected a line with the columns' names, found an empty file: past.csv");
  CHECK(said(header) == "past.csv:1: expected at least one past run");
  CHECK(said("model,dataset\n" + good) ==
        "past.csv:1: expected a column \"instance\", found model, dataset\n"
        "past.csv:1: expected a column \"workers\", found model, dataset\n"
        "past.csv:1: expected a column \"batch_size\", found model, dataset\n"
        "past.csv:1: expected a column \"samples\", found model, dataset\n"
        "past.csv:1: expected a column \"epochs\", found model, dataset\n"
        "past.csv:1: expected a column \"time_s\", found model, dataset\n"
        R"(past.csv:1: expected a column "accuracy", found model, dataset)");
  CHECK(said("color," + header) == R"(past.csv:1: found unknown column "color")");
  CHECK(said(header + good + "vgg16,imagenet,p3.2xlarge,0,64,1000,1,-10,1.5\n") ==
        "past.csv:3: workers: expected a whole number from 1 to 1000000, found \"0\"\n"
        "past.csv:3: time_s: expected a number above 0, found \"-10\"\n"
        R"(past.csv:3: accuracy: expected a number from 0 to 1, found "1.5")");
  CHECK(said(header + "vgg16,imagenet,p3.2xlarge,1,64\n") == "past.csv:2: expected 9 fields, found 5");
  CHECK(said(header + "vgg16,imagenet,p3.2xlarge,nan,64,1000,1,inf,0.5\n") ==
        "past.csv:2: workers: expected a whole number from 1 to 1000000, found \"nan\"\n"
        R"(past.csv:2: time_s: expected a number above 0, found "inf")");
}

TEST_CASE("--set") {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& pointer, const std::string& value) {
    return complaints(folder, kBase, {{pointer, value}});
  };
  CHECK(said("/seed", "3") == "");
  CHECK(said("/jobs/-", R"({"gpus": 1, "duration_s": 5})") == "");
  CHECK(said("/name", "free text") == "");
  CHECK(said("/sed", "3") == R"(--set: /sed: found unknown key "sed"; did you mean "seed"?)");
  CHECK(said("/seed", "-3") == "--set: /seed: expected a whole number of at least 0, found -3");
  CHECK(said("/cluster/pols/0/nodes", "3") ==
        R"(--set: /cluster/pols/0/nodes: expected a key of /cluster, found "pols"; did you mean "pools"?)");
  CHECK(said("/jobs/7/gpus", "3") == R"(--set: /jobs/7/gpus: expected an index from 0 to 0 in /jobs, found "7")");
  CHECK(said("/seed/3", "3") == "--set: /seed/3: expected /seed to be an object or a list, found 1");
  CHECK(said("", "3") == R"(--set: expected a JSON pointer that starts with "/", found ""; did you mean "/"?)");
  CHECK(said("/jobs/0/gpus", "1e400") == R"(--set: /jobs/0/gpus: expected a whole number from 1 to 1000000, found "1e400")");
}

TEST_CASE("a trace that contradicts itself or its cluster: the run goes on with the rest, or stops") {
  const TemporaryFolder folder;
  // The pool has two nodes of one GPU each. Kept: "wide", spread over both nodes, and "early", sorted.
  folder.write("jobs.csv",
               "job_id,submit_s,gpus,duration_s,gpu_type\n"
               "wide,9,2,60,V100\n"
               "too-large,9,3,60,\n"
               "early,5,1,60,T4\n"
               "endless,9,1,-60,\n");
  const auto scenario = [&](const std::string& entry) {
    return folder.write("s.json", with(kBase, R"({ "gpus": 1, "duration_s": 60 })", "{ \"trace\": \"jobs.csv\"" + entry + " }"));
  };
  for (const std::string entry : {"", R"(, "on_contradiction": "drop")"}) {
    const auto loaded = rehearse::scenarios::load_scenario(scenario(entry), {});
    REQUIRE(loaded->jobs.size() == 2);
    CHECK(loaded->jobs[0].name == "early");
    const auto& input = loaded->inputs.at(0);
    REQUIRE(input.dropped.size() == 2);
    CHECK(input.dropped[0].reason == "gpus: at most 2 GPUs, all of the largest pool, found \"3\"");
    CHECK(input.dropped[0].first_lines == std::vector<std::int64_t>{3});
    REQUIRE(input.repaired.size() == 3);
    CHECK(input.repaired[0].reason == "gpus: at most 1 GPUs, all of the largest node: spread over several, found \"2\"");
    CHECK(input.repaired[1].reason.substr(0, 9) == "submit_s:");
    CHECK(input.repaired[2].reason == "gpu_type: a GPU of the cluster: set aside, the job runs on any, found \"T4\"");
  }
  const std::string base =
      with(kBase, R"({ "gpus": 1, "duration_s": 60 })", R"({ "trace": "jobs.csv", "on_contradiction": "stop" })");
  CHECK(complaints(folder, base) ==
        "jobs.csv:3: gpus: expected at most 2 GPUs, all of the largest pool, found \"3\"\n"
        "jobs.csv:5: duration_s: expected a number above 0 and of at most 8589934592, found \"-60\"\n"
        "jobs.csv:2: gpus: expected at most 1 GPUs, all of the largest node: spread over several, found \"2\"\n"
        "jobs.csv:4: submit_s: expected dates that never decrease: sorted, found \"5\"\n"
        "jobs.csv:4: gpu_type: expected a GPU of the cluster: set aside, the job runs on any, found \"T4\"");
  folder.write("jobs.csv", "job_id,submit_s,gpus,duration_s\na,0,1,60\n");
  CHECK(complaints(folder, base) == "");
  CHECK(complaints(folder, with(base, "\"stop\"", "\"halt\"")) ==
        R"(s.json:3:56: /jobs/0/on_contradiction: expected one of "drop", "stop", found "halt")");
}

}  // namespace
