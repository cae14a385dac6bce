// What the command line may hold, declared: commands, their options, and what is checked of them. CLI11 is behind it
// (options.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rehearse::cli {

/// What is told of an option where commands are listed: in help, in completions of shells.
struct OptionFacts {
  std::vector<std::string> names;  ///< with their dashes, the long one last; of a positional argument its name alone
  std::string help;
  std::vector<std::string> choices;  ///< none: anything
  bool is_positional = false, takes_value = false;
};

/// An option, a flag or a positional argument of a command: a handle, as cheap as a pointer. Checks hold in the order in which
/// they are named here; help shows them.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}
  Option& required();
  Option& choices(const std::vector<std::string>& choices);
  /// What an empty variable of a shell gives is a mistake.
  Option& not_empty();
  /// A whole number in [low, high].
  Option& range(std::int64_t low, std::int64_t high);
  /// A finite number in [low, high].
  Option& between(double low, double high);
  /// Bytes in [low, high], as 500MB or 4GB.
  Option& size_between(std::uint64_t low, std::uint64_t high);
  /// May be given several times, with one value each.
  Option& repeated();
  Option& excludes(const Option& other);
  /// Not in the help.
  Option& hidden();
  bool is_given() const;
  /// As it was given.
  std::string text() const;

 private:
  CLI::Option* option_;
};

/// A command, or the program itself: a handle. `names`: "-o,--out"; without dashes a positional argument.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}
  Command subcommand(const std::string& name, const std::string& help);
  Option option(const std::string& names, std::string& into, const std::string& help = {});
  Option option(const std::string& names, std::vector<std::string>& into, const std::string& help);
  Option option(const std::string& names, int& into, const std::string& help);
  Option option(const std::string& names, std::int64_t& into, const std::string& help);
  Option option(const std::string& names, std::uint64_t& into, const std::string& help);
  Option option(const std::string& names, std::optional<std::uint64_t>& into, const std::string& help);
  Option option(const std::string& names, double& into, const std::string& help);
  Option flag(const std::string& names, bool& into, const std::string& help);
  /// A file to write. What is written where is decided by sim::OutputFile; here, before the command begins, whether it can be.
  /// Where it is standard output, what commands say goes to standard error instead. Parsing throws sim::InputError.
  Option output(const std::string& names, std::string& into, const std::string& help);
  /// Text below the options, and below what was put there before.
  void footer(const std::string& text);
  /// Under which the program's help lists it.
  void group(const std::string& heading);
  /// One of its subcommands has to be given.
  void require_subcommand();
  /// Called when all of the command's options are read.
  void when_read(const std::function<void()>& callback);
  std::string name() const;
  /// One line.
  std::string summary() const;
  /// All that --help says.
  std::string help() const;
  std::vector<Command> subcommands() const;
  /// Without the hidden ones.
  std::vector<OptionFacts> options() const;
  /// Of its options those that were given, by their long names; of positional arguments the name alone.
  std::vector<std::string> given() const;
  /// Whether this subcommand was given.
  bool chose(const std::string& name) const;

 private:
  CLI::App* app_;
};

/// Of a callback of when_read: what is wrong with an option, as checks say it.
[[noreturn]] void refuse_option(const std::string& name, const std::string& text);

enum class Parsed {
  to_do,  ///< a command was given
  told,   ///< help or version: said, and the program ends
  wrong   ///< what is wrong was told
};

/// The program's command line.
class CommandLine {
 public:
  /// Some command has to be given; --version tells the version.
  CommandLine(const std::string& help, const std::string& program, const std::string& version);
  ~CommandLine();
  Command program();
  /// Fills what the options were declared with. Throws what checks throw. What is wrong is told on stderr, with what was probably
  /// meant: a command, an option, or one of a scenario's keys, as pointers, which --set takes.
  Parsed parse(int argc, char** argv, const std::function<std::vector<std::string>()>& scenario_keys);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace rehearse::cli
