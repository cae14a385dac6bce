// Results told again: why a job got what it got, and several results side by side.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/cli/program.hpp"
#include "tests/cli/shell.hpp"

namespace {

std::string line_with(const std::string& text, std::string_view part) {
  const std::size_t at = text.find(part);
  if (at == text.npos) return {};
  const std::size_t from = text.rfind('\n', at) + 1;
  return text.substr(from, text.find('\n', at) - from);
}

}  // namespace

TEST_CASE("explain: candidates, what was chosen, what was rejected and why, what happened") {
  const TemporaryFolder folder;
  REQUIRE(run_program(folder.path(), {"run", REHEARSE_SOURCE_DIR "/scenarios/quickstart.json", "--out", "q"}).status == 0);
  const Ended all = run_program(folder.path(), {"explain", "q", "cifar-urgent"});
  CHECK(all.status == 0);
  CHECK(all.err.empty());
  CHECK(has(
      all.out,
      "cifar-urgent: resnet18 on cifar10, submitted at 0 s; deadline 15.0 min, accuracy at least 0.9; for\nthe least money.\n"));
  for (const char* policy : {"\nmanual\n", "\nresource-only\n", "\nbatch-only\n", "\nstatic-isotonic-shared\n", "\noracle\n"})
    CHECK(has(all.out, policy));
  // The quickstart has no noise, so the manual prediction is what happened: 547.05 s of 900, 0.465 $.
  CHECK(has(all.out, "one choice: 1 x v100, batch 128, predicted 9.1 min, 0.465 $, accuracy 0.9012; chosen\n"));
  const Ended one = run_program(folder.path(), {"explain", "q", "cifar-urgent", "--policy", "oracle"});
  CHECK_FALSE(has(one.out, "\nmanual\n"));
  CHECK(has(one.out, " candidates, of which "));
  CHECK(has(line_with(one.out, "chosen"), "   1  4 x t4      1024"));
  CHECK(has(one.out, " late"));
  CHECK(has(one.out, "Rejected: "));
  CHECK(has(one.out, " too late"));
  CHECK(has(one.out, "It did not wait and ran "));
  CHECK(has(line_with(one.out, "time, waiting included"), "15.0 min  kept"));
  CHECK(has(one.out, "(--all lists them)"));
  CHECK_FALSE(has(run_program(folder.path(), {"explain", "q", "cifar-urgent", "--policy", "oracle", "--all"}).out, "(--all"));
  CHECK_FALSE(has(one.out, "<="));
}

TEST_CASE("explain: a job that was stopped on the way waited twice") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "name": "s", "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 1 } ] },
    "jobs": [ { "job_id": "long", "submit_s": 0, "gpus": 1, "duration_s": 1200, "deadline_s": 1320 },
              { "job_id": "short", "submit_s": 600, "gpus": 1, "duration_s": 120 } ], "policies": [ { "name": "srtf", "queue": "srtf" } ] })");
  REQUIRE(run_program(folder.path(), {"run", "s.json", "--out", "r"}).status == 0);
  const Ended told = run_program(folder.path(), {"explain", "r", "long"});
  CHECK(has(told.out, "It waited 2.0 min (0 s before it first started) and ran 20.0 min on 1 x v"));
  CHECK(has(line_with(told.out, "time, waiting left out"), "20.0 min"));
  CHECK(has(line_with(told.out, "time, waiting included"), "22.0 min  kept"));
}

// What limits are held against and what is expected differ where a strategy learns from runs: both are shown, and named.
TEST_CASE("explain: pessimistic and expected predictions are told apart") {
  const TemporaryFolder folder;
  REQUIRE(run_program(folder.path(), {"run", REHEARSE_SOURCE_DIR "/scenarios/quickstart.json", "--out", "q", "--set",
                                      "/policies=[\"manual\",\"static-isotonic\"]"})
              .status == 0);
  const Ended learned = run_program(folder.path(), {"explain", "q", "cifar-relaxed", "--policy", "static-isotonic"});
  for (const char* named : {"time <=", "money ~", "money <=", "accuracy >="})
    CHECK(has(line_with(learned.out, " resources"), named));
  CHECK(has(learned.out, "<= and >= pessimistic, what limits are held against; ~ expected"));
  CHECK(has(line_with(learned.out, "time, waiting left out"), " at most "));
  CHECK(has(line_with(learned.out, "\nmoney "), "expected "));
  const Ended manual = run_program(folder.path(), {"explain", "q", "cifar-relaxed", "--policy", "manual"});
  CHECK_FALSE(has(manual.out, "<="));
  CHECK_FALSE(has(manual.out, "expected "));
}

