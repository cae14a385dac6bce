// The least that a replay of rigid jobs can be: a full cluster's completions in a std::priority_queue; the next one is popped,
// the job behind it pushed. Prints microseconds of CPU time a job.
//   heap_loop JOBS RUNNING
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"

namespace {

using rehearse::sim::Random;
using Completion = std::pair<double, std::size_t>;  // date in seconds, job

double seconds_of_loop(std::size_t jobs, std::size_t running) {
  Random random(rehearse::sim::stream_key(1, 0, "bench", "heap loop"));
  std::vector<double> durations_s(jobs);
  for (double& duration_s : durations_s) duration_s = random.exponential(3600);

  const std::clock_t begun = std::clock();
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> completions;
  double now_s = 0, last_s = 0;
  for (std::size_t job = 0; job < jobs; ++job) {
    if (completions.size() == running) {
      now_s = completions.top().first;
      completions.pop();
    }
    completions.push({now_s + durations_s[job], job});
  }
  for (; !completions.empty(); completions.pop()) last_s = completions.top().first;
  const std::clock_t ended = std::clock();

  if (!(last_s > 0)) std::abort();  // the loop's result is used, so that no compiler leaves the loop out
  return static_cast<double>(ended - begun) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
  const long jobs = argc == 3 ? std::atol(argv[1]) : 0, running = argc == 3 ? std::atol(argv[2]) : 0;
  if (jobs < 1 || running < 1) {
    std::fprintf(stderr, "usage: heap_loop JOBS RUNNING\n");
    return 2;
  }
  std::printf("%.6f\n", 1e6 * seconds_of_loop(static_cast<std::size_t>(jobs), static_cast<std::size_t>(running)) /
                            static_cast<double>(jobs));
}
