// Sweeps from the command line: what they say, and what is left when they are killed.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "tests/cli/program.hpp"
#include "tests/cli/shell.hpp"
#include "tests/experiments/sweep/query.hpp"

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// `runs` of a few milliseconds each, in two policies.
std::string swept(int runs) {
  return R"({ "name": "s", "world": { "model_error": 0 }, "repetitions": 5,
    "cluster": { "pools": [ { "name": "k80", "instance": "p2.xlarge", "nodes": 4 },
                            { "name": "v100", "instance": "p3.2xlarge", "nodes": 2 } ] },
    "jobs": [ { "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "deadline_s": 10800 },
              { "model": "deepspeech2", "dataset": "cmu-arctic", "epochs": 5, "submit_s": 60 } ],
    "switching": { "start_s": { "sweep": { "from": 1, "to": )" +
         std::to_string(runs / 10) + R"(, "steps": )" + std::to_string(runs / 10) + R"( } } },
    "policies": [ "manual", "static-isotonic-shared" ] })";
}

TEST_CASE("a sweep over the cluster says that generated jobs get other deadlines along it") {
  const auto swept_over = [](const std::string& nodes, const std::string& start) {
    const TemporaryFolder folder;
    folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "v100", "instance": "p3.2xlarge", "nodes": )" + nodes +
                               R"( } ] }, "switching": { "start_s": )" + start +
                               R"( }, "jobs": [ { "generate": "mixed-cnn-rnn", "count": 1 } ], "policies": [ "manual" ] })");
    const Ended ended = run_program(folder.path(), {"sweep", "s.json"});
    CHECK(ended.status == 0);
    return ended.err;
  };
  CHECK(has(swept_over(R"({ "sweep": [ 1, 2 ] })", "10"), "note: generated jobs take their deadlines from the cluster"));
  CHECK_FALSE(has(swept_over("1", R"({ "sweep": [ 1, 2 ] })"), "generated jobs"));
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

/// Processes whose parent is `parent`.
std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

TEST_CASE("a sweep says what it did, and leaves its database and a page") {
  const TemporaryFolder folder;
  folder.write("s.json", swept(20));
  const Ended ended = run_program(folder.path(), {"sweep", "s.json", "--csv", "s.csv"});
  CHECK(ended.status == 0);
  CHECK(has(ended.out, "s: 20 rows at 2 points\n  /switching/start_s: 2 values\n20 ok\n20 runs, 0 of them were there\n"));
  CHECK(has(ended.out, " % of the CPU time\nResults: results/s.sqlite\nReport: results/s.html\n"));
  // manual and static-isotonic-shared at both points, each with its interval and a verdict.
  CHECK(has(ended.out, "Best at each point, with 95 % intervals:\n"));
  CHECK(has(ended.out, "saving on manual, %"));
  const std::string page = text_of(folder.path() + "/results/s.html");
  CHECK(has(page, "<td>manual</td>"));
  CHECK((!Shell(folder).has("gnuplot") || has(page, "Effective cost over /switching/start_s")));
  const std::string rows = text_of(folder.path() + "/s.csv");
  CHECK(has(rows.substr(0, rows.find('\n')), ",key,effective_saving_percent"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"results", "s.csv", "s.json", "shell.out"});
  CHECK(names_in(folder.path() + "/results") == std::set<std::string>{"s.html", "s.sqlite"});
  CHECK(has(run_program(folder.path(), {"sweep", "s.json"}).out, "20 runs, 20 of them were there\nResults"));
  const Ended checked = run_program(folder.path(), {"check", "s.json"});
  CHECK(checked.status == 0);
  CHECK(has(checked.out, "sweep: 20 runs, at 2 points: 2 values of /switching/start_s\n"));
  CHECK(run_program(folder.path(), {"sweep", "s.json", "--limit", "19"}).status == 3);
  CHECK(run_program(folder.path(), {"run", "s.json"}).status == 3);
  CHECK(run_program(folder.path(), {"run", "s.json", "--set", "/switching/start_s=2"}).status == 0);
}

