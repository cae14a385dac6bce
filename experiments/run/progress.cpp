#include "experiments/run/progress.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/base/units.hpp"
#include "sim/io/terminal.hpp"

namespace rehearse::scenarios {

namespace {

constexpr double kQuiet_s = 1, kRedraw_s = 0.1;  // on a terminal
constexpr double kPlainLine_s = 30;              // elsewhere
constexpr double kLeastPart = 0.005;             // of the work, from which the rest is reckoned
constexpr double kDay_s = 24 * sim::kSecondsPerHour;

std::string bar(double part, std::size_t width) {
  const auto filled = static_cast<std::size_t>(std::clamp(part, 0.0, 1.0) * static_cast<double>(width));
  return fmt::format("[{:<{}}]", std::string(filled, '#'), width);
}

double steady_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr std::size_t kLineWidth = 80;  // of a terminal that does not say how wide it is

}  // namespace

bool redraws() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string progress_text(const ProgressState& s, double elapsed_s, const TimeLeft& left, bool terminal) {
  const auto whole = [](double number) { return sim::grouped(static_cast<std::int64_t>(number)); };
  const std::string counted = fmt::format("{} of {}", whole(s.done), sim::counted(s.total, s.one_done));
  const double part = std::clamp(s.part, 0.0, 1.0);
  std::string text = terminal ? fmt::format("{} {:3.0f} %  {}", bar(part, 20), std::floor(100 * part), counted)
                              : fmt::format("{} ({:.0f} %)", counted, std::floor(100 * part));
  text += fmt::format(", {}", sim::time_words(std::floor(elapsed_s)));
  if (std::isfinite(left.seconds))
    text += fmt::format(", {} {} left", left.is_least ? "at least" : "about",
                        sim::time_words(std::max(1.0, std::round(left.seconds))));
  return s.what.empty() ? text : fmt::format("{}: {}", text, s.what);
}

TimeEstimate::TimeEstimate(Setup setup)
    : setup_(std::move(setup)), done_(setup_.kinds.size(), 0), over_(setup_.kinds.size(), 0), now_s_(setup_.begun_s) {
  for (const std::size_t kind : setup_.kinds) {
    kinds_.resize(std::max(kinds_.size(), kind + 1));
    kinds_[kind].left += static_cast<double>(setup_.parts_a_task);
  }
}

void TimeEstimate::kept(std::size_t task) {
  over_[task] = 1;
  done_[task] = static_cast<double>(setup_.parts_a_task);
  kinds_[setup_.kinds[task]].left -= done_[task];
}

void TimeEstimate::update(std::size_t task, std::uint64_t parts_done, double now_s) {
  pass(now_s);
  set_done(task, static_cast<double>(std::min<std::uint64_t>(parts_done, setup_.parts_a_task)));
}

void TimeEstimate::ended(std::size_t task, double now_s) {
  pass(now_s);
  set_done(task, static_cast<double>(setup_.parts_a_task));
  over_[task] = 1;
  std::erase(running_, task);
}

/// The time since the last call is that of the tasks which ran then.
void TimeEstimate::pass(double now_s) {
  for (; running_.size() < setup_.at_once && next_ < over_.size(); ++next_)
    if (over_[next_] == 0) running_.push_back(next_);
  for (const std::size_t task : running_) kinds_[setup_.kinds[task]].busy_s += now_s - now_s_;
  now_s_ = now_s;
}

void TimeEstimate::set_done(std::size_t task, double parts) {
  const double more = parts - done_[task];
  if (!(more > 0)) return;
  Kind& kind = kinds_[setup_.kinds[task]];
  done_[task] = parts;
  kind.done += more;
  kind.left -= more;
}

TimeLeft TimeEstimate::left() const {
  double busy_s = 0, tasks_left = 0;
  bool is_known = false;
  TimeLeft left;
  for (const Kind& kind : kinds_) {
    is_known = is_known || kind.done > 0;
    if (kind.done > 0)
      busy_s += kind.busy_s / kind.done * kind.left;
    else if (kind.left > 0)
      left.is_least = true;
    tasks_left += kind.left / static_cast<double>(setup_.parts_a_task);
  }
  if (is_known) left.seconds = busy_s / std::clamp(std::ceil(tasks_left), 1.0, static_cast<double>(setup_.at_once));
  return left;
}

std::string under_way_text(const std::string& name, double time_s, std::size_t others) {
  std::string text = name;
  if (std::isfinite(time_s)) text += fmt::format(" at day {:.6g}", time_s / kDay_s);
  if (others > 0) text += fmt::format(" and {} more", others);
  return text;
}

ProgressLine::ProgressLine(bool wanted) : ProgressLine(wanted ? stderr : nullptr, redraws(), steady_seconds) {}

ProgressLine::ProgressLine(std::FILE* to, bool terminal, Clock clock)
    : to_(to),
      terminal_(terminal),
      clock_(std::move(clock)),
      begun_s_(clock_()),
      next_s_(begun_s_ + (terminal ? kQuiet_s : kPlainLine_s)) {}

ProgressLine::~ProgressLine() {
  if (drawn_) fmt::print(to_, "\r\x1b[K");
}

void ProgressLine::show(const ProgressState& state, const std::optional<TimeLeft>& left) {
  if (to_ == nullptr) return;
  if (first_part_ < 0) first_part_ = state.part;
  const double now_s = clock_();
  if (now_s < next_s_) return;
  next_s_ = now_s + (terminal_ ? kRedraw_s : kPlainLine_s);
  const double elapsed_s = now_s - begun_s_, done = state.part - first_part_;
  TimeLeft reckoned;
  if (done >= kLeastPart) reckoned = left.value_or(TimeLeft{.seconds = elapsed_s * (1 - state.part) / done});
  const std::string text = sim::printable(progress_text(state, elapsed_s, reckoned, terminal_), sim::kWholeText);
  if (terminal_)
    fmt::print(to_, "\r{}\x1b[K", text.substr(0, sim::terminal_columns(to_).value_or(kLineWidth) - 1));
  else
    fmt::print(to_, "{}\n", text);
  std::fflush(to_);
  drawn_ = terminal_;
}

namespace {

TimeEstimate::Setup estimate_setup(const ProgressSetup& setup, double begun_s) {
  TimeEstimate::Setup of{.kinds = std::vector<std::size_t>(setup.tasks, 0),
                         .parts_a_task = std::max<std::size_t>(1, setup.parts_a_task),
                         .at_once = std::max<std::size_t>(1, setup.at_once),
                         .begun_s = begun_s};
  for (std::size_t task = 0; setup.kind && task < setup.tasks; ++task) of.kinds[task] = setup.kind(task);
  return of;
}

}  // namespace

ProgressBar::ProgressBar(ProgressSetup setup)
    : setup_(std::move(setup)), line_(setup_.wanted), estimate_(estimate_setup(setup_, line_.now_s())), done_(setup_.tasks, 0) {
  setup_.parts_a_task = std::max<std::size_t>(1, setup_.parts_a_task);
}

void ProgressBar::kept(std::size_t task) {
  estimate_.kept(task);
  done_[task] = setup_.parts_a_task;
  ++ended_;
}

void ProgressBar::update(std::size_t task, std::uint64_t parts_done, double time_s) {
  if (std::find(under_way_.begin(), under_way_.end(), task) == under_way_.end()) under_way_.push_back(task);
  if (under_way_.front() == task) time_s_ = time_s;
  done_[task] = std::max(done_[task], parts_done);
  estimate_.update(task, parts_done, line_.now_s());
  draw();
}

void ProgressBar::ended(std::size_t task) {
  if (!under_way_.empty() && under_way_.front() == task) time_s_ = std::nan("");
  std::erase(under_way_, task);
  done_[task] = setup_.parts_a_task;
  ++ended_;
  estimate_.ended(task, line_.now_s());
  draw();
}

void ProgressBar::draw() {
  if (!setup_.wanted) return;
  double parts = 0;
  for (const std::uint64_t done : done_) parts += static_cast<double>(std::min<std::uint64_t>(done, setup_.parts_a_task));
  const double all = static_cast<double>(setup_.parts_a_task) * static_cast<double>(done_.size());
  ProgressState state{.what = {}, .one_done = setup_.one_part, .done = parts, .total = all, .part = parts / all};
  if (setup_.tasks > 1) {
    state.one_done = setup_.one_task;
    state.done = static_cast<double>(ended_);
    state.total = static_cast<double>(setup_.tasks);
  }
  if (setup_.name && !under_way_.empty())
    state.what = under_way_text(setup_.name(under_way_.front()), time_s_, under_way_.size() - 1);
  line_.show(state, estimate_.left());
}

namespace {

constexpr std::size_t kMostLines = 20;

std::string line_of(const WatchedRun& run, std::size_t jobs, std::size_t name_width) {
  if (!run.told) return fmt::format("{:<{}}  {}\n", run.name, name_width, run.ended ? "ended" : "waits");
  const sim::ReplayProgress& p = run.progress;
  const double done = jobs > 0 ? static_cast<double>(p.jobs_ended) / static_cast<double>(jobs) : 0;
  const double used = p.devices > 0 ? p.allocated_devices / p.devices : 0;
  return fmt::format("{:<{}}  {:>8.2f} d  {} {:>7}/{:<7} {:>7}  {:>7}  {} {:>6.0f}/{:<6.0f} {:>14.2f}{}\n", run.name, name_width,
                     p.time_s / kDay_s, bar(done, 16), p.jobs_ended, jobs, p.jobs_waiting, p.jobs_running, bar(used, 10),
                     p.allocated_devices, p.devices, p.jobs_usd, run.ended ? "  ended" : "");
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
    : wanted_(wanted), terminal_(redraws()), jobs_(jobs_a_task) {
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

SlowAnswers::SlowAnswers(Setup setup) : setup_(std::move(setup)), seen_(setup_.tasks) {
  static_assert(std::atomic<double>::is_always_lock_free && std::atomic<const char*>::is_always_lock_free);
  if (setup_.tasks == 0) return;
  void* const shared =
      mmap(nullptr, setup_.tasks * sizeof(sim::AtWork), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  sim::check(shared != MAP_FAILED, "no memory that processes share could be had");
  at_work_ = static_cast<sim::AtWork*>(shared);
  std::uninitialized_default_construct_n(at_work_, setup_.tasks);
}

SlowAnswers::~SlowAnswers() {
  if (at_work_ != nullptr) munmap(at_work_, setup_.tasks * sizeof(sim::AtWork));
}

void SlowAnswers::look() {
  const double now_s = setup_.clock ? setup_.clock() : steady_seconds();
  for (std::size_t task = 0; task < seen_.size(); ++task) {
    const sim::AtWork& work = at_work_[task];
    Seen& seen = seen_[task];
    const std::uint64_t asked = work.asked.load(std::memory_order_acquire);
    const char* const decision = work.decision.load(std::memory_order_relaxed);
    if (decision == nullptr || asked != seen.asked) {
      seen = {.asked = asked, .since_s = now_s, .due_s = setup_.after_s};
      continue;
    }
    if (now_s - seen.since_s < seen.due_s) continue;
    seen.due_s *= 2;
    const double predicted = static_cast<double>(work.predicted.load(std::memory_order_relaxed));
    const std::string so_far =
        predicted > 0 ? fmt::format(" ({} predicted so far)", sim::counted(predicted, "configuration")) : "";
    setup_.tell(fmt::format("{} has been at one answer for {}: {}{}, at {:.6f} s of simulated time", setup_.name(task),
                            sim::time_words(std::floor(now_s - seen.since_s)), decision, so_far,
                            work.date_s.load(std::memory_order_relaxed)));
  }
}

}  // namespace rehearse::scenarios