TEST_CASE("explain: by how much a candidate is dearer follows from the money that is shown") {
  const TemporaryFolder folder;
  REQUIRE(run_program(folder.path(), {"run", REHEARSE_SOURCE_DIR "/scenarios/quickstart.json", "--out", "q", "--set",
                                      "/policies=[\"manual\",\"static-isotonic-shared\",\"static-isotonic\",\"oracle\"]"})
              .status == 0);
  std::size_t compared = 0;
  for (const char* policy : {"static-isotonic-shared", "static-isotonic", "oracle"})
    for (const char* job : {"cifar-urgent", "cifar-relaxed"}) {
      const std::string out = run_program(folder.path(), {"explain", "q", job, "--policy", policy, "--all"}).out;
      // The money that candidates are compared by is the last of a row.
      const auto money_of = [](const std::string& line) {
        const std::size_t dollar = line.rfind(" $");
        return dollar == line.npos ? 0.0 : std::atof(line.c_str() + line.rfind(' ', dollar - 1));
      };
      const std::size_t end = out.find("Rejected");
      double chosen = 0;
      std::vector<std::pair<double, double>> rows;  // money, percent more
      std::size_t at = out.find('\n', out.find(" resources"));
      for (std::string line; at < end && at != out.npos; at = out.find('\n', at + 1)) {
        line = out.substr(at + 1, out.find('\n', at + 1) - at - 1);
        const std::size_t more = line.find(" % more money");
        if (!has(line, " $")) continue;  // too wide a table goes on below
        if (has(line, "chosen")) chosen = money_of(line.substr(0, line.find("chosen")));
        if (more != line.npos) rows.emplace_back(money_of(line), std::atof(line.c_str() + line.rfind(' ', more - 1)));
      }
      for (const auto& [money, percent] : rows) {
        CAPTURE(policy, job, money, chosen, percent);
        // Three digits of both are shown.
        CHECK(100 * (money / chosen - 1) == Approx(percent).margin(2 + 0.02 * percent));
        ++compared;
      }
    }
  CHECK(compared > 5);
}

TEST_CASE("explain: of a study the scenario's jobs run again without it; of one without jobs it says what is missing") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 2 } ] },
    "jobs": [ { "job_id": "a", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9 } ],
    "policies": [ "manual", "oracle" ], "study": { "name": "frontier", "deadline_factors": [1], "accuracy_slack": [0.02],
      "claims": [ { "policy": "oracle", "over": "manual", "percent": 20 } ] } })");
  const Ended study = run_program(folder.path(), {"run", "s.json", "--out", "r"});
  REQUIRE(study.status == 0);
  // The claim stands first, with what is found beside it.
  CHECK(study.out.starts_with("oracle over manual: claimed to save up to 20 %; "));
  CHECK(has(text_of(folder.path() + "/r/summary.json"), "\"findings\": [\"oracle over manual: claimed"));
  const Ended told = run_program(folder.path(), {"explain", "r", "a"});
  CHECK(told.status == 0);
  CHECK(has(told.out, "The study frontier keeps no jobs"));
  CHECK(has(told.out, "\nmanual\n"));
  CHECK(has(told.out, " candidates, of which "));
  CHECK(run_program(folder.path(), {"explain", "r", "other"}).err ==
        "r: expected a job of these results, such as a, found \"other\"\n");
  CHECK(
      has(run_program(folder.path(), {"explain", "r", "a", "--repetition", "3"}).err, "expected a repetition of these results"));
}

TEST_CASE("explain: a job, a policy or a repetition that is not there") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 1 } ] },
    "jobs": [ { "job_id": "first", "gpus": 1, "duration_s": 60 }, { "job_id": "second", "gpus": 1, "duration_s": 60 } ],
    "policies": [ "manual" ] })");
  REQUIRE(run_program(folder.path(), {"run", "s.json", "--out", "r"}).status == 0);
  const auto said = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "explain");
    const Ended ended = run_program(folder.path(), arguments);
    CHECK(ended.status == 3);
    return ended.err;
  };
  CHECK(said({"r", "frist"}) == "r: expected a job of these results, found \"frist\"; did you mean \"first\"?\n");
  CHECK(said({"r", "first", "--policy", "manaul"}) ==
        "r: expected a policy of these results that did not fail, found \"manaul\"; did you mean \"manual\"?\n");
  CHECK(said({"r", "first", "--repetition", "4"}) == "r: expected a repetition of these results, found \"4\"\n");
  CHECK(has(said({"nowhere", "first"}), "nowhere/summary.json"));
  // A job that its user sized: the queue alone decides. The second waits for the first, 60 s.
  const Ended rigid = run_program(folder.path(), {"explain", "r", "second"});
  CHECK(rigid.status == 0);
  CHECK(has(rigid.out, "nobody configures it, the queue decides when it runs"));
  CHECK(has(rigid.out, "It waited 60 s and ran 60 s on 1 x gpu"));
}