TEST_CASE("sweeps of two files of one name do not take each other's place by default") {
  const TemporaryFolder folder;
  for (const char* in : {"a", "b"}) fs::create_directory(folder.path() + "/" + in);
  folder.write("a/s.json", swept(20));
  folder.write("b/s.json", swept(20));
  CHECK(run_program(folder.path(), {"sweep", "a/s.json"}).status == 0);
  const Ended second = run_program(folder.path(), {"sweep", "b/s.json"});
  CHECK(second.status == 3);
  CHECK(has(second.err,
            "results/s.sqlite: expected a new file, or results of this scenario's sweep (--out names another file), "
            "found those of a/s.json"));
  CHECK(run_program(folder.path(), {"sweep", "a/s.json"}).status == 0);
  CHECK(run_program(folder.path(), {"sweep", "b/s.json", "--out", "b.sqlite"}).status == 0);
  // The same of a run.
  const std::vector<std::string> one{"--set", "/switching/start_s=1"};
  CHECK(run_program(folder.path(), {"run", "a/s.json", one[0], one[1]}).status == 0);
  const Ended run = run_program(folder.path(), {"run", "b/s.json", one[0], one[1]});
  CHECK(run.status == 3);
  CHECK(has(run.err, "found results of \"s\" (a/s.json)"));
  CHECK(run_program(folder.path(), {"run", "b/s.json", one[0], one[1], "--replace"}).status == 0);
  CHECK(run_program(folder.path(), {"run", "b/s.json", one[0], one[1]}).status == 0);
}

TEST_CASE("a sweep of queues says who completes jobs soonest, as a run does") {
  // Jobs of fixed length on one GPU cost the same under every queue. Of 100, 10 and 10 s, submitted one after the other, fifo
  // completes after 100, 109 and 118 s, sjf as well; srtf, which stops the long one, after 120, 10 and 19 s: 49.67 for 109 s.
  const TemporaryFolder folder;
  folder.write("jobs.csv", "job_id,submit_s,gpus,duration_s\na,0,1,100\nb,1,1,10\nc,2,1,10\n");
  folder.write("s.json", R"({"cluster": {"pools": [{"name": "p", "instance": "p3.2xlarge", "nodes": {"sweep": [1, 3]}}]},
    "jobs": [{"trace": "jobs.csv"}], "switching": {"rigid_jobs": false},
    "policies": [{"name": "fifo"}, {"name": "srtf", "queue": "srtf"}]})");
  const Ended ended = run_program(folder.path(), {"sweep", "s.json"});
  CHECK(ended.status == 0);
  CHECK(has(ended.out, "mean JCT  shorter than fifo, %"));
  CHECK(has(ended.out, "1                       srtf  49.7 s    54.4 [54.4, 54.4]"));
  CHECK(has(ended.out, "shortest, an example\n"));
  CHECK(has(ended.out, "nodes  best"));
  CHECK((!Shell(folder).has("gnuplot") ||
         has(text_of(folder.path() + "/results/s.html"), "Mean completion time over /cluster/pools/0/nodes")));
}

TEST_CASE("in a sweep too a policy under which every job ends as under the reference is level with it") {
  // Jobs two hours apart on four GPUs: nobody waits, so that both queues do the same; the third policy broke more limits or is
  // dearer, and leaves nothing open.
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "repetitions": 3, "seed": 1, "world": { "model_error": {"sweep": [0.1, 0.2]} },
    "cluster": { "pools": [ { "name": "v", "instance": "p3.8xlarge", "nodes": 1 } ] },
    "jobs": [ { "generate": "mixed-cnn-rnn", "count": 4, "arrivals_per_hour": 0.5, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
    "policies": [ "manual", { "name": "srtf", "queue": "srtf" }, { "name": "dear", "configure": "median-feasible" } ] })");
  const Ended ended = run_program(folder.path(), {"sweep", "s.json"});
  INFO(ended.out << ended.err);
  CHECK(ended.status == 0);
  CHECK(has(ended.out, "level with manual"));
  CHECK_FALSE(has(ended.out, "undecided"));
}

TEST_CASE("without a folder for temporary files a sweep has its page all the same, and a plot says what is missing") {
  const TemporaryFolder folder;
  folder.write("s.json", swept(20));
  const auto without = [&](const std::string& command) {
    return std::system(
        fmt::format("cd '{}' && TMPDIR=/nowhere '{}' {} > out 2> said", folder.path(), program_path(), command).c_str());
  };
  CHECK(without("sweep s.json --out s.sqlite --report s.html") == 0);
  CHECK(names_in(folder.path()).contains("s.html"));
  CHECK(without("plot line s.sqlite --y jct_mean_s -o line.svg") != 0);
  CHECK(has(text_of(folder.path() + "/said"), "TMPDIR: expected a folder for temporary files"));
}

