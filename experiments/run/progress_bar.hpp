// A progress bar on stderr for long runs: silent in the first second, and where it is not wanted.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace rehearse::scenarios {

class ProgressBar {
 public:
  ProgressBar(bool wanted, std::size_t tasks, std::size_t jobs_a_task);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void update(std::size_t task, std::uint64_t jobs_done);
  void ended(std::size_t task);

 private:
  void draw();
  bool wanted_;
  bool drawn_ = false;
  std::vector<std::uint64_t> done_;
  std::size_t jobs_a_task_;
  std::size_t ended_ = 0;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace rehearse::scenarios
