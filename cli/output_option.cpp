#include "cli/output_option.hpp"

#include <cstdio>

#include "sim/io/output_file.hpp"

namespace rehearse::cli {

CLI::Option* add_output_option(CLI::App& command, const std::string& names, std::string& into, const std::string& help) {
  return command.add_option(names, into, help)->each([](const std::string& path) {
    sim::check_output(path);
    if (sim::is_standard_output(path)) stdout = stderr;  // a variable of the GNU C library, which lets it be set
  });
}

}  // namespace rehearse::cli
