// What is told of every command beside its options: examples, under which heading it is listed; and all of it as a page.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"

namespace rehearse::cli {

struct HelpArguments {
  std::vector<std::string> command;  ///< its words; none: the program
  bool markdown = false;             ///< the page of all commands
};

struct CompletionArguments {
  std::string shell;  ///< bash, zsh or fish
};

void add_help_commands(Command program, HelpArguments& help, CompletionArguments& completion);

/// Puts examples and headings to all commands, once they are declared.
void add_examples(Command program);

/// Refuses words that name no command.
int help_command(Command program, const HelpArguments& arguments);
int completion_command(Command program, const CompletionArguments& arguments);

/// The keys of a scenario that --set can reach without an index, as JSON pointers, by the schema.
std::vector<std::string> scenario_keys();

}  // namespace rehearse::cli
