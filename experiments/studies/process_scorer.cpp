#include "experiments/studies/process_scorer.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "sim/base/child_process.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::scenarios {

void ProcessScorer::score(std::span<const policies::DeviceOfGroup> placements, std::span<policies::StepScore> scores) {
  const std::size_t parts = std::min(placements.size(), static_cast<std::size_t>(processes_));
  if (parts <= 1) return scorer_.score(placements, scores);
  const auto begin = [&](std::size_t part) { return part * placements.size() / parts; };
  const auto scored = [&](int task) {
    const auto part = static_cast<std::size_t>(task);
    std::vector<policies::StepScore> mine(begin(part + 1) - begin(part));
    scorer_.score(placements.subspan(begin(part), mine.size()), mine);
    std::string bytes(mine.size() * sizeof mine[0], '\0');
    std::memcpy(bytes.data(), mine.data(), bytes.size());
    return bytes;
  };
  const std::vector<std::string> answers = sim::in_children(static_cast<int>(parts), scored);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t bytes = (begin(part + 1) - begin(part)) * sizeof scores[0];
    sim::check(answers[part].size() == bytes, "a score for each placement");
    std::memcpy(&scores[begin(part)], answers[part].data(), bytes);
  }
}

}  // namespace rehearse::scenarios
