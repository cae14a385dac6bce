// The whole program: exit statuses, what it says where, and which files it leaves.
#include "tests/cli/program.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace {

namespace fs = std::filesystem;

const std::string kGood = R"({
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "gpus": 1, "duration_s": 60 } ],
  "policies": [ "manual" ] })";

/// Beside report.html, which is there only when the program was built with npm at hand.
const std::set<std::string> kResults{"decisions.csv", "events.jsonl",    "jobs.csv",        "manifest.json",
                                     "nodes.csv",     "predictions.csv", "repetitions.csv", "scenario.json",
                                     "stages.csv",    "summary.json",    "timing.json",     "utilization.csv"};

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

std::set<std::string> results_in(const std::string& folder) {
  std::set<std::string> names = names_in(folder);
  names.erase("report.html");
  return names;
}

TEST_CASE("wrong usage: status 2, help on stderr, nothing on stdout") {
  const TemporaryFolder folder;
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {},
           {"run"},
           {"check"},
           {"list"},
           {"list", "modles"},
           {"chek", "s.json"},
           {"run", "s.json", "--processes", "0"},
           {"run", "s.json", "--processes", "many"},
           {"run", "s.json", "--prosesses", "1"},
           {"run", "s.json", "another.json"},
           {"run", "s.json", "--resume", "--replace"},
       }) {
    INFO((arguments.empty() ? "" : arguments.front()));
    const Ended ended = run_program(folder.path(), arguments);
    CHECK(ended.status == 2);
    CHECK(ended.out == "");
    CHECK(ended.err != "");
  }
  CHECK(has(run_program(folder.path(), {"chek", "s.json"}).err, "did you mean \"check\"?"));
  CHECK(names_in(folder.path()).empty());
}

TEST_CASE("links that calibrate fits are those that a run uses") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({
    "cluster": { "pools": [ { "name": "gpu", "instance": "p2.8xlarge", "nodes": 1 } ] },
    "jobs": [ { "model": "resnet50", "dataset": "imagenet", "steps": 1000, "gpus": 8, "batch_size": 512 } ],
    "policies": [ "manual" ], "world": { "model_error": 0 } })");
  // Eight workers' step, of a run with what is calibrated on a worker's step of 1.25 s and on this step of eight.
  const auto step_s = [&](const std::string& measured_s) {
    folder.write("m.csv",
                 "model,dataset,device,instance,nodes,workers_per_node,batch_per_worker,sync,step_s\n"
                 "resnet50,imagenet,k80,p2.8xlarge,1,1,64,ring,1.25\n"
                 "resnet50,imagenet,k80,p2.8xlarge,1,8,64,ring," +
                     measured_s + "\n");
    const Ended calibrated = run_program(folder.path(), {"calibrate", "m.csv", "-o", "c.json"});
    CHECK(calibrated.status == 0);
    CHECK(has(calibrated.out, "1 device and 1 instance"));
    CHECK(run_program(folder.path(), {"run", "s.json", "--catalogue", "c.json", "--out", "r"}).status == 0);
    std::istringstream stages(text_of(folder.path() + "/r/stages.csv"));
    fs::remove_all(folder.path() + "/r");
    std::string header, row, name, value;
    std::getline(stages, header);
    std::getline(stages, row);
    for (std::istringstream names(header), values(row); std::getline(names, name, ',') && std::getline(values, value, ',');)
      if (name == "step_s") return std::stod(value);
    return 0.0;
  };
  CHECK(step_s("2.5") == Approx(2.5).epsilon(0.02));
  CHECK(step_s("5") == Approx(5).epsilon(0.02));
}

TEST_CASE("help and version are no mistakes") {
  const TemporaryFolder folder;
  CHECK(run_program(folder.path(), {"--help"}).status == 0);
  CHECK(run_program(folder.path(), {"run", "--help"}).status == 0);
  CHECK(run_program(folder.path(), {"--version"}).status == 0);
}

