// Reads scenarios, and runs them, a forked child each: what an exec and the linker cost is paid once. For tests/fuzz/campaign.py.
//   check <TAB> PATH <TAB> SECONDS
//   run <TAB> PATH <TAB> SECONDS <TAB> RESULTS <TAB> PROCESSES
// SECONDS are of processor time. Each line on the standard input is answered by one on the standard output: an exit status as the
// program's, a signal's number with a minus, or "no end". What the child says is on the standard error.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "experiments/load.hpp"
#include "experiments/run/run.hpp"
#include "experiments/studies/study.hpp"
#include "experiments/sweep/runs.hpp"
#include "sim/base/errors.hpp"

namespace rehearse {

namespace {

enum Status : int { kOk = 0, kBug = 1, kUsage = 2, kInvalid = 3, kPolicyFailed = 5 };

/// Seconds for each of processor time, after which it is looked whether a child still wants to run.
constexpr double kWaits = 10;
constexpr int kLooks = 20;

struct Request {
  std::string what, path;
  double seconds = 10;  ///< of processor time, of each process
  std::string results;
  int processes = 1;
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> words{""};
  for (const char c : line) {
    if (c == '\t')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

int run(const Request& request) {
  const auto scenario = scenarios::load_scenario(request.path, {});
  const scenarios::RunOptions options{.out = request.results, .processes = request.processes, .progress = true};
  if (scenario->study) {
    bool failed = false;
    scenarios::run_study(*scenario, options, failed);
    return failed ? kPolicyFailed : kOk;
  }
  bool failed = false;
  for (const report::SummaryRow& row : scenarios::run_scenario(*scenario, options).rows) {
    if (!row.ok) fmt::print(stderr, "FAILED: {}\n", row.reason);
    failed |= !row.ok;
  }
  return failed ? kPolicyFailed : kOk;
}

int answer(const Request& request) {
  try {
    if (request.what == "run") return run(request);
    if (request.what != "check") return kUsage;
    const scenarios::SweepPlan plan(request.path, {});
    return kOk;
  } catch (const sim::InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return kInvalid;
  } catch (const std::exception& error) {
    fmt::print(stderr, "this is a bug of rehearse, please report it: {}\n", error.what());
    return kBug;
  }
}

/// Does a process of the group wait for nothing but a processor, or has its first one ended meanwhile? On a busy machine that is
/// no hang: its limit of processor time ends it in time.
bool wants_to_run(pid_t group) {
  for (int look = 0; look < kLooks; ++look) {
    std::error_code gone;  // processes end while they are looked at
    for (std::filesystem::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone)) {
      std::string stat;
      std::getline(std::ifstream(at->path() / "stat"), stat);
      const std::size_t name_ends = stat.rfind(')');
      if (name_ends == std::string::npos) continue;
      char state = 0;
      pid_t parent = 0, of_group = 0;
      std::istringstream(stat.substr(name_ends + 1)) >> state >> parent >> of_group;
      const bool has_ended = state == 'Z' && at->path().filename() == std::to_string(group);
      if (of_group == group && (state == 'R' || state == 'D' || has_ended)) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

/// Waits for the child, which is killed once it stands still after so long; what it has started ends with it.
std::string ended(pid_t child, double seconds) {
  const auto patience = std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
  auto ends = std::chrono::steady_clock::now() + patience;
  int status = 0;
  bool late = false;
  for (auto pause = std::chrono::microseconds(200); waitpid(child, &status, WNOHANG) == 0;
       pause = std::min(2 * pause, std::chrono::microseconds(5000))) {
    if (!late && std::chrono::steady_clock::now() > ends) {
      late = !wants_to_run(child);
      ends += patience;
    }
    if (late) {
      kill(-child, SIGKILL);
      kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(pause);
  }
  kill(-child, SIGKILL);
  if (late) return "no end";
  return fmt::format("{}", WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
}

}  // namespace

int serve() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::vector<std::string> words = split(line);
    Request request{.what = words[0]};
    if (words.size() > 1) request.path = words[1];
    if (words.size() > 2) request.seconds = std::atof(words[2].c_str());
    if (words.size() > 3) request.results = words[3];
    if (words.size() > 4) request.processes = std::atoi(words[4].c_str());
    const pid_t child = fork();
    if (child < 0) return kBug;
    if (child == 0) {
      setpgid(0, 0);
      const rlimit cpu{static_cast<rlim_t>(request.seconds) + 1, static_cast<rlim_t>(request.seconds) + 2};
      setrlimit(RLIMIT_CPU, &cpu);
      const int status = answer(request);
      std::fflush(nullptr);
      _exit(status);
    }
    setpgid(child, child);
    std::cout << ended(child, kWaits * request.seconds) << std::endl;
  }
  return kOk;
}

}  // namespace rehearse

int main() {
  signal(SIGXFSZ, SIG_IGN);  // as the program: who writes the file tells it
  return rehearse::serve();
}
