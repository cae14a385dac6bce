#include "scenarios/map_processes.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>

#include "scenarios/process_pool.hpp"
#include "scenarios/run_policies.hpp"
#include "sim/base/errors.hpp"
#include "sim/read/file.hpp"

namespace rehearse::scenarios {

namespace {

constexpr const char* kSubfolder = "tasks";

bool write_text_of_task(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  return static_cast<bool>(out);
}

}  // namespace

std::vector<std::string> map_processes(int tasks, int processes, const ResultsFolder& folder,
                                       const std::function<std::string(int task)>& work) {
  const std::string files = folder.make_subfolder(kSubfolder);
  const auto file = [&](int task) { return fmt::format("{}/{}", files, task); };
  const bool whole = run_processes({.tasks = tasks,
                                    .processes = processes,
                                    .work =
                                        [&](int task, const auto&) {
                                          try {
                                            return write_text_of_task(file(task), work(task)) ? 0 : 1;
                                          } catch (const std::exception& error) {
                                            write_text_of_task(file(task), error.what());
                                            return 1;
                                          }
                                        },
                                    .on_end =
                                        [&](const ChildEnd& end) {
                                          if (end.exit_status == 0) return;
                                          const std::string reason =
                                              end.signal != 0 ? strsignal(end.signal) : sim::text_of_file(file(end.task));
                                          throw sim::CheckFailed(fmt::format("task {} failed: {}", end.task, reason));
                                        },
                                    .on_progress = [](int, const sim::ReplayProgress&) {}});
  if (!whole) throw Interrupted();
  std::vector<std::string> texts;
  for (int task = 0; task < tasks; ++task) texts.push_back(sim::text_of_file(file(task)));
  folder.drop_subfolder(kSubfolder);
  return texts;
}

}  // namespace rehearse::scenarios