TEST_CASE("list tells of everything there is") {
  const TemporaryFolder folder;
  const auto listed = [&](const std::string& what) {
    const Ended ended = run_program(folder.path(), {"list", what});
    CHECK(ended.status == 0);
    CHECK(ended.err == "");
    return ended.out;
  };
  CHECK(has(listed("models"), "\nresnet50 "));
  CHECK(has(listed("devices"), "\nv100 "));
  CHECK(has(listed("instances"), "\np3.2xlarge "));
  CHECK(has(listed("policies"), "\nstatic-isotonic-shared "));
  CHECK(has(listed("strategies"), "per_pool (false)"));
  CHECK(has(listed("formats"), "native "));
}

TEST_CASE("invalid input: status 3, every mistake on a line of stderr, nothing written") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "sed": 1,
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarg", "nodes": 2 } ] },
  "jobs": [ { "gpus": 1, "duration_s": 60 } ],
  "policies": [ "manual" ] })");
  const std::string said =
      "s.json:2:56: /cluster/pools/0/instance: expected the name of an instance, found \"p3.2xlarg\"; did you mean "
      "\"p3.2xlarge\"?\n"
      "s.json:1:3: /sed: found unknown key \"sed\"; did you mean \"seed\"?\n";
  for (const std::string command : {"check", "run"}) {
    const Ended ended = run_program(folder.path(), {command, "s.json"});
    CHECK(ended.status == 3);
    CHECK(ended.out == "");
    CHECK(ended.err == said);
  }
  CHECK(run_program(folder.path(), {"run", "none.json"}).status == 3);
  CHECK(run_program(folder.path(), {"check", "."}).status == 3);
  CHECK(run_program(folder.path(), {"check", "s.json", "--set", "seed=3"}).err ==
        "--set: expected /pointer=value, found \"seed=3\"\n");
  CHECK(run_program(folder.path(), {"check", "s.json", "--catalogue", "none.json"}).status == 3);
  CHECK(names_in(folder.path()) == std::set<std::string>{"s.json"});
}

TEST_CASE("check tells of a trace's rows what run tells, and of one redrawn trace that it is one") {
  const TemporaryFolder folder;
  std::string trace = "job_id,submit_s,gpus,duration_s\nbad,0,9999,-5\n";
  for (int day = 0; day < 20; ++day) trace += "j" + std::to_string(day) + "," + std::to_string(86400 * day) + ",1,600\n";
  folder.write("t.csv", trace);
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "p", "instance": "p3.2xlarge", "nodes": 2 } ] },
    "jobs": [ { "trace": "t.csv" } ], "resample": "blocks", "resample_block_s": 86400, "policies": [ "manual" ] })");
  const Ended checked = run_program(folder.path(), {"check", "s.json"});
  CHECK(checked.status == 0);
  const std::string rows = checked.out.substr(0, checked.out.find("\n\n"));
  CHECK(has(rows, "t.csv: 21 rows, 20 used\n  1 dropped: duration_s"));
  CHECK(has(run_program(folder.path(), {"run", "s.json", "--out", "out"}).out, rows));
  CHECK(has(checked.out, "\"resample\": every policy gets one redrawn trace"));
  CHECK_FALSE(has(run_program(folder.path(), {"check", "s.json", "--set", "/repetitions=3"}).out, "one redrawn trace"));
}

TEST_CASE("check says what is there, and runs nothing") {
  const TemporaryFolder folder;
  folder.write("s.json", kGood);
  const Ended ended = run_program(folder.path(), {"check", "s.json", "--set", "/repetitions=3"});
  CHECK(ended.status == 0);
  CHECK(ended.out.starts_with("s.json: no mistakes; 1 job, 1 pool, 1 policy, 3 repetitions\nestimate: 1 job and about "));
  CHECK(ended.err == "");
  CHECK(names_in(folder.path()) == std::set<std::string>{"s.json"});
}

