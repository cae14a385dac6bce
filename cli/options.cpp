#include "cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "sim/io/output_file.hpp"

namespace rehearse::cli {

namespace {

/// CLI11's own Range takes "nan".
CLI::Validator number_between(double low, double high) {
  const auto check = [low, high](std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool good = end != text.c_str() && *end == 0 && value >= low && value <= high;
    return good ? std::string() : fmt::format("expected a number from {} to {}, found {}", low, high, text);
  };
  return {check, fmt::format("FLOAT in [{} - {}]", low, high)};
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::choices(const std::vector<std::string>& choices) {
  option_->check(CLI::IsMember(choices));
  return *this;
}

Option& Option::range(std::int64_t low, std::int64_t high) {
  option_->check(CLI::Range(low, high));
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

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::require_subcommand() { app_->require_subcommand(1); }

void Command::when_read(const std::function<void()>& callback) { app_->parse_complete_callback(callback); }

std::string Command::name() const { return app_->get_name(); }

std::vector<Command> Command::subcommands() const {
  std::vector<Command> commands;
  for (CLI::App* command : app_->get_subcommands([](const CLI::App*) { return true; })) commands.emplace_back(*command);
  return commands;
}

bool Command::chose(const std::string& name) const { return app_->got_subcommand(name); }

void refuse_option(const std::string& name, const std::string& text) { throw CLI::ValidationError(name, text); }

CommandLine::CommandLine(const std::string& help, const std::string& program, const std::string& version)
    : app_(std::make_unique<CLI::App>(help, program)) {
  app_->require_subcommand(1);
  app_->set_version_flag("--version", version);
}

CommandLine::~CommandLine() = default;

Command CommandLine::program() { return Command(*app_); }

Parsed CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return Parsed::to_do;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? Parsed::told : Parsed::wrong;
  }
}

}  // namespace rehearse::cli
