#include "cli/run_gnuplot.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "cli/commands.hpp"
#include "sim/base/errors.hpp"
#include "sim/read/file.hpp"
#include "sim/read/shown.hpp"

namespace rehearse::cli {

namespace fs = std::filesystem;

namespace {

constexpr int kNotThere = 127;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "rehearse_plot_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw sim::InputError({.file = name, .expected = "a temporary folder that can be made", .found = "an error"});
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// In the child; what gnuplot says goes to a file, its own start-up files are not read.
[[noreturn]] void become_gnuplot(const std::string& folder, const std::string& script) {
  const int said = ::open((folder + "/said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (said >= 0 && nothing >= 0 && ::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(said, STDOUT_FILENO) >= 0 &&
      ::dup2(said, STDERR_FILENO) >= 0 && ::chdir(folder.c_str()) == 0)
    ::execlp("gnuplot", "gnuplot", "-d", script.c_str(), static_cast<char*>(nullptr));
  ::_exit(kNotThere);
}

int run_in(const std::string& folder, const std::string& script) {
  const pid_t child = ::fork();
  if (child == 0) become_gnuplot(folder, script);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Cairo 1.16 puts the date into a PDF, as plain text; another of the same length changes nothing else.
std::string undated(std::string figure) {
  constexpr std::string_view kKey = "/CreationDate (D:", kDate = "20000101000000";
  const std::size_t at = figure.find(kKey);
  if (at != std::string::npos && at + kKey.size() + kDate.size() < figure.size())
    figure.replace(at + kKey.size(), kDate.size(), kDate);
  return figure;
}

}  // namespace

void run_gnuplot(const GnuplotRun& run) {
  const TemporaryFolder folder;
  const std::string figure = folder / (run.setting.name + "." + std::string(ending_of(run.setting.format)));
  write_text(folder / "script", run.script);
  write_text(folder / (run.setting.name + ".dat"), run.data);
  const int status = run_in(folder.path(), "script");
  if (status == kNotThere)
    throw sim::InputError({.file = run.out,
                           .expected = "the program gnuplot, which draws it (Debian and Ubuntu: apt-get install gnuplot-nox)",
                           .found = "none in the path"});
  if (status != 0 || !fs::exists(figure) || fs::file_size(figure) == 0)
    throw sim::InputError(
        {.file = run.out, .expected = "a figure from gnuplot", .found = sim::printable(sim::text_of_file(folder / "said"), 400)});
  write_text(run.out, undated(sim::text_of_file(figure)));
}

}  // namespace rehearse::cli
