#include "scenarios/process/kept_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "scenarios/process/keeper.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::scenarios {

namespace {

/// Both ends, closed at the end of the scope unless taken.
class Pipe {
 public:
  Pipe() { sim::check(pipe2(ends_.data(), O_CLOEXEC) == 0, "no pipe could be made"); }
  ~Pipe() {
    for (const int end : ends_)
      if (end >= 0) close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  /// Our end, which then does not block.
  int take(std::size_t end) {
    fcntl(ends_[end], F_SETFL, O_NONBLOCK);
    return std::exchange(ends_[end], -1);
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// No signal comes between a fork and what the child does about signals.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~HeldSignals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

KeptProcess::KeptProcess(const ProcessCommand& command) {
  Pipe input, output, errors, end;
  std::vector<std::string> words = command.words;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const KeeperTask task{.owner = getpid(),
                        .argv = argv.data(),
                        .folder = command.folder.empty() ? nullptr : command.folder.c_str(),
                        .standard = {input.reading(), output.writing(), errors.writing()},
                        .tell = end.writing()};
  std::fflush(nullptr);
  {
    const HeldSignals held;
    keeper_ = fork();
    if (keeper_ == 0) keep(task);
  }
  sim::check(keeper_ > 0, "no process could be started");
  input_ = input.take(1);
  output_ = output.take(0);
  errors_ = errors.take(0);
  end_ = end.take(0);
}

KeptProcess::~KeptProcess() {
  kill(keeper_, SIGTERM);
  while (waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
  close_input();
  for (const int file : {output_, errors_, end_}) close(file);
}

void KeptProcess::close_input() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

bool KeptProcess::read_end() {
  if (has_ended_) return true;
  const ssize_t got = read(end_, how_.data(), sizeof how_);
  if (got < 0) return false;
  if (got != sizeof how_) how_ = {kKilled, SIGKILL};  // the keeper itself is no more
  return has_ended_ = true;
}

std::string KeptProcess::how_it_ended() const {
  const auto [kind, number] = how_;
  if (kind == kNotRun) return fmt::format("cannot be run: {}", std::strerror(number));
  if (kind == kNoFolder) return fmt::format("cannot be run in its folder: {}", std::strerror(number));
  if (kind == kKilled) return fmt::format("was killed by signal {} ({})", number, strsignal(number));
  return fmt::format("has ended with status {}", number);
}

}  // namespace rehearse::scenarios
