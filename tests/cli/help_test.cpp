// What a person meets who does not know the program: usage, examples, what was meant, completions.
#include <pty.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/cli/program.hpp"
#include "tests/cli/shell.hpp"

namespace {

const std::string kScenario = R"({
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "gpus": 1, "duration_s": 60 } ],
  "policies": [ "manual" ] })";

std::size_t times(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

/// What the program says on a terminal, where it was started with this environment beside ours.
std::string on_terminal(const std::string& folder, std::vector<std::string> arguments, const char* name, const char* value) {
  arguments.insert(arguments.begin(), program_path());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
    if (name != nullptr) ::setenv(name, value, 1);
    if (::chdir(folder.c_str()) == 0) ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  std::string said;
  char bytes[4096];
  for (ssize_t got = 0; (got = ::read(terminal, bytes, sizeof bytes)) > 0;) said.append(bytes, static_cast<std::size_t>(got));
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  return said;
}

/// The words of each command, as the page of all commands has them.
std::vector<std::vector<std::string>> commands_in(const std::string& page) {
  std::vector<std::vector<std::string>> commands;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("## rehearse ")) continue;
    std::istringstream words(line.substr(12));
    commands.emplace_back();
    for (std::string word; words >> word;) commands.back().push_back(word);
  }
  return commands;
}

}  // namespace

TEST_CASE("the program alone, and help, show usage with five examples") {
  const TemporaryFolder folder;
  const Ended alone = run_program(folder.path(), {}), help = run_program(folder.path(), {"help"});
  CHECK(alone.status == 2);
  CHECK(alone.out.empty());
  CHECK(help.status == 0);
  CHECK(help.err.empty());
  CHECK(help.out == alone.err);
  CHECK(has(help.out, "Usage: rehearse COMMAND [OPTIONS]\n"));
  CHECK(times(help.out.substr(help.out.find("\nExamples:\n")), "\n  rehearse ") == 5);
}

TEST_CASE("help of a command is its --help; of none it says which was meant") {
  const TemporaryFolder folder;
  CHECK(run_program(folder.path(), {"help", "run"}).out == run_program(folder.path(), {"run", "--help"}).out);
  CHECK(run_program(folder.path(), {"help", "import", "jobs"}).out == run_program(folder.path(), {"import", "jobs", "-h"}).out);
  const Ended slip = run_program(folder.path(), {"help", "rnu"});
  CHECK(slip.status == 3);
  CHECK(has(slip.err, "did you mean \"run\"?"));
}

TEST_CASE("every command's help has examples and fits a terminal") {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> commands = commands_in(run_program(folder.path(), {"help", "--markdown"}).out);
  REQUIRE(commands.size() > 25);
  for (std::vector<std::string> words : commands) {
    std::string path = "rehearse";
    for (const std::string& word : words) path += " " + word;
    INFO(path);
    words.emplace_back("--help");
    const Ended help = run_program(folder.path(), words);
    CHECK(help.status == 0);
    CHECK(has(help.out, "\nExamples:\n"));
    CHECK(has(help.out.substr(std::min(help.out.size(), help.out.find("\nExamples:\n"))), path));
    CHECK(longest_line(help.out) <= 100);
  }
}

TEST_CASE("no example of a command's help is wrong usage") {
  const TemporaryFolder folder;  // without the files that they name: that is invalid input, and takes no time
  std::istringstream lines(run_program(folder.path(), {"help", "--markdown"}).out);
  int examples = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  rehearse ")) continue;
    INFO(line);
    std::istringstream words(line.substr(0, line.find('>')));
    std::vector<std::string> arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    arguments.erase(arguments.begin());
    const int status = run_program(folder.path(), arguments).status;
    CHECK((status == 0 || status == 3));
    ++examples;
  }
  CHECK(examples > 40);
}

TEST_CASE("the page of all commands is what the program says") {
  const TemporaryFolder folder;
  const std::string path = REHEARSE_SOURCE_DIR "/docs/reference/commands.md",
                    page = run_program(folder.path(), {"help", "--markdown"}).out;
  if (std::getenv("REHEARSE_UPDATE") != nullptr) std::ofstream(path) << page;
  INFO("REHEARSE_UPDATE=1 ./rehearse test -R '^program$' writes it anew");
  CHECK((text_of(path) == page));
}

