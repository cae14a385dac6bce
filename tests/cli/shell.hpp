// Commands of a shell, for tests that hold our files against the programs that they are for.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/scenarios/temporary_folder.hpp"

class Shell {
 public:
  explicit Shell(const TemporaryFolder& folder) : out_(folder.path() + "/shell.out") {}
  bool succeeds(const std::string& command) const { return std::system((command + " >'" + out_ + "' 2>/dev/null").c_str()) == 0; }
  bool has(const std::string& program) const { return succeeds("command -v " + program); }
  /// What the command printed; "failed" when it did.
  std::string output(const std::string& command) const {
    if (!succeeds(command)) return "failed";
    std::ostringstream text;
    text << std::ifstream(out_, std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  std::string out_;
};
