// Files that the program writes: where, as whom, on a disk that is full, beside another run; and what names may do on the way.
#include <sys/stat.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/cli/program.hpp"
#include "tests/cli/shell.hpp"
#include "tests/experiments/sweep/query.hpp"

namespace {

namespace fs = std::filesystem;

const std::string kSmall = R"({ "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 1 } ] },
  "jobs": [ { "gpus": 1, "duration_s": 60 } ], "policies": [ "manual" ] })";

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

/// What a shell prints, and "status N" behind it, whose working folder is a small disk of its own that no other process sees.
/// Empty where such a disk cannot be had.
std::string on_a_disk(const TemporaryFolder& folder, const std::string& options, const std::string& script) {
  const Shell shell(folder);
  fs::create_directory(folder.path() + "/disk");
  const std::string mount = "unshare -m sh -c 'mount -t tmpfs -o " + options + " none " + folder.path() + "/disk";
  if (!shell.succeeds(mount + "'")) {
    WARN("skipped: this user cannot mount a disk");
    return {};
  }
  return shell.output(mount + " && cd " + folder.path() + "/disk && { " + script + "; echo status $?; } 2>&1'");
}

const std::string kProgram = program_path();

}  // namespace

TEST_CASE("a sweep of another user's writes nothing but its database and its page, and needs no right to the root folder") {
  const TemporaryFolder folder;
  const std::string scenario = REHEARSE_SOURCE_DIR "/tests/cases/sweep-writes-nodes.json";
  const bool was_there = fs::exists("/nodes.csv");  // of another program's
  const Ended ended = run_program(folder.path(), {"sweep", scenario, "--out", "s.sqlite"});
  CHECK(ended.status == 0);
  CHECK(fs::exists("/nodes.csv") == was_there);
  CHECK(names_in(folder.path()) == std::set<std::string>{"s.html", "s.sqlite"});

  const std::string text = text_of(scenario);
  folder.write("s.json", text);
  fs::permissions(folder.path(), fs::perms::all);
  const std::string said = on_a_disk(folder, "size=8m,mode=777",
                                     "mount -o remount,bind,ro / && setpriv --reuid=65534 --regid=65534 --clear-groups " +
                                         kProgram + " sweep ../s.json --out s.sqlite; ls -A");
  if (said.empty()) return;
  INFO(said);
  CHECK(has(said, "\n1 ok\n"));
  CHECK(has(said, "\ns.html\ns.sqlite\nstatus 0\n"));
}

TEST_CASE("a file to write may be standard output, a pipe or a link; what is said goes beside it") {
  const TemporaryFolder folder;
  folder.write("jobs.csv", "job_id,submit_s,gpus,duration_s\na,0,1,60\n");
  const std::vector<std::string> command{"export", "jobs", "swf", "jobs.csv", "-o"};
  const auto export_to = [&](const std::string& out) {
    std::vector<std::string> words = command;
    words.push_back(out);
    return run_program(folder.path(), words);
  };
  REQUIRE(export_to("jobs.swf").status == 0);
  const std::string swf = text_of(folder.path() + "/jobs.swf");
  REQUIRE(swf.size() > 20);

  for (const std::string name : {"-", "/dev/stdout"}) {
    const Ended out = export_to(name);
    CHECK(out.status == 0);
    CHECK(out.out == swf);
    CHECK(has(out.err, "1 job\n"));
  }
  CHECK(fs::is_symlink("/dev/stdout"));

  REQUIRE(::mkfifo((folder.path() + "/pipe").c_str(), 0600) == 0);
  const Program writer(folder.path(), {"export", "jobs", "swf", "jobs.csv", "-o", "pipe"});
  CHECK(text_of(folder.path() + "/pipe") == swf);
  CHECK(writer.wait().status == 0);
  CHECK(fs::is_fifo(folder.path() + "/pipe"));

  folder.write("target", "old");
  fs::create_symlink("target", folder.path() + "/link");
  CHECK(export_to("link").status == 0);
  CHECK(fs::is_symlink(folder.path() + "/link"));
  CHECK(text_of(folder.path() + "/target") == swf);

  folder.write("protected", "mine");
  fs::permissions(folder.path() + "/protected", fs::perms::owner_read);
  const Ended refused = export_to("protected");
  CHECK(refused.status == 3);
  CHECK(refused.err == "protected: expected a file that can be written, found one that is read-only\n");
  CHECK(text_of(folder.path() + "/protected") == "mine");
  CHECK(names_in(folder.path()) == std::set<std::string>{"jobs.csv", "jobs.swf", "link", "pipe", "protected", "target"});
}

