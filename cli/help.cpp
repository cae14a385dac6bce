#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/commands.hpp"
#include "cli/embedded.hpp"
#include "cli/say.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

namespace rehearse::cli {

namespace {

struct Example {
  const char* command;
  const char* what;
};

struct Told {
  const char* path;  ///< of the command, its words
  std::vector<Example> examples;
};

struct Heading {
  const char* text;
  std::vector<Told> commands;
};

/// In this order the program's help lists them. Where an example needs no file of the user's, it can be run as it stands from the
/// repository's folder; examples of results follow `rehearse run scenarios/quickstart.json`.
const std::vector<Heading>& headings() {
  static const std::vector<Heading> all{
      {"Compare policies",
       {{"run",
         {{"rehearse run scenarios/quickstart.json", "every policy on the same jobs, a table, results/quickstart"},
          {"rehearse run scenarios/quickstart.json --set /repetitions=5 --out results/five", "more repetitions, elsewhere"},
          {"rehearse run scenarios/cluster/priority.json --watch", "with a board of what each run is doing"}}},
        {"check",
         {{"rehearse check scenarios/quickstart.json", "all mistakes at once, and what a run would take"},
          {"rehearse check my.json --set /seed=3", "with a value in the place of the file's"}}},
        {"explain",
         {{"rehearse explain results/quickstart cifar-urgent",
           "what each policy could have chosen for the job, and what happened"},
          {"rehearse explain results/quickstart cifar-urgent --policy manual --repetition 0", "of one policy"}}},
        {"compare",
         {{"rehearse compare results/quickstart results/five", "the same metrics of two results, side by side"},
          {"rehearse compare before after later --metric jct_mean_s --metric cost_usd", "of three, by these metrics"}}},
        {"report",
         {{"rehearse report results/quickstart", "report.html anew"},
          {"rehearse report results/quickstart --timing -o with-times.html", "with the time that policies took"}}},
        {"plot",
         {{"rehearse plot savings results/quickstart -o savings.svg", "a figure for a paper"},
          {"rehearse plot cdf results/quickstart -o cdf.pdf --size two-column", "as wide as a page"},
          {"rehearse plot line results/start-up.sqlite -o line.svg --by policy", "over what a sweep has swept"}}},
        {"bundle",
         {{"rehearse bundle results/quickstart -o artifact", "results and all that made them, to be handed on"},
          {"rehearse bundle results/quickstart -o artifact --figures figures.txt", "and figures, as cdf RESULTS -o jct.svg"}}},
        {"reproduce",
         {{"rehearse reproduce artifact", "all of it made again, and what differs"},
          {"rehearse reproduce artifact -o again", "and left there"}}},
        {"sweep",
         {{"rehearse sweep study.json --csv study.csv", "every combination of the values that the scenario sweeps"},
          {"rehearse sweep study.json --launcher slurm --tasks 20", "the same as a job array"}}},
        {"regress",
         {{"rehearse regress", "which policies got worse since their results were recorded"},
          {"rehearse regress results/now --against results/before", "the same of two results"}}},
        {"leaderboard",
         {{"rehearse leaderboard --policy mine.json --seed 20260301", "where a policy of your own stands, in worlds drawn now"}}},
        {"train",
         {{"rehearse train staged-rl scenarios/staged/train-staged-rl.json -o agent.json", "an agent for staged-rl"},
          {"rehearse train staged-shared scenarios/staged/train-shared.json -o agent.json --iterations 30",
           "one for jobs that share a cluster"},
          {"rehearse train rl-transfer scenarios/place/train-rl-transfer.json -o placer.json --iterations 100",
           "one that places operations"}}}}},
      {"Plan a training",
       {{"rent",
         {{"rehearse rent resnet50 --dataset imagenet --accuracy 0.74 --deadline 12h --budget 300",
           "what to rent of the whole catalogue, and what it takes"},
          {"rehearse rent my-network.onnx --samples 1.2M --epochs 90 --deadline 1d --regions us --spot allowed",
           "a network of your own"}}},
        {"plan",
         {{"rehearse plan job.json --cluster cluster.json", "what to run a training on, and what its limits cost"},
          {"rehearse plan job.json --cluster cluster.json --export files", "and the files to run it with"}}},
        {"split",
         {{"rehearse split resnet50 --workers k80=1 v100=1 --batch 128", "a batch over two unlike GPUs"},
          {"rehearse split vgg16 --workers slow=2 fast=3 --batch 512 --cluster cluster.json", "over pools of a cluster"}}},
        {"rate",
         {{"rehearse rate resnet18 --dataset cifar10 --batch 512", "a learning rate by a simulated ramp"},
          {"rehearse rate --csv ramp.csv", "by a ramp of your own"}}},
        {"graph",
         {{"rehearse graph resnet18 --dataset cifar10", "one training step's operations"},
          {"rehearse graph rnnlm --unroll --groups 40 --json step.json", "unrolled, coarsened, as a file"}}}}},
      {"Job traces and measurements",
       {{"import jobs",
         {{"rehearse import jobs philly cluster_job_log -o philly.csv", "a trace of Microsoft's"},
          {"rehearse import jobs swf theirs.swf.gz --from 0 --to 604800 -o week.csv", "its first week"}}},
        {"import measurements", {{"rehearse import measurements zeus summary_power_p100.csv -o p100.csv", "step times"}}},
        {"import history", {{"rehearse import history trimtuner runs.csv -o history.csv", "past training runs"}}},
        {"import throughputs",
         {{"rehearse import throughputs gavel simulation_throughputs.json -o gavel.csv", "what types of jobs do on devices"}}},
        {"import convergence", {{"rehearse import convergence zeus summary_train.csv -o zeus.csv", "measured accuracies"}}},
        {"export jobs",
         {{"rehearse export jobs swf philly.csv -o philly.swf", "for a scheduler's simulator"},
          {"rehearse export jobs batsim philly.csv -o philly.json", "for Batsim"}}},
        {"export results",
         {{"rehearse export results batsim-jobs results/quickstart --policy manual -o out_jobs.csv", "jobs as Batsim has them"},
          {"rehearse export results paje results/quickstart --policy manual -o run.paje", "a Gantt chart for Paje"}}},
        {"describe",
         {{"rehearse describe philly.csv", "sizes, durations and arrivals of a trace"},
          {"rehearse describe cluster_job_log --format philly --plots pictures", "with pictures"}}},
        {"synthesize",
         {{"rehearse synthesize philly.csv --count 5000 --seed 1 -o like-philly.csv", "jobs like a trace's, to share"},
          {"rehearse synthesize cluster_job_log --format philly -o like-philly.csv", "as many as the trace has"}}},
        {"profile",
         {{"rehearse profile --sweep cnn --networks 20 -o cnn.csv", "generated networks on the simulated devices"},
          {"rehearse profile --sweep rnn --networks 20 --device v100 -o rnn.csv", "on one device"}}},
        {"validate",
         {{"rehearse validate measured.csv", "how far predicted step times are from measured ones"},
          {"rehearse validate measured.csv --hold-out models --rows errors.csv", "of models that were not fitted"}}},
        {"calibrate", {{"rehearse calibrate measured.csv -o mine.json", "devices fitted to measurements, for --catalogue"}}},
        {"catalogue prices",
         {{"rehearse catalogue prices my-prices.csv -o prices.json", "instances at the prices of a list, for --catalogue"}}}}},
      {"More",
       {{"list",
         {{"rehearse list models", "what can be trained"},
          {"rehearse list strategies queue", "one kind of strategy, with options"},
          {"rehearse list strategies static-isotonic", "one strategy"},
          {"rehearse list instances --json", "for programs"}}},
        {"completion",
         {{"source <(rehearse completion bash)", "in ~/.bashrc"},
          {"rehearse completion fish > ~/.config/fish/completions/rehearse.fish", "for fish"},
          {"source <(rehearse completion zsh)", "in ~/.zshrc, below compinit"}}},
        {"help", {{"rehearse help run", "as rehearse run --help"}}}}}};
  return all;
}

const std::vector<Example>& first_examples() {
  static const std::vector<Example> five{
      {"rehearse run scenarios/quickstart.json", "every policy on the same jobs, side by side"},
      {"rehearse run my.json --set /seed=3 --watch", "with another seed, and a board of what each run is doing"},
      {"rehearse explain results/quickstart cifar-urgent", "why a job got what it got"},
      {"rehearse rent resnet50 --accuracy 0.74 --deadline 12h", "what to rent for one training"},
      {"rehearse import jobs philly cluster_job_log -o philly.csv", "a public trace, for a scenario's jobs"}};
  return five;
}

std::string example_text(const std::vector<Example>& examples) {
  std::string text = "Examples:";
  for (const Example& example : examples) text += fmt::format("\n  {}\n      {}", example.command, example.what);
  return text;
}

std::vector<std::string> words_of(const std::string& path) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t end = std::min(path.find(' ', from), path.size());
    words.push_back(path.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

/// Nothing where there is none of these words.
std::optional<Command> command_at(Command from, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    std::optional<Command> next;
    for (const Command& sub : from.subcommands())
      if (sub.name() == word) next = sub;
    if (!next) return std::nullopt;
    from = *next;
  }
  return from;
}

/// Of a command and those below it.
std::string markdown_of(const std::string& path, const Command& command) {
  std::string text = fmt::format("\n## {}\n\n```\n{}```\n", path, command.help());
  for (const Command& sub : command.subcommands()) text += markdown_of(path + " " + sub.name(), sub);
  return text;
}

std::string commands_page(const Command& program) {
  std::string text =
      "# Commands\n\nWhat `rehearse help` says of each command. This page is made by `rehearse help --markdown`, and a test "
      "holds it "
      "against the\nprogram.\n\n```\n" +
      program.help() + "```\n";
  for (const Command& command : program.subcommands()) text += markdown_of("rehearse " + command.name(), command);
  return text;
}

/// What a schema's "$ref" leads to: "#/$defs/NAME".
sim::JsonValue resolved(sim::JsonValue schema, sim::JsonValue definitions) {
  for (const sim::JsonMember member : schema.members()) {
    if (member.key.text() != "$ref") continue;
    const std::string_view text = member.value.text();
    const std::string_view name = text.substr(text.rfind('/') + 1);
    for (const sim::JsonMember definition : definitions.members())
      if (definition.key.text() == name) return resolved(definition.value, definitions);
  }
  return schema;
}

void add_keys(sim::JsonValue schema, sim::JsonValue definitions, const std::string& pointer, std::vector<std::string>& keys) {
  for (const sim::JsonMember part : schema.members()) {
    if (part.key.text() != "properties") continue;
    for (const sim::JsonMember member : part.value.members()) {
      const std::string key = fmt::format("{}/{}", pointer, member.key.text());
      keys.push_back(key);
      add_keys(resolved(member.value, definitions), definitions, key, keys);
    }
  }
}

}  // namespace

std::vector<std::string> scenario_keys() {
  const char* const name = "scenario.schema.json";
  const sim::JsonDocument schema = sim::parse_json(std::string(sim::embedded_file(embedded_files(), name)), name);
  for (const sim::JsonMember member : schema.root().members()) {
    if (member.key.text() != "$defs") continue;
    std::vector<std::string> keys;
    add_keys(schema.root(), member.value, {}, keys);
    // Of two keys of one name the shorter way is meant: /seed before /study/seed.
    std::stable_sort(keys.begin(), keys.end(), [](const std::string& a, const std::string& b) {
      return std::count(a.begin(), a.end(), '/') < std::count(b.begin(), b.end(), '/');
    });
    return keys;
  }
  return {};
}

void add_help_commands(Command program, HelpArguments& help, CompletionArguments& completion) {
  Command shells = program.subcommand("completion", "a script that completes commands and options in a shell");
  shells.option("shell", completion.shell, "whose").required().choices({"bash", "zsh", "fish"});
  Command command = program.subcommand("help", "what the program can do, or one of its commands");
  command.option("command", help.command, "its words, for instance import jobs");
  command.flag("--markdown", help.markdown, "all commands as a page, docs/reference/commands.md");
}

void add_examples(Command program) {
  for (const Command& command : program.subcommands()) Command(command).group("More");
  for (const Heading& heading : headings()) {
    for (const Told& told : heading.commands) {
      const std::vector<std::string> words = words_of(told.path);
      if (auto first = command_at(program, {words.front()})) first->group(heading.text);
      if (auto command = command_at(program, words)) command->footer(example_text(told.examples));
    }
  }
  for (const Command& command : program.subcommands()) {  // of a command of commands: the first of each
    std::vector<Example> examples;
    for (const Heading& heading : headings())
      for (const Told& told : heading.commands)
        if (words_of(told.path).size() > 1 && words_of(told.path).front() == command.name())
          examples.push_back(told.examples.front());
    if (!examples.empty()) Command(command).footer(example_text(examples));
  }
  program.footer(example_text(first_examples()));
  program.footer(
      "Exit status: 0 ok, 1 a bug of ours, 2 wrong usage, 3 invalid input, 4 a policy got worse or results\ndiffer, 5 a policy "
      "failed, 130 interrupted. `./rehearse test` builds and runs every test.");
}

int help_command(Command program, const HelpArguments& arguments) {
  if (arguments.markdown) {
    say("{}", commands_page(program));
    return kOk;
  }
  Command at = program;
  for (const std::string& word : arguments.command) {
    std::vector<std::string> names;
    for (const Command& sub : at.subcommands()) names.push_back(sub.name());
    const auto next = command_at(at, {word});
    if (!next)
      throw sim::InputError({.pointer = "help",
                             .expected = names.empty() ? "no more words" : "a command",
                             .found = "\"" + word + "\"",
                             .nearest = sim::nearest_name(word, names)});
    at = *next;
  }
  say("{}", at.help());
  return kOk;
}

}  // namespace rehearse::cli
