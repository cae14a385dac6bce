// The command `plot`: the same bytes, every kind, hostile names, and a machine without gnuplot.
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/program.hpp"
#include "tests/cli/shell.hpp"

namespace {

namespace fs = std::filesystem;

const std::string kHostile = R"({ "name": "hostile", "repetitions": 2,
  "cluster": { "pools": [ { "name": "it's 'v100' % 5", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "generate": "mixed-cnn-rnn", "count": 4, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
  "policies": [ { "name": "'; system 'touch pwned'; x='" }, { "name": "`touch pwned` $(touch pwned) @x %s%n \\" }, { "name": "<b>{x_2}^y" } ] })";

bool has_gnuplot(const TemporaryFolder& folder) {
  if (Shell(folder).has("gnuplot")) return true;
  WARN("skipped: gnuplot is not installed");
  return false;
}

void run(const TemporaryFolder& folder) {
  const Ended ended = run_program(folder.path(), {"run", folder.write("hostile.json", kHostile), "--out", "r"});
  INFO(ended.err);
  REQUIRE(ended.status == 0);
}

TEST_CASE("figures are the same bytes twice, whatever policies are called, and no name becomes a command") {
  const TemporaryFolder folder;
  if (!has_gnuplot(folder)) return;
  run(folder);
  // What an ending adds (dates, names of tools) it adds to every kind alike.
  const std::vector<std::pair<std::string, std::string>> figures{{"savings", "svg"}, {"cdf", "svg"},   {"utilization", "svg"},
                                                                 {"errors", "svg"},  {"gantt", "svg"}, {"gantt", "png"},
                                                                 {"gantt", "pdf"}};
  fs::create_directories(folder.path() + "/again");
  for (const auto& [kind, ending] : figures) {
    INFO(kind << " " << ending);
    const std::string first = "first." + ending, again = "again/first." + ending;
    for (const std::string& out : {first, again}) {
      const Ended ended = run_program(folder.path(), {"plot", kind, "r", "-o", out, "--size", "two-column"});
      INFO(ended.err);
      REQUIRE(ended.status == 0);
    }
    const std::string bytes = text_of(folder.path() + "/" + first);
    CHECK(bytes.size() > 1000);
    CHECK((bytes == text_of(folder.path() + "/" + again)));
  }
  CHECK(run_program(folder.path(), {"plot", "cdf", "r", "-o", "| touch pwned;.svg"}).status == 0);
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) CHECK(entry.path().filename() != "pwned");
  const Ended cdf = run_program(folder.path(), {"plot", "cdf", "r", "-o", "cdf.svg"});
  CHECK(has(text_of(folder.path() + "/cdf.svg"), "&lt;b>{x_2}^y"));  // as it is: no markup of gnuplot's
  CHECK(has(text_of(folder.path() + "/cdf.svg"), "`touch pwned` $(touch pwned) @x %s%n \\"));
}

TEST_CASE("script and data that are left for authors make the same figure") {
  const TemporaryFolder folder;
  if (!has_gnuplot(folder)) return;
  run(folder);
  REQUIRE(run_program(folder.path(), {"plot", "cdf", "r", "-o", "cdf.svg", "--data", "own"}).status == 0);
  const std::string figure = text_of(folder.path() + "/cdf.svg");
  fs::remove(folder.path() + "/cdf.svg");
  REQUIRE(Shell(folder).succeeds("cd '" + folder.path() + "/own' && gnuplot cdf.gp"));
  CHECK((text_of(folder.path() + "/own/cdf.svg") == figure));
}

TEST_CASE("what is wrong with a figure of a sweep is told of its database") {
  const TemporaryFolder folder;
  folder.write(
      "s.json",
      R"({ "name": "s", "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": { "sweep": [ 1, 2 ] } } ] },
    "jobs": [ { "gpus": 1, "duration_s": 60 } ], "policies": [ "manual" ] })");
  REQUIRE(run_program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite"}).status == 0);
  const Ended column = run_program(folder.path(), {"plot", "line", "s.sqlite", "--y", "nonsense", "-o", "x.svg"});
  CHECK(column.status == 3);
  CHECK(column.err.starts_with("s.sqlite: expected a column \"nonsense\""));
  const Ended where = run_program(folder.path(), {"plot", "line", "s.sqlite", "--where", "policy=nobody", "-o", "x.svg"});
  CHECK(where.err.starts_with("s.sqlite: expected rows with --where policy=nobody"));
  for (const Ended& ended : {column, where}) CHECK_FALSE(has(ended.err, "rehearse_rows"));
}

TEST_CASE("without gnuplot the program says how to get it") {
  const TemporaryFolder folder;
  run(folder);
  const EnvironmentVariable path("PATH", folder.path().c_str());
  const Ended ended = run_program(folder.path(), {"plot", "cdf", "r", "-o", "cdf.svg"});
  CHECK(ended.status == 3);
  CHECK(has(ended.err, "apt-get install gnuplot-nox"));
  CHECK_FALSE(fs::exists(folder.path() + "/cdf.svg"));
}

// Two workers by two batches, one job: a heat map.
const std::string kStudy = R"({ "name": "study", "study": { "name": "characterise", "workers": [1, 2], "batch_factors": [1, 2] },
  "cluster": { "pools": [ { "name": "v100", "instance": "p3.8xlarge", "nodes": 1 } ] },
  "jobs": [ { "job_id": "cnn", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "deadline_s": 86400 } ] })";