TEST_CASE("explain finds the scenario's files, and takes no others") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/mine");
  std::filesystem::create_directory(folder.path() + "/elsewhere");
  folder.write("mine/trace.csv", "job_id,submit_s,gpus,duration_s\na,0,1,60\nb,0,1,60\n");
  folder.write("mine/s.json", R"({ "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 1 } ] },
    "jobs": [ { "trace": "trace.csv" } ], "policies": [ "manual" ] })");
  REQUIRE(run_program(folder.path(), {"run", "mine/s.json", "--out", "r"}).status == 0);
  CHECK(run_program(folder.path() + "/mine", {"explain", "../r", "b"}).status == 0);
  CHECK(run_program(folder.path(), {"explain", "r", "b", "--inputs", "mine"}).status == 0);
  const Ended none = run_program(folder.path(), {"explain", "r", "b"});
  CHECK(none.status == 3);
  CHECK(has(none.err, "r/scenario.json: expected its files as the run has read them, in the current folder or that of --inputs"));
  folder.write("elsewhere/trace.csv", "job_id,submit_s,gpus,duration_s\na,0,1,60\nb,0,1,90\n");
  CHECK(has(run_program(folder.path(), {"explain", "r", "b", "--inputs", "elsewhere"}).err,
            "trace.csv: expected the file that the run has read, found another"));
}

TEST_CASE("compare: results side by side, paired where seeds and repetitions agree") {
  const TemporaryFolder folder;
  folder.write("s.json",
               R"({ "repetitions": 3, "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 1 } ] },
    "jobs": [ { "job_id": "first", "gpus": 1, "duration_s": 3600 } ], "policies": [ "manual" ] })");
  const auto run = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words{"run", "s.json", "--out", out};
    words.insert(words.end(), more.begin(), more.end());
    REQUIRE(run_program(folder.path(), words).status == 0);
  };
  run("a", {});
  run("b", {"--set", "/jobs/0/duration_s=7200"});
  run("c", {"--set", "/seed=2"});
  const Ended two = run_program(folder.path(), {"compare", "a", "b"});
  CHECK(two.status == 0);
  CHECK(has(two.out, "a: scenario s, seed 0, 3 repetitions\nb: scenario s, seed 0, 3 repetitions; paired with the first\n"));
  // One job, alone: twice as long in every repetition.
  CHECK(line_with(two.out, "makespan_s").ends_with("60.0 min   2.0 h  +100.0 % [+100.0, +100.0]"));
  const Ended three = run_program(folder.path(), {"compare", "a", "b", "c", "--metric", "makespan_s"});
  CHECK(has(three.out, "c: scenario s, seed 2, 3 repetitions; not paired: other seeds or repetitions\n"));
  CHECK(has(line_with(three.out, "makespan_s"), "+0.0 %"));
  CHECK_FALSE(has(three.out, "cost_usd"));
  CHECK(run_program(folder.path(), {"compare", "a"}).status == 3);
  const Ended slip = run_program(folder.path(), {"compare", "a", "b", "--metric", "makspan_s"});
  CHECK(slip.status == 3);
  CHECK(has(slip.err, "did you mean \"makespan_s\"?"));
}

