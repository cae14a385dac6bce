#include "experiments/run/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "sim/base/text.hpp"
#include "sim/base/units.hpp"

namespace rehearse::scenarios {

ProgressBar::ProgressBar(bool wanted, std::size_t tasks, std::size_t jobs_a_task)
    : wanted_(wanted), done_(tasks, 0), jobs_a_task_(std::max<std::size_t>(1, jobs_a_task)) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r{:60}\r", "");
}

void ProgressBar::update(std::size_t task, std::uint64_t jobs_done) {
  done_[task] = std::max(done_[task], jobs_done);
  draw();
}

void ProgressBar::ended(std::size_t task) {
  done_[task] = jobs_a_task_;
  ++ended_;
  draw();
}

void ProgressBar::draw() {
  constexpr int kWidth = 30;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  if (!wanted_ || seconds < 1) return;
  double done = 0;
  for (const std::uint64_t jobs : done_) done += static_cast<double>(std::min<std::uint64_t>(jobs, jobs_a_task_));
  const double part = done / static_cast<double>(jobs_a_task_ * done_.size());
  const auto filled = static_cast<std::size_t>(part * kWidth);
  fmt::print(stderr, "\r[{:<{}}] {:3.0f} %  {}/{} runs  {:.0f} s ", std::string(filled, '#'), kWidth, 100 * part, ended_,
             done_.size(), seconds);
  std::fflush(stderr);
  drawn_ = true;
}

namespace {

constexpr std::size_t kMostLines = 20;

std::string bar(double part, std::size_t width) {
  const auto filled = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(width));
  return fmt::format("[{:<{}}]", std::string(filled, '#'), width);
}

std::string line_of(const WatchedRun& run, std::size_t jobs, std::size_t name_width) {
  if (!run.told) return fmt::format("{:<{}}  {}\n", run.name, name_width, run.ended ? "ended" : "waits");
  const sim::ReplayProgress& p = run.progress;
  const double done = jobs > 0 ? static_cast<double>(p.jobs_ended) / static_cast<double>(jobs) : 0;
  const double used = p.devices > 0 ? p.allocated_devices / p.devices : 0;
  return fmt::format("{:<{}}  {:>8.2f} d  {} {:>7}/{:<7} {:>7}  {:>7}  {} {:>6.0f}/{:<6.0f} {:>14.2f}{}\n", run.name, name_width,
                     p.time_s / (24 * sim::kSecondsPerHour), bar(done, 16), p.jobs_ended, jobs, p.jobs_waiting, p.jobs_running,
                     bar(used, 10), p.allocated_devices, p.devices, p.jobs_usd, run.ended ? "  ended" : "");
}

}  // namespace

std::string board_text(const std::vector<WatchedRun>& runs, std::size_t jobs, std::size_t most_lines) {
  std::vector<const WatchedRun*> shown;
  const auto add = [&](auto&& is_wanted) {
    for (const WatchedRun& run : runs)
      if (is_wanted(run)) shown.push_back(&run);
  };
  add([](const WatchedRun& run) { return run.told && !run.ended; });
  add([](const WatchedRun& run) { return run.ended; });
  add([](const WatchedRun& run) { return !run.told && !run.ended; });
  const std::size_t hidden = shown.size() - std::min(shown.size(), most_lines);
  shown.resize(shown.size() - hidden);
  std::size_t width = 3;
  for (const WatchedRun* run : shown) width = std::max(width, run->name.size());
  std::string text = fmt::format("{:<{}}  {:>10}  {:<34} {:>7}  {:>7}  {:<26} {:>14}\n", "run", width, "simulated", "jobs ended",
                                 "waiting", "running", "devices held", "cost so far, $");
  for (const WatchedRun* run : shown) text += line_of(*run, jobs, width);
  if (hidden > 0) text += fmt::format("and {} more\n", hidden);
  return text;
}

WatchBoard::WatchBoard(bool wanted, std::size_t tasks, std::size_t jobs_a_task,
                       const std::function<std::string(std::size_t task)>& name)
    : wanted_(wanted), terminal_(isatty(STDERR_FILENO) != 0), jobs_(jobs_a_task) {
  for (std::size_t task = 0; task < tasks; ++task)
    runs_.push_back({.name = sim::printable(name(task), sim::kWholeText), .progress = {}});
}

void WatchBoard::update(std::size_t task, const sim::ReplayProgress& progress) {
  runs_[task].progress = progress;
  runs_[task].told = true;
  draw(false);
}

void WatchBoard::ended(std::size_t task) {
  runs_[task].ended = true;
  ++ended_;
  draw(ended_ == runs_.size());
}

/// On a terminal over what was drawn before, four times a second; into a file every two seconds, one board after the other.
void WatchBoard::draw(bool at_once) {
  const auto now = std::chrono::steady_clock::now();
  if (!wanted_ || (!at_once && now < next_)) return;
  next_ = now + std::chrono::milliseconds(terminal_ ? 250 : 2000);
  const std::string text = board_text(runs_, jobs_, kMostLines);
  if (terminal_ && drawn_lines_ > 0) fmt::print(stderr, "\x1b[{}A\x1b[J", drawn_lines_);
  fmt::print(stderr, "{}", text);
  std::fflush(stderr);
  drawn_lines_ = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace rehearse::scenarios