using Files = std::map<std::string, std::string>;

/// All but the figures.
Files files_in(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() != ".svg") files[entry.path().filename()] = text_of(entry.path());
  return files;
}

TEST_CASE("a study and describe without gnuplot: figures are left out, one line says how to get them, all else is the same") {
  const TemporaryFolder folder;
  folder.write("study.json", kStudy);
  folder.write("jobs.csv", "job_id,submit_s,gpus,duration_s\na,0,1,60\nb,3600,2,600\n");
  const std::vector<std::string> run{"run", "study.json", "--out", "r"}, describe{"describe", "jobs.csv", "--plots", "plots"};
  const std::string line =
      "Figures are left out: gnuplot, which draws them, is not installed (Debian and Ubuntu: apt-get install gnuplot-nox).\n";
  Files without;
  std::string said;
  {
    const EnvironmentVariable path("PATH", folder.path().c_str());
    const Ended ended = run_program(folder.path(), run);
    INFO(ended.err);
    REQUIRE(ended.status == 0);
    REQUIRE(ended.out.ends_with(line));
    said = ended.out.substr(0, ended.out.size() - line.size());
    without = files_in(folder.path() + "/r");
    without.erase("manifest.json");  // it names the figures
    const Ended described = run_program(folder.path(), describe);
    CHECK(described.status == 0);
    CHECK(described.out.ends_with(line));
    CHECK(fs::is_empty(folder.path() + "/plots"));
  }
  if (!has_gnuplot(folder)) return;
  const Ended ended = run_program(folder.path(), run);
  CHECK(ended.out == said);
  auto with_figures = files_in(folder.path() + "/r");
  with_figures.erase("manifest.json");
  CHECK((with_figures == without));
  const std::string figure = text_of(folder.path() + "/r/heat-cnn.svg");
  CHECK(figure.find("money over the least") != std::string::npos);
  REQUIRE(run_program(folder.path(), run).status == 0);
  CHECK((text_of(folder.path() + "/r/heat-cnn.svg") == figure));
  CHECK_FALSE(has(run_program(folder.path(), describe).out, "left out"));
  CHECK(has(text_of(folder.path() + "/plots/sizes.svg"), "Jobs by size"));
}