TEST_CASE("run leaves its results in results/<name>, or where --out says") {
  const TemporaryFolder folder;
  folder.write("s.json", kGood);
  const Ended ended = run_program(folder.path(), {"run", "s.json"});
  CHECK(ended.status == 0);
  CHECK(ended.err == "");
  CHECK(has(ended.out, "Results: results/s\n"));
  CHECK(names_in(folder.path() + "/results") == std::set<std::string>{"s"});
  CHECK(results_in(folder.path() + "/results/s") == kResults);
  CHECK(run_program(folder.path(), {"run", "s.json", "--out", "mine"}).status == 0);
  CHECK(run_program(folder.path(), {"run", "s.json", "--out", "deep/below/"}).status == 0);
  CHECK(run_program(folder.path(), {"run", "s.json", "--out", ""}).status == 2);
  CHECK(names_in(folder.path() + "/deep") == std::set<std::string>{"below"});
  // The resolved scenario is enough to run again.
  CHECK(run_program(folder.path(), {"run", "mine/scenario.json", "--out", "again", "--set", "/name=s"}).status == 0);
  CHECK(text_of(folder.path() + "/again/jobs.csv") == text_of(folder.path() + "/mine/jobs.csv"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"again", "deep", "mine", "results", "s.json"});
}

TEST_CASE("report makes the page that run has made, or says how to get it") {
  const TemporaryFolder folder;
  folder.write("s.json", kGood);
  const Ended ended = run_program(folder.path(), {"run", "s.json", "--out", "out"});
  REQUIRE(ended.status == 0);
  const auto report = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "report");
    return run_program(folder.path(), arguments);
  };
  if (!fs::exists(folder.path() + "/out/report.html")) {
    CHECK(has(ended.out, "built without the HTML report"));
    CHECK(report({"out"}).status == 3);
    CHECK(has(report({"out"}).err, "npm"));
    return;
  }
  const std::string page = text_of(folder.path() + "/out/report.html");
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(report({"out", "--out", "again.html"}).status == 0);
  CHECK((text_of(folder.path() + "/again.html") == page));
  CHECK(report({"out", "out"}).status == 0);
  CHECK((text_of(folder.path() + "/out/report.html") == page));
  CHECK(report({"out", "--timing", "-o", "timed.html"}).status == 0);
  CHECK(has(text_of(folder.path() + "/timed.html"), "\"decision_time_s\""));
  CHECK_FALSE(has(page, "\"decision_time_s\""));
  CHECK(report({"out", "out", "-o", "one.html"}).status == 3);
  CHECK(report({"nowhere"}).status == 3);
  CHECK(report({}).status == 2);
  CHECK(run_program(folder.path(), {"run", "s.json", "--out", "bare", "--set", "/output={\"report\": false, \"nodes\": false}"})
            .status == 0);
  CHECK_FALSE(fs::exists(folder.path() + "/bare/report.html"));
  CHECK_FALSE(fs::exists(folder.path() + "/bare/nodes.csv"));
}

TEST_CASE("earlier results are replaced; anything else is left as it is") {
  const TemporaryFolder folder;
  folder.write("s.json", kGood);
  const auto run_to = [&](const std::string& out) { return run_program(folder.path(), {"run", "s.json", "--out", out}); };
  CHECK(run_to("out").status == 0);
  folder.write("out/notes.txt", "mine");
  CHECK(run_to("out").status == 0);
  CHECK(text_of(folder.path() + "/out/notes.txt") == "mine");
  fs::remove(folder.path() + "/out/notes.txt");
  CHECK(results_in(folder.path() + "/out") == kResults);

  fs::create_directory(folder.path() + "/empty");
  CHECK(run_to("empty").status == 0);

  fs::create_directory(folder.path() + "/photos");
  folder.write("photos/summary.json", "{}");
  const Ended refused = run_to("photos");
  CHECK(refused.status == 3);
  CHECK(refused.err ==
        "photos: expected a folder that is new, empty or holds earlier results, found a folder with other files\n");
  CHECK(text_of(folder.path() + "/photos/summary.json") == "{}");
  CHECK(run_to("s.json").status == 3);
  CHECK(run_to("s.json/below").status == 3);
  CHECK(run_to("/proc/none").status == 3);
  CHECK(text_of(folder.path() + "/s.json") == kGood);
  CHECK(names_in(folder.path()) == std::set<std::string>{"empty", "out", "photos", "s.json"});
}

