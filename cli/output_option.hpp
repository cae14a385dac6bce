// The option of a file to write: the same for every command.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace rehearse::cli {

/// What is written where is decided by sim::OutputFile; here, before the command begins, whether it can be. Where it is standard
/// output, what commands say goes to standard error instead. Parsing throws sim::InputError.
CLI::Option* add_output_option(CLI::App& command, const std::string& names, std::string& into, const std::string& help);

}  // namespace rehearse::cli