TEST_CASE("every command refuses an output that cannot be written before it begins") {
  const TemporaryFolder folder;
  folder.write("s.json", kSmall);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"profile", "--sweep", "cnn", "-o", "no/file"},
                                             {"train", "staged-rl", "s.json", "-o", "no/file"},
                                             {"graph", "resnet18", "--json", "no/file"},
                                             {"graph", "resnet18", "--dot", "no/file"},
                                             {"sweep", "s.json", "--csv", "no/file"},
                                             {"plot", "savings", "results", "-o", "no/file.svg"},
                                             {"report", "results", "-o", "no/file"},
                                             {"calibrate", "none.csv", "-o", "no/file"},
                                             {"synthesize", "none.csv", "-o", "no/file"},
                                             {"import", "jobs", "philly", "none.csv", "-o", "no/file"}}) {
    const Ended ended = run_program(folder.path(), words);
    INFO(words.front());
    CHECK(ended.status == 3);
    CHECK(has(ended.err, "no/file"));
    CHECK(has(ended.err, "No such file or directory, of its folder"));
  }
  CHECK(names_in(folder.path()) == std::set<std::string>{"s.json"});
}

TEST_CASE("a sweep's database behind a link is the link's target; a pipe is none") {
  const TemporaryFolder folder;
  folder.write("s.json", kSmall);
  fs::create_symlink("real.sqlite", folder.path() + "/link.sqlite");
  CHECK(run_program(folder.path(), {"sweep", "s.json", "--out", "link.sqlite"}).status == 0);
  CHECK(fs::is_symlink(folder.path() + "/link.sqlite"));
  CHECK(query(folder.path() + "/real.sqlite", "SELECT value FROM meta WHERE name = 'version'") ==
        std::vector<std::string>{run_program(folder.path(), {"--version"}).out.substr(0, 5)});
  REQUIRE(::mkfifo((folder.path() + "/pipe").c_str(), 0600) == 0);
  CHECK(has(run_program(folder.path(), {"sweep", "s.json", "--out", "pipe"}).err, "found a pipe or a device"));
  CHECK(has(run_program(folder.path(), {"sweep", "s.json", "--out", "-"}).err, "found a pipe or a device"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"link.html", "link.sqlite", "pipe", "real.sqlite", "s.json"});
}

TEST_CASE("results folders that cannot take results are refused before the simulation") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 4 } ] },
    "jobs": [ { "generate": "mixed-cnn-rnn", "count": 1000000, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
    "policies": [ "manual" ] })");
  fs::create_symlink("nothing", folder.path() + "/dangling");
  for (const std::string out : {".", "/proc", "dangling"}) {
    INFO(out);
    const Ended ended = run_program(folder.path(), {"run", "s.json", "--out", out});
    CHECK(ended.status == 3);
    CHECK(has(ended.err, out + ": expected a folder "));
  }
  CHECK(names_in(folder.path()) == std::set<std::string>{"dangling", "s.json"});
}

TEST_CASE("the second of two runs into one folder is refused at its start, and the first is not disturbed") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 4 } ] },
    "jobs": [ { "generate": "mixed-cnn-rnn", "count": 100000, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
    "policies": [ "manual" ] })");
  const Program first(folder.path(), {"run", "s.json", "--out", "out"});
  while (names_in(folder.path()).size() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const Ended second = run_program(folder.path(), {"run", "s.json", "--out", "./out/"});
  CHECK(second.status == 3);
  CHECK(has(second.err, "./out/: expected a folder that no other run writes to, found one that is at it"));
  first.send(SIGINT);
  CHECK(first.wait().status == 130);
  CHECK(names_in(folder.path()) == std::set<std::string>{"s.json"});
}

TEST_CASE("a run that is killed leaves a folder that the next start tells of and does not use") {
  const TemporaryFolder folder;
  folder.write("s.json", kSmall);
  fs::create_directories(folder.path() + "/out.4711.part/manual-0");
  const Ended ended = run_program(folder.path(), {"run", "s.json", "--out", "out"});
  CHECK(ended.status == 0);
  CHECK(has(ended.err, "warning: " + fs::canonical(folder.path()).string() + "/out.4711.part is left of an earlier run"));
  CHECK(has(ended.err, "and holds manual-0;"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"out", "out.4711.part", "s.json"});
}

TEST_CASE("results name their version and their owner, whose they stay without --replace") {
  const TemporaryFolder folder;
  folder.write("s.json", kSmall);
  folder.write("t.json", kSmall);
  const std::string version = run_program(folder.path(), {"--version"}).out.substr(0, 5);
  REQUIRE(run_program(folder.path(), {"run", "s.json", "--out", "out"}).status == 0);
  for (const std::string file : {"summary.json", "manifest.json"})
    CHECK(nlohmann::json::parse(text_of(folder.path() + "/out/" + file)).at("version") == version);
  const Ended refused = run_program(folder.path(), {"run", "t.json", "--out", "out"});
  CHECK(refused.status == 3);
  CHECK(has(refused.err, "found results of \"s\" (s.json)"));
  CHECK(run_program(folder.path(), {"run", "t.json", "--out", "out", "--replace"}).status == 0);
  CHECK(nlohmann::json::parse(text_of(folder.path() + "/out/manifest.json")).at("scenario_file") == "t.json");
}

