#include "experiments/sweep/launchers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "deploy/template.hpp"
#include "experiments/run/process_pool.hpp"
#include "experiments/sweep/task_folder.hpp"
#include "sim/base/child_process.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/file.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

namespace {

/// Another program, with its output in a pipe; ended when it goes out of scope.
class Command {
 public:
  Command(std::vector<std::string> words, bool quiet) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    sim::Pipe pipe;
    const pid_t parent = getpid();
    pid_ = fork();
    sim::check(pid_ >= 0, "no process could be started");
    if (pid_ == 0) {
      sigset_t none;
      sigemptyset(&none);
      sigprocmask(SIG_SETMASK, &none, nullptr);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(130);
      dup2(pipe.writing(), STDOUT_FILENO);
      if (quiet) dup2(pipe.writing(), STDERR_FILENO);
      execvp(argv[0], argv.data());
      dprintf(STDOUT_FILENO, "%s: %s", argv[0], std::strerror(errno));
      _exit(127);
    }
    output_ = pipe.take_reading();
  }
  ~Command() {
    if (pid_ > 0) {
      // GNU parallel waits for what it has started at the first signal, and ends it at the second.
      for (int i = 0; i < 2; ++i) {
        kill(pid_, SIGTERM);
        usleep(300'000);
      }
      if (!has_ended()) kill(pid_, SIGKILL);
      while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    ::close(output_);
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  bool has_ended() {
    int status = 0;
    if (pid_ > 0 && waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = 0;
      status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    return pid_ == 0;
  }
  /// All that it writes; then it has ended.
  std::string wait() {
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(output_, buffer, sizeof buffer)) > 0 || (got < 0 && errno == EINTR);)
      if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    while (!has_ended()) usleep(1000);
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }
  int status() const { return status_; }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
  int status_ = 0;
};

/// Somebody who runs the tasks of a folder.
class TaskRunner {
 public:
  virtual ~TaskRunner() = default;
  /// Starts tasks 0 to tasks - 1 by FOLDER/task.sh N.
  virtual void start(const std::string& folder, int tasks) = 0;
  /// Whether any task, of this start or an earlier one, may still run.
  virtual bool is_busy() = 0;
};

class Slurm final : public TaskRunner {
 public:
  explicit Slurm(const TaskSettings& settings) : settings_(settings) {
    // By its name the array is found again after this process was killed, also between submission and the answer.
    const std::string folder = std::filesystem::absolute(settings.folder).lexically_normal();
    name_ = fmt::format("rehearse-{}-{}", traces::path_component(settings.label), sim::sha256_of_text(folder).substr(0, 8));
  }
  void start(const std::string& folder, int tasks) override {
    Command sbatch({"sbatch", "--parsable", "--requeue", fmt::format("--array=0-{}", tasks - 1), "--job-name=" + name_,
                    fmt::format("--cpus-per-task={}", settings_.processes), fmt::format("--output={}/%a.log", folder),
                    "--open-mode=append", folder + "/task.sh"},
                   true);
    const std::string said = sbatch.wait();
    if (sbatch.status() != 0)
      throw sim::InputError({.file = "sbatch", .expected = "a job array to be submitted", .found = sim::shown(said, 300)});
    unanswered_ = 0;
  }
  bool is_busy() override {
    Command squeue({"squeue", "--me", "--noheader", "--name=" + name_, "--format=%i"}, true);
    const std::string said = squeue.wait();
    if (squeue.status() == 0) {
      unanswered_ = 0;
      return !said.empty();
    }
    if (++unanswered_ == kMostUnanswered)  // the controller may be busy, or be started anew
      throw sim::InputError({.file = "squeue", .expected = "an answer of Slurm", .found = sim::shown(said, 300)});
    return true;
  }

 private:
  static constexpr int kMostUnanswered = 60;
  const TaskSettings& settings_;
  std::string name_;
  int unanswered_ = 0;
};

class Parallel final : public TaskRunner {
 public:
  explicit Parallel(const TaskSettings& settings) : settings_(settings) {}
  void start(const std::string& folder, int tasks) override {
    std::vector<std::string> words{
        "parallel", "--will-cite", "--sshlogin", settings_.hosts, traces::shell_word(folder + "/task.sh"), ":::"};
    for (int task = 0; task < tasks; ++task) words.push_back(std::to_string(task));
    command_.emplace(std::move(words), false);
  }
  bool is_busy() override {
    if (!command_ || !command_->has_ended()) return command_.has_value();
    if (command_->status() == 127 || command_->status() == 255)
      throw sim::InputError(
          {.file = "parallel", .expected = "GNU parallel to run tasks", .found = sim::shown(command_->wait(), 300)});
    return false;
  }

 private:
  const TaskSettings& settings_;
  std::optional<Command> command_;
};

void write_script(const TaskSettings& settings, const std::string& folder) {
  std::string text = "#!/bin/bash\n# One task of a sweep: its number is the argument, or Slurm's.\n";
  if (const char* data = std::getenv("REHEARSE_DATA")) text += "export REHEARSE_DATA=" + traces::shell_word(data) + "\n";
  text += fmt::format("if [ $# -gt 0 ]; then exec >>{}/\"$1.log\" 2>&1; fi\n", traces::shell_word(folder));
  text += "cd " + traces::shell_word(std::filesystem::current_path().string()) + " || exit\nexec";
  for (const std::string& word : settings.command) text += " " + traces::shell_word(word);
  text +=
      fmt::format(" --processes {} --task {}/\"${{1:-$SLURM_ARRAY_TASK_ID}}\"\n", settings.processes, traces::shell_word(folder));
  const std::string path = folder + "/task.sh";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0777);
  const bool whole = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) close(fd);
  if (!whole) throw sim::InputError({.file = path, .expected = "a file that can be written", .found = std::strerror(errno)});
}

