#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/say.hpp"
#include "sim/base/text.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::cli {

namespace {

// Names of validators, by which help finds what they say.
constexpr const char *kChoices = "choices", *kRange = "range";

/// CLI11's own Range takes "nan".
CLI::Validator number_between(double low, double high) {
  const auto check = [low, high](std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool good = end != text.c_str() && *end == 0 && value >= low && value <= high;
    return good ? std::string() : fmt::format("expected a number from {} to {}, found {}", low, high, text);
  };
  return {check, fmt::format("{} to {}", sim::figure(low), sim::figure(high)), kRange};
}

/// What was meant is said, which CLI11's own IsMember does not.
CLI::Validator one_of(const std::vector<std::string>& choices) {
  const auto check = [choices](std::string& text) -> std::string {
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return {};
    const std::string nearest = sim::nearest_name(text, choices);
    return fmt::format("expected one of {}; found \"{}\"{}", fmt::join(choices, ", "), text,
                       nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest));
  };
  return {check, fmt::format("{}", fmt::join(choices, ",")), kChoices};
}

/// What a validator of this name says of itself; empty without one.
std::string description_of(const CLI::Option& option, const char* validator) {
  try {
    return const_cast<CLI::Option&>(option).get_validator(validator)->get_description();  // CLI11 has none that is const
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t end = std::min(list.find(',', from), list.size());
    parts.push_back(list.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

bool is_hidden(const CLI::Option& option) { return option.get_group().empty(); }

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts{.names = {},
                    .help = option.get_description(),
                    .choices = split(description_of(option, kChoices)),
                    .is_positional = option.get_positional(),
                    .takes_value = option.get_items_expected_max() > 0};
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  if (facts.is_positional) facts.names = {option.get_name()};
  return facts;
}

// Help: what it is for, how it is called, its arguments, options and commands in two columns, and the footer.

constexpr std::size_t kNames = 24;

std::string row_of(const CLI::Option& option) {
  const OptionFacts facts = facts_of(option);
  std::string names = fmt::format("{}", fmt::join(facts.names, ", ")), help = facts.help;
  const std::string range = description_of(option, kRange);
  const std::string choices = fmt::format("{}", fmt::join(facts.choices, ", "));
  if (!facts.is_positional && facts.takes_value) names += range.empty() ? " VALUE" : " N";
  if (!choices.empty()) help += "; one of " + choices;
  if (!range.empty()) help += "; " + range;
  return two_columns(names, help, kNames);
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + " " + app.get_name();
}

std::string usage_of(const CLI::App& app) {
  std::string usage = "Usage: " + path_of(app);
  std::string positional;
  bool has_options = false;
  for (const CLI::Option* option : app.get_options()) {
    if (is_hidden(*option)) continue;
    if (!option->get_positional()) {
      has_options = true;
      continue;
    }
    const std::string name = option->get_name() + (option->get_expected_max() > 1 ? "..." : "");
    positional += option->get_required() ? " " + name : " [" + name + "]";
  }
  if (!app.get_subcommands([](const CLI::App*) { return true; }).empty()) return usage + " COMMAND [OPTIONS]\n";
  return usage + positional + (has_options ? " [OPTIONS]" : "") + "\n";
}

/// Headings in the order in which they first come.
std::string commands_of(const CLI::App& app) {
  std::vector<std::string> headings;
  const auto commands = app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
  for (const CLI::App* command : commands)
    if (std::find(headings.begin(), headings.end(), command->get_group()) == headings.end())
      headings.push_back(command->get_group());
  std::string text;
  for (const std::string& heading : headings) {
    text += "\n" + heading + ":\n";
    for (const CLI::App* command : commands)
      if (command->get_group() == heading) text += two_columns(command->get_name(), command->get_description(), kNames);
  }
  return text;
}

std::string help_of(const CLI::App& app) {
  std::string text = wrapped(app.get_description()) + "\n" + usage_of(app), arguments, options;
  for (const CLI::Option* option : app.get_options())
    if (!is_hidden(*option) && (app.get_parent() == nullptr || option != app.get_help_ptr()))
      (option->get_positional() ? arguments : options) += row_of(*option);
  if (!arguments.empty()) text += "\nArguments:\n" + arguments;
  text += commands_of(app);
  if (!options.empty()) text += "\nOptions:\n" + options;
  if (!app.get_footer().empty()) text += "\n" + app.get_footer() + "\n";
  return text;
}

// What was meant.

/// The innermost command that was given.
const CLI::App& given_command(const CLI::App& app) {
  const std::vector<CLI::App*> given = app.get_subcommands();
  return given.empty() ? app : given_command(*given.front());
}

/// An option as its name alone: "--model-error=0" is "model_error".
std::string bare(const std::string& option) {
  const std::size_t from = option.find_first_not_of('-');
  if (from == option.npos) return {};
  std::string name = option.substr(from, option.find('=') - from);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// For the value that --set would give a key: the one that followed the option, if any did.
std::string value_after(const std::string& option, const std::vector<std::string>& words) {
  if (const std::size_t equals = option.find('='); equals != option.npos) return option.substr(equals + 1);
  const auto at = std::find(words.begin(), words.end(), option);
  return at == words.end() || at + 1 == words.end() || (at + 1)->starts_with('-') ? "VALUE" : *(at + 1);
}

/// Whether one is the other cut short: "output" and "out".
bool is_short_for(const std::string& a, const std::string& b) {
  constexpr std::size_t kLeast = 3;
  const std::string &shorter = a.size() < b.size() ? a : b, &longer = a.size() < b.size() ? b : a;
  return shorter.size() >= kLeast && longer.starts_with(shorter);
}

std::string meant_by_option(const CLI::App& command, const std::string& option, const std::vector<std::string>& words,
                            const std::function<std::vector<std::string>()>& scenario_keys) {
  std::vector<std::string> names, said;
  std::string short_for;
  bool takes_scenario = false;
  for (const CLI::Option* known : command.get_options())
    for (const std::string& name : known->get_lnames()) {
      takes_scenario = takes_scenario || name == "set";
      if (is_hidden(*known)) continue;
      names.push_back(bare(name));
      if (is_short_for(bare(option), names.back()) && names.back().size() > short_for.size()) short_for = names.back();
      said.push_back(fmt::format("did you mean \"--{}\"?", name));
    }
  if (takes_scenario)
    for (const std::string& pointer : scenario_keys()) {
      const std::string key = pointer.substr(pointer.rfind('/') + 1);
      names.push_back(key);
      said.push_back(fmt::format("\"{}\" is a key of the scenario: --set {}={}", key, pointer, value_after(option, words)));
    }
  const std::string nearest = short_for.empty() ? sim::nearest_name(bare(option), names) : short_for;
  if (nearest.empty()) return {};
  return said[static_cast<std::size_t>(std::find(names.begin(), names.end(), nearest) - names.begin())];
}

/// What the option is that CLI11 says is required.
std::string what_is_missing(const CLI::App& command, const std::string& said) {
  for (const CLI::Option* option : command.get_options())
    if (said.starts_with(option->get_name() + " ")) return ": " + option->get_description();
  return {};
}

std::string meant_by_word(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) names.push_back(sub->get_name());
  if (command.get_parent() == nullptr) names.emplace_back("test");  // the launcher's
  const std::string nearest = sim::nearest_name(word, names);
  return nearest.empty() ? std::string() : fmt::format("did you mean \"{}\"?", nearest);
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::choices(const std::vector<std::string>& choices) {
  option_->check(one_of(choices));
  return *this;
}

Option& Option::not_empty() {
  option_->check(
      [](const std::string& text) { return text.empty() ? std::string("expected a name, found an empty one") : std::string(); });
  return *this;
}

Option& Option::range(std::int64_t low, std::int64_t high) {
  CLI::Validator check = CLI::Range(low, high);
  option_->check(check.name(kRange).description(sim::grouped(low) + " to " + sim::grouped(high)));
  return *this;
}

Option& Option::between(double low, double high) {
  option_->check(number_between(low, high));
  return *this;
}

Option& Option::size_between(std::uint64_t low, std::uint64_t high) {
  option_->transform(CLI::AsSizeValue(true))->check(CLI::Range(low, high));
  return *this;
}

Option& Option::repeated() {
  option_->take_all()->allow_extra_args(false);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::hidden() {
  option_->group("");
  return *this;
}

bool Option::is_given() const { return option_->count() > 0; }

std::string Option::text() const { return option_->as<std::string>(); }

Command Command::subcommand(const std::string& name, const std::string& help) {
  return Command(*app_->add_subcommand(name, help));
}

Option Command::option(const std::string& names, std::string& into, const std::string& help) {
  return Option(*app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, std::vector<std::string>& into, const std::string& help) {
  return Option(*app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, int& into, const std::string& help) {
  return Option(*app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, std::int64_t& into, const std::string& help) {
  return Option(*app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, std::uint64_t& into, const std::string& help) {
  return Option(*app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, std::optional<std::uint64_t>& into, const std::string& help) {
  return Option(*app_->add_option(names, into, help));
}

Option Command::option(const std::string& names, double& into, const std::string& help) {
  return Option(*app_->add_option(names, into, help));
}

Option Command::flag(const std::string& names, bool& into, const std::string& help) {
  return Option(*app_->add_flag(names, into, help));
}

Option Command::output(const std::string& names, std::string& into, const std::string& help) {
  return Option(*app_->add_option(names, into, help)->each([](const std::string& path) {
    sim::check_output(path);
    if (sim::is_standard_output(path)) stdout = stderr;  // a variable of the GNU C library, which lets it be set
  }));
}

void Command::footer(const std::string& text) {
  const std::string before = app_->get_footer();
  app_->footer(before.empty() ? text : before + "\n\n" + text);
}

void Command::group(const std::string& heading) { app_->group(heading); }

void Command::require_subcommand() { app_->require_subcommand(1); }

void Command::when_read(const std::function<void()>& callback) { app_->parse_complete_callback(callback); }

std::string Command::name() const { return app_->get_name(); }

std::string Command::summary() const { return app_->get_description(); }

std::string Command::help() const { return help_of(*app_); }

std::vector<OptionFacts> Command::options() const {
  std::vector<OptionFacts> facts;
  for (const CLI::Option* option : app_->get_options())
    if (!is_hidden(*option)) facts.push_back(facts_of(*option));
  return facts;
}

std::vector<Command> Command::subcommands() const {
  std::vector<Command> commands;
  for (CLI::App* command : app_->get_subcommands([](const CLI::App*) { return true; })) commands.emplace_back(*command);
  return commands;
}

std::vector<std::string> Command::given() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_->get_options())
    if (option->count() > 0) names.push_back(facts_of(*option).names.back());
  return names;
}

bool Command::chose(const std::string& name) const { return app_->got_subcommand(name); }

void refuse_option(const std::string& name, const std::string& text) { throw CLI::ValidationError(name, text); }

CommandLine::CommandLine(const std::string& help, const std::string& program, const std::string& version)
    : app_(std::make_unique<CLI::App>(help, program)) {
  app_->formatter(std::make_shared<CLI::FormatterLambda>(
      [](const CLI::App* app, const std::string&, CLI::AppFormatMode) { return help_of(*app); }));
  app_->set_help_flag("-h,--help", "say this");
  app_->require_subcommand(1);
  app_->set_version_flag("--version", version, "say the version");
}

CommandLine::~CommandLine() = default;

Command CommandLine::program() { return Command(*app_); }

Parsed CommandLine::parse(int argc, char** argv, const std::function<std::vector<std::string>()>& scenario_keys) {
  if (argc < 2) {
    say(stderr, "{}", help_of(*app_));
    return Parsed::wrong;
  }
  try {
    app_->parse(argc, argv);
    return Parsed::to_do;
  } catch (const CLI::Success& told) {
    app_->exit(told);
    return Parsed::told;
  } catch (const CLI::ParseError& error) {
    const CLI::App& command = given_command(*app_);
    std::string text = error.what();
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) text += what_is_missing(command, text);
    std::vector<std::string> hints, unexpected;
    const std::vector<std::string> words(argv + 1, argv + argc);
    std::vector<std::string> left = app_->remaining(true);
    for (const std::string& word : words) {  // in their order, which CLI11 does not keep
      const auto at = std::find(left.begin(), left.end(), word);
      if (at == left.end()) continue;
      left.erase(at);
      unexpected.push_back(word);
      const std::string meant =
          word.starts_with('-') ? meant_by_option(command, word, words, scenario_keys) : meant_by_word(command, word);
      if (!meant.empty()) hints.push_back(fmt::format("{}: {}", word, meant));
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !unexpected.empty())
      text = fmt::format("not expected: {}", fmt::join(unexpected, " "));
    say(stderr, "{}: {}\n{}{}{} --help says more\n", path_of(command), text, fmt::join(hints, "\n"), hints.empty() ? "" : "\n",
        path_of(command));
    return Parsed::wrong;
  }
}

}  // namespace rehearse::cli