// A scenario that runs for minutes, so that it is not over before the signal comes.
TEST_CASE("other people's training runs: imported, and chosen from") {
  const TemporaryFolder folder;
  folder.write(
      "theirs.csv",
      "n_workers,learning_rate,batch_size,synchronism,training_time,n_ps,acc,vm_flavor,training_set_size,total_iterations\n"
      "1,0.01,16,sync,500,1,0.9,t2.small,1000,160\n"
      "2,0.01,16,sync,300,1,0.8,t2.small,1000,160\n"
      "2,0.01,16,sync,300,1,0.8,t2.tiny,1000,160\n"
      "4,0.01,16,sync,600,1,0.5,t2.small,1000,100\n");
  folder.write("s.json",
               R"({ "study": { "name": "measured-runs", "table": "ours.csv" }, "policies": [ "oracle", "static-isotonic-shared" ] })");
  const Ended imported = run_program(folder.path(), {"import", "history", "trimtuner", "theirs.csv", "-o", "ours.csv"});
  CHECK(imported.status == 0);
  CHECK(has(imported.out, "theirs.csv: 4 rows, 3 runs, 1 row dropped\n  1 dropped: vm_flavor: expected one of t2.small"));
  CHECK(has(imported.out, "  1 kept all the same: training_time: expected below 595 s"));
  const Ended ended = run_program(folder.path(), {"run", "s.json"});
  CHECK(ended.status == 0);
  CHECK(has(ended.out, "ours.csv: 3 rows, 3 used"));
  CHECK(has(ended.out, "Choices from 3 measured options"));
  CHECK(run_program(folder.path(), {"import", "history", "zeus", "theirs.csv", "-o", "ours.csv"}).status == 2);
}

TEST_CASE("an interrupt: status 130, nothing left behind, no process left") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "repetitions": 8,
    "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 4 },
                            { "name": "cpu", "instance": "c5.18xlarge", "nodes": 4 } ] },
    "jobs": [ { "generate": "mixed-cnn-rnn", "count": 100000, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
    "policies": [ "manual", "oracle" ] })");
  for (const int signal : {SIGINT, SIGTERM}) {
    const Program program(folder.path(), {"run", "s.json", "--out", "out", "--processes", "2"});
    const auto is_running = [&] {
      for (const std::string& name : names_in(folder.path()))
        if (name.ends_with(".part") && fs::exists(folder.path() + "/" + name + "/manual-0/jobs.csv")) return true;
      return false;
    };
    while (!is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK(program.is_alive());
    program.send(signal);
    const Ended ended = program.wait();
    CHECK(ended.status == 130);
    CHECK(ended.out == "");
    CHECK(has(ended.err, "interrupted; nothing was written\n"));
    CHECK_FALSE(program.is_alive());
    CHECK(names_in(folder.path()) == std::set<std::string>{"s.json"});
  }
}

TEST_CASE("an interrupt ends training with the best agent so far, from which it goes on") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 1 } ] },
    "jobs": [ { "generate": "mixed-cnn-rnn", "count": 2, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
    "policies": [ "manual" ] })");
  const Program program(folder.path(), {"train", "staged-rl", "s.json", "-o", "agent.json", "--iterations", "1000000"});
  while (names_in(folder.path()).size() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the curve's part
  program.send(SIGINT);
  const Ended ended = program.wait();
  CHECK(ended.status == 130);
  CHECK(has(ended.out, " of 1000000 iterations; the agent of iteration "));
  CHECK(names_in(folder.path()) == std::set<std::string>{"agent.csv", "agent.json", "s.json"});
  const Ended resumed = run_program(
      folder.path(), {"train", "staged-rl", "s.json", "-o", "more.json", "--iterations", "0", "--resume", "agent.json"});
  CHECK(resumed.status == 0);
}

}  // namespace

