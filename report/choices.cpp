// What policies chose for their jobs: pool, workers and batch, by how often.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "report/comparison.hpp"
#include "report/table.hpp"
#include "sim/base/text.hpp"

namespace rehearse::report {

namespace {

constexpr std::size_t kMostShown = 3;
constexpr std::size_t kLongestName = 24;

std::string choice_words(const ChosenCount& c, double jobs, const std::vector<PoolFacts>& pools) {
  const std::string pool = sim::printable(pools.at(static_cast<std::size_t>(c.pool)).name, kLongestName);
  return fmt::format("{} x {}{}: {}", c.workers, pool,
                     c.batch_size > 0 ? fmt::format(", batch {}", sim::figure(c.batch_size, 6)) : "",
                     sim::percent_words(static_cast<double>(c.jobs) / jobs));
}

/// As many of the most frequent as fit.
std::string choices_line(const std::string& policy, std::size_t width, const std::vector<ChosenCount>& chosen,
                         const std::vector<PoolFacts>& pools) {
  double jobs = 0;
  for (const ChosenCount& c : chosen) jobs += static_cast<double>(c.jobs);
  std::string line = fmt::format("{:<{}}", policy, width);
  for (std::size_t i = 0; i < std::min(kMostShown, chosen.size()); ++i) {
    const std::string words = (i == 0 ? "  " : ";  ") + choice_words(chosen[i], jobs, pools);
    if (i > 0 && line.size() + words.size() > kTerminalWidth) break;
    line += words;
  }
  return line + "\n";
}

}  // namespace

std::vector<ChosenCount> chosen_in(const std::vector<RunOutcome>& repetitions) {
  std::map<std::tuple<int, int, double>, std::size_t> counts;
  for (const RunOutcome& run : repetitions)
    for (const JobOutcome& job : run.jobs)
      if (job.pool >= 0) ++counts[{job.pool, job.workers, job.batch_size > 0 ? job.batch_size : 0}];
  std::vector<ChosenCount> chosen;
  for (const auto& [choice, jobs] : counts)
    chosen.push_back(
        {.pool = std::get<0>(choice), .workers = std::get<1>(choice), .batch_size = std::get<2>(choice), .jobs = jobs});
  std::stable_sort(chosen.begin(), chosen.end(), [](const ChosenCount& a, const ChosenCount& b) { return a.jobs > b.jobs; });
  return chosen;
}

std::string choices_text(const Summary& summary) {
  std::vector<const SummaryRow*> rows;
  for (const SummaryRow& row : summary.rows)
    if (row.ok && !row.chosen.empty()) rows.push_back(&row);
  if (rows.empty()) return {};
  const bool alike = std::all_of(rows.begin(), rows.end(), [&](const SummaryRow* row) { return row->chosen == rows[0]->chosen; });
  if (alike && rows.size() > 1)
    return "What the jobs ran on, under every policy\n" + choices_line({}, 0, rows[0]->chosen, summary.pools);
  std::size_t width = 0;
  std::vector<std::string> names;
  for (const SummaryRow* row : rows) {
    names.push_back(sim::printable(row->policy, kLongestName));
    width = std::max(width, names.back().size());
  }
  std::string text = "What each policy chose: workers, pool and batch, of how many of the jobs that ran\n";
  for (std::size_t r = 0; r < rows.size(); ++r) text += choices_line(names[r], width, rows[r]->chosen, summary.pools);
  return text;
}

}  // namespace rehearse::report
