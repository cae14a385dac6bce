#include "experiments/run/map_processes.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <fstream>

#include "experiments/run/process_pool.hpp"
#include "experiments/run/run.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/memory.hpp"
#include "sim/io/file.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::scenarios {

namespace {

constexpr const char* kSubfolder = "tasks";

/// Signals that the system sends, or somebody who ends programs: no defect of ours.
bool is_from_outside(int signal) { return signal == SIGKILL || signal == SIGXCPU || signal == SIGTERM || signal == SIGHUP; }

}  // namespace

std::vector<std::string> map_processes(int tasks, int processes, const ResultsFolder& folder,
                                       const std::function<std::string(int task)>& work, ProgressSetup progress) {
  const std::string files = folder.make_subfolder(kSubfolder);
  const auto file = [&](int task) { return fmt::format("{}/{}", files, task); };
  ReasonPipe reasons;
  progress.tasks = static_cast<std::size_t>(tasks);
  progress.at_once = static_cast<std::size_t>(processes);
  ProgressBar bar(std::move(progress));
  const auto guarded = [&](int task) {
    try {
      auto out = sim::OutputFile::in_place(file(task));
      out.write(work(task));
      out.close();
      return kOk;
    } catch (const sim::InputError& error) {
      reasons.tell(task, error.what());
      return kInvalid;
    } catch (const std::bad_alloc&) {
      reasons.tell(task, sim::memory_exhausted_text());
      return kOutOfMemory;
    } catch (const std::exception& error) {
      reasons.tell(task, error.what());
      return kBug;
    }
  };
  const auto ended = [&](const ChildEnd& end) {
    if (end.exit_status == kOk) return bar.ended(static_cast<std::size_t>(end.task));
    reasons.read();
    const std::string reason = end.signal != 0 ? strsignal(end.signal) : reasons.of(end.task);
    if (end.exit_status == kOutOfMemory) throw sim::MemoryExhausted(reason);
    if (end.exit_status == kInvalid) throw sim::InputError({.found = reason});
    if (is_from_outside(end.signal))
      throw sim::InputError({.expected = "each task to run to its end",
                             .found = fmt::format("task {} ended from outside: {} (signal {})", end.task, reason, end.signal)});
    throw sim::CheckFailed(fmt::format("task {} failed: {}", end.task, reason));
  };
  const bool whole = run_processes({.tasks = tasks,
                                    .processes = processes,
                                    .work = [&](int task, const auto&) -> int { return guarded(task); },
                                    .on_end = ended,
                                    .on_progress = [](int, const sim::ReplayProgress&) {},
                                    .also_fd = reasons.reading(),
                                    .on_also = [&] { reasons.read(); }});
  if (!whole) throw Interrupted();
  std::vector<std::string> texts;
  for (int task = 0; task < tasks; ++task) texts.push_back(sim::text_of_file(file(task)));
  folder.drop_subfolder(kSubfolder);
  return texts;
}

}  // namespace rehearse::scenarios
