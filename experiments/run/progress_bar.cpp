#include "experiments/run/progress_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

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

}  // namespace rehearse::scenarios