TEST_CASE("an option with a slip: the nearest option, or the scenario's key that --set sets") {
  const TemporaryFolder folder;
  folder.write("s.json", kScenario);
  const auto said = [&](std::vector<std::string> arguments) {
    const Ended ended = run_program(folder.path(), arguments);
    CHECK(ended.status == 2);
    CHECK(ended.out.empty());
    return ended.err;
  };
  CHECK(has(said({"run", "s.json", "--repetitons", "3"}),
            "--repetitons: \"repetitions\" is a key of the scenario: --set /repetitions=3\n"));
  CHECK(has(said({"run", "s.json", "--seed=7"}), "--set /seed=7\n"));
  CHECK(has(said({"run", "s.json", "--start_s"}), "--set /switching/start_s=VALUE\n"));
  CHECK(has(said({"run", "s.json", "--prosesses", "1"}), "did you mean \"--processes\"?"));
  // A longer or shorter form of an option of the command goes before a key of the scenario ("output").
  CHECK(has(said({"run", "s.json", "--output", "x"}), "--output: did you mean \"--out\"?\n"));
  CHECK(has(said({"run", "s.json", "--output=x"}), "did you mean \"--out\"?"));
  CHECK(has(said({"run", "s.json", "--proc", "1"}), "did you mean \"--processes\"?"));
  CHECK(has(said({"report", "s", "--timming"}), "did you mean \"--timing\"?"));
  CHECK_FALSE(has(said({"report", "s", "--repetitions"}), "--set"));  // it takes no scenario
  CHECK(has(said({"run", "s.json", "--prosesses", "1"}), "rehearse run --help says more\n"));
}

TEST_CASE("an argument or a command with a slip: the nearest one") {
  const TemporaryFolder folder;
  const auto said = [&](std::vector<std::string> arguments) {
    const Ended ended = run_program(folder.path(), arguments);
    CHECK(ended.status == 2);
    return ended.err;
  };
  CHECK(has(said({"list", "policys"}), "found \"policys\"; did you mean \"policies\"?"));
  CHECK(has(said({"import", "jobs", "phily", "trace", "-o", "out.csv"}), "found \"phily\"; did you mean \"philly\"?"));
  CHECK(has(said({"import", "job", "philly"}), "did you mean \"jobs\"?"));
  CHECK(has(said({"sweep", "s.json", "--launcher", "slrum"}), "did you mean \"slurm\"?"));
  CHECK(has(said({"chek", "s.json"}), "did you mean \"check\"?"));
}

TEST_CASE("a queue's name among the policies: what it is, and how it is used") {
  const TemporaryFolder folder;
  folder.write("s.json", kScenario);
  const Ended ended = run_program(folder.path(), {"check", "s.json", "--set", "/policies=[\"srtf\"]"});
  CHECK(ended.status == 3);
  CHECK(has(ended.err, R"("srtf", which is a queue strategy: {"name": "srtf", "queue": "srtf"} is a policy with it)"));
  // What is said to be right is right.
  CHECK(run_program(folder.path(), {"check", "s.json", "--set", R"(/policies=[{"name": "srtf", "queue": "srtf"}])"}).status == 0);
}

TEST_CASE("plan without a cluster, or with a scenario: what a cluster file is") {
  const TemporaryFolder folder;
  folder.write("s.json", kScenario);
  folder.write("job.json", R"({"model": "resnet18", "dataset": "cifar10", "epochs": 10})");
  folder.write("cluster.json", R"({"cluster": {"pools": [{"name": "gpu", "instance": "p3.2xlarge", "nodes": 2}]}})");
  const Ended without = run_program(folder.path(), {"plan", "s.json"});
  CHECK(without.status == 2);
  CHECK(has(without.err, "--cluster is required: the cluster's JSON file"));
  const Ended as_cluster = run_program(folder.path(), {"plan", "job.json", "--cluster", "s.json"});
  CHECK(as_cluster.status == 3);
  CHECK(has(as_cluster.err, "expected a cluster file: the scenario's \"cluster\" without jobs and policies"));
  CHECK(has(as_cluster.err, "found a scenario"));
  const Ended as_job = run_program(folder.path(), {"plan", "s.json", "--cluster", "cluster.json"});
  CHECK(as_job.status == 3);
  CHECK(has(as_job.err, "expected a job file: one job"));
  CHECK(run_program(folder.path(), {"plan", "job.json", "--cluster", "cluster.json"}).status == 0);  // as the messages have them
}