TEST_CASE("compare tells of jobs of one name that are not the same jobs, and a list of them holds them") {
  const TemporaryFolder folder;
  folder.write(
      "s.json",
      R"({ "seed": 3, "repetitions": 2, "cluster": { "pools": [ { "name": "v", "instance": "p3.8xlarge", "nodes": 1 } ] },
    "jobs": [ { "generate": "mixed-cnn-rnn", "count": 4 },
              { "job_id": "mine", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "cost_limit_usd": 2 } ],
    "policies": [ "manual", "static-isotonic-shared" ] })");
  const auto run = [&](const std::string& out, const std::vector<std::string>& sets) {
    std::vector<std::string> words{"run", "s.json", "--out", out};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    const Ended ended = run_program(folder.path(), words);
    INFO(ended.err);
    REQUIRE(ended.status == 0);
  };
  const auto compared = [&](const std::string& a, const std::string& b) {
    return run_program(folder.path(), {"compare", a, b}).out;
  };
  run("one", {});
  run("again", {});
  CHECK_FALSE(has(compared("one", "again"), "jobs differ"));
  // A V100 instead of four: every reference time is longer, and with it every generated job's deadline. Two repetitions of five.
  run("small", {"/cluster/pools/0/instance=p3.2xlarge"});
  CHECK(
      has(compared("one", "small"), "\nsmall: deadlines of 8 of 10 jobs differ: generated jobs take theirs from the cluster.\n"));
  run("others", {"/jobs/1/cost_limit_usd=3", "/jobs/1/submit_s=5"});
  CHECK(has(compared("one", "others"),
            "\nothers: submit dates of 2 of 10 jobs differ.\nothers: cost limits of 2 of 10 jobs differ.\n"));
  run("sooner", {"/jobs/1/deadline_s=90000"});
  CHECK(has(compared("one", "sooner"), "\nsooner: deadlines of 2 of 10 jobs differ.\n"));  // by hand, not by the cluster
  run("more", {"/jobs/0/count=5"});
  CHECK(has(compared("one", "more"), "\nmore: 2 jobs in one of the two alone.\n"));
  // As docs/guide/results.md has it.
  REQUIRE(Shell(folder).succeeds("(cd '" + folder.path() +
                                 "' && awk -F, -v OFS=, 'NR == 1 || ($1 == \"manual\" && $2 == 0) "
                                 "{ print NR == 1 ? \"job_id\" : $3, $4, $5, $6, $7, $16, $18, $27 }' one/jobs.csv > jobs.csv)"));
  const std::string list = R"(/jobs=[{"trace": "jobs.csv"}])";
  run("held", {list});
  run("held-small", {list, "/cluster/pools/0/instance=p3.2xlarge"});
  CHECK_FALSE(has(compared("held", "held-small"), "jobs differ"));
  // They are those of the first repetition: of two repetitions, the second has others.
  CHECK(has(compared("one", "held"), "\nheld: deadlines of 4 of 10 jobs differ"));
}

TEST_CASE("compare: the change is that of the means beside it") {
  const TemporaryFolder folder;
  const auto results = [&](const std::string& name, const std::string& rows) {
    std::filesystem::create_directory(folder.path() + "/" + name);
    folder.write(name + "/summary.json",
                 R"({"scenario": "s", "seed": 1, "repetitions": 2, "policies": [{"policy": "p", "status": "ok"}]})");
    folder.write(name + "/repetitions.csv", "policy,repetition,cost_usd,idle_cost_usd,deadline_met_fraction\n" + rows);
  };
  results("a", "p,0,1,0,0.5\np,1,100,0,1\n");
  results("b", "p,0,3,0.1,0.25\np,1,90,0.3,\n");
  const Ended ended = run_program(folder.path(), {"compare", "a", "b"});
  CHECK(ended.status == 0);
  // Means 50.5 and 46.5. Differences 2 and -10: mean -4, standard error 6, t(1) = 12.7062: -4 +- 76.237; all over 50.5.
  CHECK(line_with(ended.out, "cost_usd").ends_with("-7.9 % [-158.9, +143.0]"));
  // There is no per cent of nothing.
  CHECK(line_with(ended.out, "idle_cost_usd").ends_with(" -"));
  // Not defined in one repetition of the second: 75 % and 25 %, and no pairs.
  CHECK(line_with(ended.out, "deadline_met_fraction").ends_with("-50.0 points"));
  CHECK(has(ended.out, "Changes are of the means shown"));
}

// Deadlines of 1 s and of 600 s with a limit of money: nothing keeps both, so the order is by what is missed.
TEST_CASE("explain: where nothing keeps the limits it is said what the candidates are in order of") {
  const TemporaryFolder folder;
  folder.write("s.json", R"({ "name": "s", "cluster": { "pools": [ { "name": "v", "instance": "p3.8xlarge", "nodes": 2 } ] },
    "jobs": [ { "job_id": "late", "model": "resnet18", "dataset": "cifar10", "epochs": 30, "deadline_s": 10 },
              { "job_id": "both", "model": "resnet18", "dataset": "cifar10", "epochs": 30, "deadline_s": 10, "cost_limit_usd": 0.01, "objective": "min-time" } ],
    "policies": [ "manual", "oracle" ] })");
  REQUIRE(run_program(folder.path(), {"run", "s.json", "--out", "r"}).status == 0);
  const std::string late = run_program(folder.path(), {"explain", "r", "late", "--policy", "oracle"}).out;
  CHECK(has(late,
            "candidates, none of which keeps the limits; predicted without waiting:\n  in order by what they miss, the least "
            "first (time over the deadline, as a part of its limit); those that miss the same by money\n"));
  const std::string both = run_program(folder.path(), {"explain", "r", "both", "--policy", "oracle"}).out;
  CHECK(has(both,
            "(time over the deadline + money over the limit, as parts, each of its limit); those that miss the same by time\n"));
}
