#include "experiments/sweep/task_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "sim/base/errors.hpp"
#include "sim/io/disk.hpp"
#include "sim/io/file.hpp"

namespace rehearse::scenarios {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& expected) {
  throw sim::InputError({.file = path, .expected = expected, .found = std::strerror(errno)});
}

/// A file that text is appended to. What was written survives the process; close() makes it survive the machine.
class AppendedFile {
 public:
  explicit AppendedFile(std::string path)
      : path_(std::move(path)), fd_(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail(path_, "a file that can be written");
  }
  ~AppendedFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;
  void write(std::string_view text) const {
    if (!sim::write_whole(fd_, text)) fail(path_, "a file that can be written");
  }
  void close() {
    if (!sim::sync_file(fd_) || ::close(std::exchange(fd_, -1)) != 0) fail(path_, "a file that can be written");
  }

 private:
  std::string path_;
  int fd_;
};

/// The whole rows of a file; an attempt that was killed may have left half of one at its end.
std::vector<SweepRow> rows_in(const std::string& path) {
  std::vector<SweepRow> rows;
  std::istringstream lines(sim::text_of_file(path));
  for (std::string line; std::getline(lines, line);)
    if (auto row = row_of(line + (lines.eof() ? "" : "\n"))) rows.push_back(std::move(*row));
  return rows;
}

/// Names of the folder's files with this ending, in order.
std::vector<std::string> names_in(const std::string& folder, std::string_view ending) {
  std::vector<std::string> names;
  std::error_code error;  // of a folder that is not there: no names
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (std::string name = it->path().filename(); name.ends_with(ending)) names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

std::string task_of(const std::string& name) { return name.substr(0, name.find('.')); }

/// The runs that a task's file names, as the plan has them.
std::vector<PlannedRun> read_runs(const SweepPlan& plan, const std::string& path) {
  std::ifstream in(path);
  if (!in) fail(path, "the runs of a task");
  std::vector<PlannedRun> runs, of_point;
  std::size_t point = 0;
  int policy = 0, repetition = 0;
  for (std::string key; in >> point >> policy >> repetition >> key;) {
    if (of_point.empty() || of_point.front().point != point)
      of_point = point < plan.points() ? plan.runs_at(point) : std::vector<PlannedRun>();
    const auto run = std::find_if(of_point.begin(), of_point.end(), [&](const PlannedRun& r) { return r.key == key; });
    if (run == of_point.end())
      throw sim::InputError({.file = plan.path(),
                             .expected = "scenario and program as they were when " + path + " was written",
                             .found = "changed ones"});
    runs.push_back(*run);
  }
  return runs;
}

}  // namespace

bool TaskFolder::exists() const { return fs::exists(path_); }

int TaskFolder::write(const std::vector<PlannedRun>& runs, int tasks) const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw sim::InputError({.file = path_, .expected = "a folder that can be made", .found = error.message()});
  const std::size_t size = (runs.size() + static_cast<std::size_t>(tasks) - 1) / static_cast<std::size_t>(tasks);
  int task = 0;
  for (std::size_t begin = 0; begin < runs.size(); begin += size, ++task) {
    std::string text;
    for (std::size_t r = begin; r < std::min(begin + size, runs.size()); ++r)
      text += fmt::format("{} {} {} {}\n", runs[r].point, runs[r].policy, runs[r].repetition, runs[r].key);
    AppendedFile file(fmt::format("{}/{}.runs", path_, task));
    file.write(text);
    file.close();
  }
  return task;
}

std::vector<SweepRow> TaskFolder::collect(bool parts) {
  std::vector<SweepRow> rows;
  const auto add = [&](const std::string& name) {
    for (SweepRow& row : rows_in(path_ + "/" + name)) rows.push_back(std::move(row));
  };
  std::vector<std::string> whole;
  for (const std::string& name : names_in(path_, ".rows")) {
    whole.push_back(task_of(name));
    if (std::find(collected_.begin(), collected_.end(), name) != collected_.end()) continue;
    add(name);
    collected_.push_back(name);
  }
  if (!parts) return rows;
  for (const std::string& name : names_in(path_, ".part"))
    if (std::find(whole.begin(), whole.end(), task_of(name)) == whole.end()) add(name);
  return rows;
}

bool TaskFolder::is_whole() const { return names_in(path_, ".rows").size() == names_in(path_, ".runs").size(); }

void TaskFolder::remove() const {
  std::error_code ignored;  // a task of an earlier start may still write
  fs::remove_all(path_, ignored);
}

bool run_task(const SweepPlan& plan, const std::string& folder, int task, int processes) {
  const std::string whole = fmt::format("{}/{}.rows", folder, task);
  if (fs::exists(whole)) return true;
  const std::vector<PlannedRun> runs = read_runs(plan, fmt::format("{}/{}.runs", folder, task));
  std::map<std::string, SweepRow> rows;
  const std::string mine = fmt::format("{}.", task);
  for (const std::string& name : names_in(folder, ".part"))
    if (name.starts_with(mine))
      for (SweepRow& row : rows_in(folder + "/" + name)) rows.insert_or_assign(row.key, std::move(row));
  std::vector<PlannedRun> missing;
  for (const PlannedRun& run : runs)
    if (!rows.contains(run.key)) missing.push_back(run);

  char host[256] = "host";
  gethostname(host, sizeof host - 1);
  const char* node = std::getenv("SLURMD_NODENAME");  // nodes of one machine have the same host name
  const std::string attempt = fmt::format("{}/{}.{}-{}", folder, task, node != nullptr ? node : host, getpid());
  {
    const AppendedFile part(attempt + ".part");
    const bool all = run_here(plan, missing, processes, [&](std::span<const SweepRow> some) {
      std::string text;
      for (const SweepRow& row : some) {
        text += to_line(row);
        rows.insert_or_assign(row.key, row);
      }
      part.write(text);
    });
    if (!all) return false;
  }
  AppendedFile out(attempt + ".whole");
  for (const PlannedRun& run : runs) out.write(to_line(rows.at(run.key)));
  out.close();
  if (!sim::rename_path(attempt + ".whole", whole)) fail(whole, "a file that can be written");
  return true;
}

}  // namespace rehearse::scenarios