TEST_CASE("list strategies: a kind, or one of them, each option once, no line too long") {
  const TemporaryFolder folder;
  const auto listed = [&](const std::string& which) {
    const Ended ended = run_program(folder.path(), {"list", "strategies", which});
    CHECK(ended.status == 0);
    return ended.out;
  };
  const std::string queues = listed("queue");
  CHECK(has(queues, "\n  srtf "));
  CHECK(times(queues, "per_pool (false)") == 1);
  CHECK_FALSE(has(queues, "static-isotonic"));
  const std::string fifo = listed("fifo");
  CHECK(has(fifo, "queue fifo"));
  CHECK(has(fifo, "per_pool (false)"));
  CHECK(times(fifo, "\n") < 20);
  for (const std::string what : {"models", "devices", "instances", "policies", "strategies", "studies", "formats"})
    CHECK(longest_line(run_program(folder.path(), {"list", what}).out) <= 100);
  const Ended slip = run_program(folder.path(), {"list", "strategies", "fifi"});
  CHECK(slip.status == 3);
  CHECK(has(slip.err, "did you mean \"fifo\"?"));
}

TEST_CASE("on a terminal the best policy is green; NO_COLOR removes colour and nothing else") {
  const TemporaryFolder folder;
  const std::vector<std::string> run{"run", REHEARSE_SOURCE_DIR "/scenarios/quickstart.json", "--out", "q"};
  const std::string coloured = on_terminal(folder.path(), run, nullptr, nullptr);
  const std::string plain = on_terminal(folder.path(), run, "NO_COLOR", "1");
  CHECK(has(coloured, "\x1b[1;32mstatic-isotonic "));
  CHECK_FALSE(has(plain, "\x1b[1;32m"));
  const auto table = [](const std::string& said) {  // without progress, the time that policies took, and what is below
    const std::size_t from = said.find("quickstart: ");
    return said.substr(from, said.find("policy took") - from);
  };
  std::string bare = table(coloured);
  for (const std::string sequence : {"\x1b[1;32m", "\x1b[0m"})
    for (std::size_t at = bare.find(sequence); at != bare.npos; at = bare.find(sequence)) bare.erase(at, sequence.size());
  CHECK(bare == table(plain));
  CHECK_FALSE(has(on_terminal(folder.path(), run, "TERM", "dumb"), "\x1b["));
}

TEST_CASE("completions in bash: commands, options, choices, files") {
  const TemporaryFolder folder;
  const Shell shell(folder);
  folder.write("scenario.json", kScenario);
  folder.write("complete.sh", run_program(folder.path(), {"completion", "bash"}).out + R"sh(
cd "$(dirname "$0")"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_rehearse
printf '%s\n' "${COMPREPLY[@]}"
)sh");
  const auto completed = [&](const std::string& words) {
    return "\n" + shell.output("bash " + folder.path() + "/complete.sh rehearse " + words);
  };
  CHECK(has(completed("ex"), "\nexplain\nexport\n"));
  CHECK(has(completed("import ''"), "\njobs\n"));
  CHECK(has(completed("import jobs ph"), "\nphilly\n"));
  CHECK_FALSE(has(completed("import jobs ph"), "\nrun\n"));
  CHECK(has(completed("sweep scenario.json --launcher s"), "\nslurm\n"));
  CHECK(completed("run --proc") == "\n--processes\n");
  CHECK(has(completed("run scen"), "\nscenario.json\n"));
  CHECK(has(completed("run scenario.json --out scen"), "\nscenario.json\n"));
  CHECK(has(completed("list pol"), "\npolicies\n"));
}

TEST_CASE("completions for zsh and fish") {
  const TemporaryFolder folder;
  const Shell shell(folder);
  for (const std::string name : {"zsh", "fish"}) {
    const Ended script = run_program(folder.path(), {"completion", name});
    CHECK(script.status == 0);
    CHECK(has(script.out, "rehearse"));
    folder.write("script." + name, script.out);
    if (shell.has(name)) CHECK(shell.succeeds(name + " --no-execute " + folder.path() + "/script." + name));
  }
  const std::string fish = text_of(folder.path() + "/script.fish");
  CHECK(has(fish, "-l launcher -r -f -a 'local slurm parallel'"));
  const Ended slip = run_program(folder.path(), {"completion", "bahs"});
  CHECK(slip.status == 2);
  CHECK(has(slip.err, "did you mean \"bash\"?"));
}