TEST_CASE("a full disk is called so, with the file, and leaves nothing behind") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "name": "s", "cluster": { "pools": [ { "name": "t4", "instance": "g4dn.12xlarge", "nodes": 4 } ] },
    "jobs": [ { "generate": "mixed-cnn-rnn", "count": 2000, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
    "policies": [ "manual", "oracle" ] })");
  for (const std::string command : {"run ../s.json --out out", "sweep ../s.json --out s.sqlite",
                                    "graph inception-v3 --json g.json", "profile --sweep cnn --networks 40 -o p.csv"}) {
    INFO(command);
    const std::string said = on_a_disk(folder, "size=16k", kProgram + " " + command + "; echo left $(ls -A)");
    if (said.empty()) return;
    CHECK(has(said, "No space left on device"));
    CHECK_FALSE(has(said, "ended with status"));
    CHECK_FALSE(has(said, "bug"));
    CHECK(has(said, "left\n"));
  }
}

TEST_CASE("a device whose memory holds none of the swept networks is told, and the others are judged") {
  const TemporaryFolder folder;
  folder.write("tiny.json",
               R"({ "devices": [ { "name": "tiny", "kind": "gpu", "peak_flops": { "fp32": 2.85e12 }, "memory_bytes": 1e6,
    "memory_bandwidth_bytes_per_s": 2.68e10 } ], "instances": [] })");
  const Ended ended = run_program(folder.path(), {"profile", "--sweep", "cnn", "--networks", "8", "--catalogue", "tiny.json",
                                                  "--device", "tiny", "--device", "v100", "-o", "p.csv"});
  CHECK(ended.status == 0);
  CHECK(has(ended.out, "tiny               0  fewer than three of the networks fit its memory"));
  CHECK(has(ended.out, "\n  v100"));
}

TEST_CASE("escape sequences in names do not reach the terminal") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "name": "s\u001b[31m", "description": "d\u001b[2J", "baseline": "m\u001b]0;x\u0007",
    "cluster": { "pools": [ { "name": "p\u001b[1m", "instance": "g4dn.12xlarge", "nodes": 1 } ] },
    "jobs": [ { "job_id": "j\u001b[0m", "gpus": 1, "duration_s": 60 } ],
    "policies": [ { "name": "m\u001b]0;x\u0007", "configure": "manual" }, { "name": "o\u009b31m", "configure": "oracle" } ] })");
  folder.write("broken.json", "{ \"a\\u001b[31m\": 1, \"policies\": [ \"x\\u001b[2J\" ] }");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"check", "s.json"},
                                             {"run", "s.json", "--out", "out"},
                                             {"run", "s.json", "--out", "out", "--watch"},
                                             {"run", "s.json", "--out", "out", "--set", "/name=t\x1b[1m"},
                                             {"sweep", "s.json", "--out", "s.sqlite"},
                                             {"check", "broken.json"},
                                             {"check", "none\x1b[31m.json"}}) {
    const Ended ended = run_program(folder.path(), words);
    INFO(words[0] << " " << words[1]);
    CHECK(ended.status >= 0);
    for (const std::string& text : {ended.out, ended.err}) {
      INFO(text);
      CHECK(text.find('\x1b') == text.npos);
      CHECK(text.find('\x07') == text.npos);
      CHECK_FALSE(has(text, "\xc2\x9b"));
    }
  }
}

TEST_CASE("names that no file can have are refused by check") {
  const TemporaryFolder folder;
  folder.write("s.json", kSmall);
  const std::string name(256, 'n');
  for (const std::string& set :
       {"/name=" + name, "/policies/0={\"name\": \"" + name + "\", \"configure\": \"manual\"}",
        std::string(R"(/policies/0={"name": "a\u0000b", "configure": "manual"})"), std::string(R"(/name="a\u0000b")")}) {
    const Ended ended = run_program(folder.path(), {"check", "s.json", "--set", set});
    INFO(set);
    CHECK(ended.status == 3);
    CHECK((has(ended.err, "of at most 200 bytes") || has(ended.err, "without slashes")));
  }
}

TEST_CASE("a file that grows beyond what the system allows is told, and nothing is left of it") {
  const TemporaryFolder folder;
  std::string jobs = "job_id,submit_s,gpus,duration_s\n";
  for (int i = 0; i < 1000; ++i) jobs += "j" + std::to_string(i) + ",0,1,60\n";
  folder.write("jobs.csv", jobs);
  const std::string said = Shell(folder).output("sh -c 'cd " + folder.path() + " && ulimit -f 8 && { " + kProgram +
                                                " export jobs swf jobs.csv -o big.swf; echo status $?; } 2>&1'");
  CHECK(has(said, "big.swf: expected a file that can be written, found File too large"));
  CHECK(has(said, "status 3"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"jobs.csv", "shell.out"});
}