TEST_CASE("wrong arguments of plot") {
  const TemporaryFolder folder;
  CHECK(run_program(folder.path(), {"plot", "cake", "r", "-o", "x.svg"}).status == 2);
  CHECK(run_program(folder.path(), {"plot", "cdf", "r"}).status == 2);
  CHECK(run_program(folder.path(), {"plot", "cdf", "r", "-o", "x.gif"}).status == 3);
  CHECK(run_program(folder.path(), {"plot", "cdf", "r", "-o", "x.svg", "--where", "policy"}).status == 3);
  CHECK(run_program(folder.path(), {"plot", "cdf", "nowhere", "-o", "x.svg"}).status == 3);
  run(folder);
  const Ended ignored = run_program(folder.path(), {"plot", "savings", "r", "-o", "x.svg", "--where", "policy=a"});
  CHECK(ignored.status == 3);
  CHECK(has(ignored.err, "--where: expected a kind that takes that (line, "));
  CHECK(run_program(folder.path(), {"plot", "gantt", "r", "r", "-o", "x.svg"}).status == 3);
  if (!has_gnuplot(folder)) return;
  const Ended unwritable = run_program(folder.path(), {"plot", "cdf", "r", "-o", "no/such/folder/x.svg"});
  CHECK(unwritable.status == 3);
  CHECK(has(unwritable.err, "no/such/folder/x.svg: expected a file that can be written, found No such file or directory"));
}

const std::string kSwept = R"({ "name": "s", "world": { "model_error": 0.1 }, "repetitions": 3,
  "switching": { "start_s": { "sweep": [1, 30, 900] } },
  "cluster": { "pools": [ { "name": "v100", "instance": "p3.2xlarge", "nodes": { "sweep": [1, 2] } } ] },
  "jobs": [ { "generate": "mixed-cnn-rnn", "count": 3, "models": [ { "model": "resnet18", "dataset": "cifar10" } ] } ],
  "policies": [ "manual", "static-isotonic-shared" ] })";

TEST_CASE("figures of a sweep's database are those of its CSV file, and leave it as it is") {
  const TemporaryFolder folder;
  if (!has_gnuplot(folder)) return;
  folder.write("s.json", kSwept);
  REQUIRE(run_program(folder.path(), {"sweep", "s.json", "--out", "s.sqlite", "--csv", "s.csv"}).status == 0);
  const std::string database = text_of(folder.path() + "/s.sqlite");
  const Ended line = run_program(folder.path(), {"plot", "line", "s.sqlite", "-o", "a.svg"});
  CHECK(line.status == 0);
  CHECK(has(line.out, "a.svg: /cluster/pools/0/nodes=1 (--where chooses)"));
  REQUIRE(run_program(folder.path(), {"plot", "line", "s.csv", "--x", "/switching/start_s", "--where", "/cluster/pools/0/nodes=1",
                                      "-o", "b.svg"})
              .status == 0);
  CHECK((text_of(folder.path() + "/a.svg") == text_of(folder.path() + "/b.svg")));
  for (const std::string kind : {"heat", "bars", "tradeoff"})
    CHECK(run_program(folder.path(), {"plot", kind, "s.sqlite", "-o", kind + ".svg"}).status == 0);
  CHECK(run_program(folder.path(), {"plot", "cdf", "s.sqlite", "--x", "jct_mean_s", "-o", "cdf.svg"}).status == 0);
  CHECK((text_of(folder.path() + "/s.sqlite") == database));
  const Ended gantt = run_program(folder.path(), {"plot", "gantt", "s.sqlite", "-o", "g.svg"});
  CHECK(gantt.status == 3);
  CHECK(has(gantt.err, "expected a kind that takes that (line, heat, bars, tradeoff, cdf)"));
  const Ended unknown = run_program(folder.path(), {"plot", "line", "s.sqlite", "--y", "jct_men_s", "-o", "g.svg"});
  CHECK(unknown.status == 3);
  CHECK(has(unknown.err, "jct_mean_s"));
}

TEST_CASE("every kind of a table of runs draws a run's folder") {
  const TemporaryFolder folder;
  if (!has_gnuplot(folder)) return;
  run(folder);
  for (const std::string kind : {"bars", "tradeoff", "choices", "queue"}) {
    INFO(kind);
    const Ended ended =
        run_program(folder.path(), {"plot", kind, "r", "-o", "x.svg", "--y", kind == "queue" ? "busy_devices" : "cost_usd"});
    CHECK(ended.status == (kind == "choices" ? 3 : 0));
  }
  CHECK(run_program(folder.path(), {"plot", "choices", "r", "-o", "x.svg", "--by", "workers"}).status == 0);
  const Ended line = run_program(folder.path(), {"plot", "line", "r", "-o", "x.svg"});
  CHECK(line.status == 3);
  CHECK(has(line.err, "--x: expected a column of the file"));
}

}  // namespace
