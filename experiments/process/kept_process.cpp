#include "experiments/process/kept_process.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "experiments/process/keeper.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/pipe.hpp"

namespace rehearse::scenarios {

namespace {

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
  sim::Pipe input, output, errors, end;
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
  input_ = input.take_writing();
  output_ = output.take_reading();
  errors_ = errors.take_reading();
  end_ = end.take_reading();
  for (const int ours : {input_, output_, errors_, end_}) sim::never_wait(ours);
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
