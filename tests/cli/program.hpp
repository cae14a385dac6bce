// Starting the built program, as a user would.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/scenarios/temporary_folder.hpp"

struct Ended {
  int status = 0;  ///< -1 when a signal ended it
  std::string out, err;
};

inline std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// The built program, or the one that REHEARSE names: these tests need not be built as it is.
inline std::string program_path() {
  const char* const named = std::getenv("REHEARSE");
  return named != nullptr ? named : REHEARSE_PROGRAM;
}

/// The program in a process group of its own, started in a folder; its output goes to files beside.
class Program {
 public:
  Program(const std::string& folder, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program_path());
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setpgid(0, 0);
    const auto redirect = [](const std::string& path, int to) {
      ::dup2(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666), to);
    };
    redirect(output_.path() + "/out", STDOUT_FILENO);
    redirect(output_.path() + "/err", STDERR_FILENO);
    if (::chdir(folder.c_str()) == 0) ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  pid_t id() const { return pid_; }
  void send(int signal) const { ::kill(pid_, signal); }
  Ended wait() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .out = text_of(output_.path() + "/out"),
            .err = text_of(output_.path() + "/err")};
  }
  /// Whether it or any process that it started is still there.
  bool is_alive() const { return ::kill(-pid_, 0) == 0; }

 private:
  TemporaryFolder output_;
  pid_t pid_ = 0;
};

inline Ended run_program(const std::string& folder, std::vector<std::string> arguments) {
  return Program(folder, std::move(arguments)).wait();
}