class TaskSweep {
 public:
  TaskSweep(const TaskSettings& settings, TaskRunner& runner, const KeepRows& keep)
      : settings_(settings),
        runner_(runner),
        keep_(keep),
        folder_(std::filesystem::absolute(settings.folder).lexically_normal()) {}

  bool run(std::vector<PlannedRun> runs) {
    if (folder_.exists() && !finish()) return false;
    for (;;) {
      std::erase_if(runs, [&](const PlannedRun& run) { return done_.contains(run.key); });
      if (runs.empty()) return true;
      const std::size_t before = done_.size();
      const int by_default = std::min(kMostTasks, static_cast<int>((runs.size() + kRunsInTask - 1) / kRunsInTask));
      const int tasks = folder_.write(runs, settings_.tasks > 0 ? settings_.tasks : by_default);
      write_script(settings_, folder_.path());
      runner_.start(folder_.path(), tasks);
      if (!finish(before)) return false;
    }
  }

 private:
  /// Waits until no task is left, and keeps their rows. The folder stays when there is not one more than `before`.
  bool finish(std::optional<std::size_t> before = {}) {
    const HeldInterrupts interrupts;
    for (int seconds = 0; runner_.is_busy(); ++seconds) {
      keep(folder_.collect(false));
      if (folder_.is_whole()) break;
      if (!pause(interrupts, seconds < 60 ? 1 : 10)) return false;
    }
    keep(folder_.collect(true));
    if (before && done_.size() == *before)
      throw sim::InputError({.file = folder_.path(),
                             .expected = "tasks that end at least one run",
                             .found = "none; see the tasks' *.log there, then remove the folder"});
    folder_.remove();
    folder_ = TaskFolder(folder_.path());
    return true;
  }

  /// False when an interrupt has come.
  static bool pause(const HeldInterrupts& interrupts, int seconds) {
    for (int tick = 0; tick < 10 * seconds; ++tick) {
      if (interrupts.take()) return false;
      usleep(100'000);
    }
    return true;
  }

  void keep(const std::vector<SweepRow>& rows) {
    if (!rows.empty()) keep_(rows);
    for (const SweepRow& row : rows) done_.insert(row.key);
  }

  const TaskSettings& settings_;
  TaskRunner& runner_;
  const KeepRows& keep_;
  TaskFolder folder_;
  std::set<std::string> done_;
};

}  // namespace

bool run_by_slurm(std::vector<PlannedRun> runs, const TaskSettings& settings, const KeepRows& keep) {
  Slurm slurm(settings);
  return TaskSweep(settings, slurm, keep).run(std::move(runs));
}

bool run_by_parallel(std::vector<PlannedRun> runs, const TaskSettings& settings, const KeepRows& keep) {
  Parallel parallel(settings);
  return TaskSweep(settings, parallel, keep).run(std::move(runs));
}

}  // namespace rehearse::scenarios
