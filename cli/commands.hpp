// The commands of the program, one file each. Each returns the exit status; what goes wrong is thrown and told by main.
#pragma once

#include <string>
#include <vector>

namespace rehearse::cli {

/// SEMANTICS of exit: the same for every command.
enum ExitStatus : int {
  kOk = 0,
  kBug = 1,
  kUsage = 2,
  kInvalidInput = 3,
  kRegression = 4,
  kPolicyFailed = 5,
  kInterrupted = 130
};

struct ScenarioArguments {
  std::string path;
  std::vector<std::string> sets;        ///< "/pointer=value"
  std::vector<std::string> catalogues;  ///< files
};

struct RunArguments {
  ScenarioArguments scenario;
  std::string out;
  int processes = 0;
};

int run_command(const RunArguments& arguments);
int check_command(const ScenarioArguments& arguments);
int list_command(const std::string& what);

/// What `list` can list.
const std::vector<std::string>& listable();

}  // namespace rehearse::cli