TEST_CASE("--csv-safe keeps a job's name from being a formula in any table of a run") {
  const TemporaryFolder folder;
  folder.write("jobs.csv", "job_id,submit_s,gpus,duration_s,user\n=cmd,0,1,10,@me\n");
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "a", "instance": "p3.2xlarge", "nodes": 1 } ] },
    "jobs": [ { "trace": "jobs.csv" } ], "policies": [ { "name": "fifo" } ] })");
  REQUIRE(run_program(folder.path(), {"run", "s.json", "--out", "r", "--csv-safe"}).status == 0);
  REQUIRE(run_program(folder.path(), {"run", "s.json", "--out", "raw"}).status == 0);
  for (const char* table : {"jobs.csv", "decisions.csv", "stages.csv"}) {
    INFO(table);
    CHECK(has(text_of(folder.path() + "/r/" + table), ",'=cmd,"));
    CHECK(has(text_of(folder.path() + "/raw/" + table), ",=cmd,"));
  }
}

TEST_CASE("limits that are met exactly are kept, also by a job that was stopped on the way") {
  const TemporaryFolder folder;
  const auto jobs_of = [&](const std::string& jobs) {
    folder.write("s.json", R"({ "name": "s", "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 1 } ] },
      "policies": [ { "name": "srtf", "queue": "srtf" } ], "jobs": [ )" +
                               jobs + " ] }");
    REQUIRE(run_program(folder.path(), {"run", "s.json", "--out", "r"}).status == 0);
    return text_of(folder.path() + "/r/jobs.csv");
  };
  // Six stops: each stage's end is rounded up to a multiple of 2^-20 s, so that the work ends a little after the time limit.
  std::string many = R"({ "job_id": "long", "gpus": 1, "duration_s": 100.1, "walltime_s": 100.1 })";
  for (int k = 0; k < 6; ++k) many += R"(, { "gpus": 1, "duration_s": 0.3, "submit_s": )" + std::to_string(3.7 + 7.3 * k) + " }";
  CHECK_FALSE(has(jobs_of(many), "walltime_stop"));
  // 3 h at 3.06 $ are 9.18 $ but for the rounding of a product; a time that no multiple of the grid is.
  const std::string tie = jobs_of(R"({ "job_id": "tie", "gpus": 1, "duration_s": 10800, "cost_limit_usd": 9.18 },
                                     { "job_id": "late", "submit_s": 20000, "gpus": 1, "duration_s": 156.03, "deadline_s": 156.03 })");
  CHECK_FALSE(has(tie, "false"));
  CHECK(has(tie, ",9.18,true"));
  CHECK(has(tie, ",156.03,true,"));
}

TEST_CASE("a batch that no device holds at once trains by accumulation, and fails without it") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "a", "instance": "g4dn.xlarge", "nodes": 1 } ] },
    "jobs": [ { "job_id": "at-once", "model": "resnet50", "steps": 10, "batch_size": 1024, "gpus": 1 },
              { "job_id": "in-passes", "model": "resnet50", "steps": 10, "batch_size": 1024, "gpus": 1, "max_accumulation": 16 },
              { "job_id": "in-too-few", "model": "resnet50", "steps": 10, "batch_size": 1024, "gpus": 1, "max_accumulation": 4 } ],
    "policies": [ "manual" ] })");
  const Ended ended = run_program(folder.path(), {"run", "s.json", "--out", "r"});
  INFO(ended.err);
  REQUIRE(ended.status == 0);
  const std::string jobs = text_of(folder.path() + "/r/jobs.csv");
  const auto line_of = [&](const std::string& name) {
    const std::size_t at = jobs.find("," + name + ",");
    return at == jobs.npos ? std::string() : jobs.substr(at, jobs.find('\n', at) - at);
  };
  CHECK(has(line_of("at-once"), "out_of_memory"));
  CHECK(has(line_of("in-passes"), "finished"));
  CHECK(has(line_of("in-too-few"), "out_of_memory"));
}