TEST_CASE("another build of the program runs anew, and says why") {
  const TemporaryFolder folder;
  folder.write("s.json", swept(20));
  REQUIRE(run_program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite"}).status == 0);
  const std::string other = folder.path() + "/other";
  fs::copy_file(program_path(), other);
  std::ofstream(other, std::ios::app) << "a byte behind the program's end changes nothing but its fingerprint";
  const std::string command = "cd '" + folder.path() + "' && ./other sweep s.json --out s.sqlite > said";
  REQUIRE(std::system(command.c_str()) == 0);
  CHECK(has(text_of(folder.path() + "/said"),
            "20 runs, 0 of them were there; earlier rows are of another build of this program\n"));
  CHECK(query(folder.path() + "/s.sqlite", "SELECT count(*) FROM runs") == std::vector<std::string>{"40"});
  // The first build's rows are still there.
  CHECK(has(run_program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite"}).out, "20 runs, 20 of them were there"));
}

TEST_CASE("killed at random times, a sweep ends with the undisturbed one's database, and runs nothing twice", "[slow]") {
  const TemporaryFolder folder;
  folder.write("s.json", swept(600));
  const auto began = std::chrono::steady_clock::now();
  const Ended undisturbed = run_program(folder.path(), {"sweep", "s.json", "--out", "a.sqlite", "--csv", "a.csv"});
  REQUIRE(undisturbed.status == 0);
  const double whole_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::mt19937 random(20261121);
  std::map<std::string, std::string> seconds;  // of each run that is in the database after a kill: a second run would take others
  int in_the_middle = 0;
  for (int kill = 0; kill < 20; ++kill) {
    const Program program(folder.path(), {"sweep", "s.json", "--out", "b.sqlite", "--processes", "2"});
    std::this_thread::sleep_for(std::chrono::duration<double>(whole_s * 0.2 * random() / 0x1p32));
    program.send(SIGKILL);
    program.wait();
    if (!fs::exists(folder.path() + "/b.sqlite")) continue;
    if (query(folder.path() + "/b.sqlite", "SELECT name FROM sqlite_master WHERE name = 'timing'").empty()) continue;
    const auto rows = query(folder.path() + "/b.sqlite", "SELECT run_s, key FROM timing");
    in_the_middle += !rows.empty() && rows.size() < 600;
    for (const std::string& row : rows) seconds.emplace(row.substr(row.find('|') + 1), row.substr(0, row.find('|')));
  }
  CHECK(in_the_middle > 0);
  const Ended last = run_program(folder.path(), {"sweep", "s.json", "--out", "b.sqlite", "--csv", "b.csv"});
  CHECK(last.status == 0);
  CHECK(has(last.out, "600 ok\n600 runs, "));
  CHECK(text_of(folder.path() + "/a.csv") == text_of(folder.path() + "/b.csv"));
  for (const std::string sql :
       {"SELECT * FROM runs ORDER BY key", "SELECT * FROM plan ORDER BY row", "SELECT * FROM points", "SELECT * FROM meta"})
    CHECK(query(folder.path() + "/a.sqlite", sql) == query(folder.path() + "/b.sqlite", sql));
  std::size_t once = 0;
  for (const auto& [key, run_s] : seconds)
    once += query(folder.path() + "/b.sqlite", "SELECT run_s FROM timing WHERE key = '" + key + "'") == std::vector{run_s};
  CHECK(once == seconds.size());
  CHECK(names_in(folder.path()) == std::set<std::string>{"a.csv", "a.html", "a.sqlite", "b.csv", "b.html", "b.sqlite", "s.json"});
}

TEST_CASE("a run that a signal ends is a row that says so; --retry runs it again") {
  const TemporaryFolder folder;
  folder.write("s.json", swept(100));
  const Program program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite", "--processes", "1"});
  pid_t killed = 0;
  while (killed == 0)
    for (const pid_t child : children_of(program.id()))
      if (::kill(child, SIGKILL) == 0) killed = child;
  const Ended ended = program.wait();
  CHECK(ended.status == 5);
  CHECK(has(ended.out, "1 killed, the first of them: killed by signal 9 (Killed)\n"));
  CHECK(has(ended.out, "This runs again what has not ended well: rehearse sweep s.json --out s.sqlite --retry\n"));
  CHECK(has(ended.out, "99 ok\n"));
  const Ended again = run_program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite"});
  CHECK(again.status == 5);
  CHECK(has(again.out, "100 runs, 100 of them were there\n"));
  const Ended retried = run_program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite", "--retry"});
  CHECK(retried.status == 0);
  CHECK(has(retried.out, "100 ok\n100 runs, 99 of them were there\n"));
}

TEST_CASE("a damaged database ends a sweep with status 1 and the command that repairs it") {
  const TemporaryFolder folder;
  folder.write("s.json", swept(20));
  REQUIRE(run_program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite", "--csv", "a.csv"}).status == 0);
  fs::resize_file(folder.path() + "/s.sqlite", fs::file_size(folder.path() + "/s.sqlite") - 1198);
  const Ended damaged = run_program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite"});
  CHECK(damaged.status == 1);
  CHECK(has(damaged.err, "\nThis command repairs it: rehearse sweep s.json --out s.sqlite --retry\n"));
  const Ended plotted = run_program(folder.path(), {"plot", "line", "s.sqlite", "--y", "jct_mean_s", "-o", "a.svg"});
  CHECK(plotted.status == 3);
  CHECK(has(plotted.err, "s.sqlite: expected "));
  const Ended repaired = run_program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite", "--csv", "b.csv", "--retry"});
  CHECK(repaired.status == 0);
  CHECK(has(repaired.err, "s.sqlite was damaged: "));
  CHECK(text_of(folder.path() + "/a.csv") == text_of(folder.path() + "/b.csv"));
}

TEST_CASE("by GNU parallel: the same rows, and no folder left") {
  if (std::system("parallel --version >/dev/null 2>&1") != 0) {
    WARN("skipped: no GNU parallel");
    return;
  }
  const TemporaryFolder folder;
  folder.write("s.json", swept(40));
  CHECK(run_program(folder.path(), {"sweep", "s.json", "--out", "a.sqlite", "--csv", "a.csv"}).status == 0);
  const Ended ended = run_program(folder.path(), {"sweep", "s.json", "--out", "a b'c.sqlite", "--csv", "b.csv", "--launcher",
                                                  "parallel", "--hosts", "2/:", "--tasks", "7"});
  INFO(ended.err);
  CHECK(ended.status == 0);
  CHECK(has(ended.out, "40 ok\n40 runs, 0 of them were there\n"));
  CHECK(text_of(folder.path() + "/a.csv") == text_of(folder.path() + "/b.csv"));
  CHECK(names_in(folder.path()) ==
        std::set<std::string>{"a b'c.html", "a b'c.sqlite", "a.csv", "a.html", "a.sqlite", "b.csv", "s.json"});
}

TEST_CASE("tasks that end nothing are told of, with their logs") {
  if (std::system("parallel --version >/dev/null 2>&1") != 0) return;
  const TemporaryFolder folder;
  folder.write("s.json", swept(20));
  // Its tasks find no host.
  const Ended ended = run_program(
      folder.path(), {"sweep", "s.json", "--out", "a.sqlite", "--launcher", "parallel", "--hosts", "no.such.host.invalid"});
  CHECK(ended.status == 3);
  CHECK((has(ended.err, "expected tasks that end at least one run") || has(ended.err, "expected GNU parallel to run tasks")));
}

TEST_CASE("an interrupted sweep keeps what has ended, and one database has one sweep at a time") {
  const TemporaryFolder folder;
  folder.write("s.json", swept(4000));
  const Program program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite", "--processes", "1"});
  while (children_of(program.id()).empty()) std::this_thread::sleep_for(milliseconds(1));
  const Ended second = run_program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite"});
  CHECK(second.status == 3);
  CHECK(has(second.err, "s.sqlite: expected a file that can be written, found one that another sweep writes to\n"));
  program.send(SIGTERM);
  const Ended ended = program.wait();
  CHECK(ended.status == 130);
  CHECK(has(ended.err, " of 4000 runs are in s.sqlite, and the same command goes on from there\n"));
  CHECK_FALSE(program.is_alive());
  CHECK(names_in(folder.path()) == std::set<std::string>{"s.json", "s.sqlite"});
}

}  // namespace
