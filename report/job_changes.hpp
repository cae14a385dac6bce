// Which jobs and which decisions of a policy are others than they were: two results of one world, job by job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse::report {

/// One decision as a line of text; empty: there is none any more, or there was none.
struct DecisionChange {
  int repetition = 0;
  std::string job;
  std::string recorded, now;
};

struct JobChange {
  int repetition = 0;
  std::string job;
  double recorded = 0, now = 0;            ///< its part in the metric, in `unit` of JobChanges
  std::string recorded_run, now_run;       ///< what it ran on, and how it ended
  std::optional<DecisionChange> decision;  ///< the first about it that is another
};

struct JobChanges {
  std::string_view unit;  ///< of a job's part: "$", "s", "J", "broken limits"
  std::size_t jobs = 0;
  std::size_t changed = 0;              ///< ran on other resources, at another cost or time, or ended otherwise
  std::vector<JobChange> worst;         ///< those with the largest part in what got worse, largest first
  std::optional<DecisionChange> first;  ///< of all decisions of the repetition of the worst job
  /// Why jobs or decisions are not looked at: a run need not have written them.
  std::vector<std::string> notes;
};

/// Of jobs.csv and decisions.csv in the two folders, whose numbers are the same within 1e-6; of the repetitions that both have.
/// `metric` says what makes a job worse; one that jobs have no part in counts as effective cost. At most `count` jobs. Throws
/// sim::InputError when a file cannot be read.
JobChanges changes_of(const std::string& recorded_folder, const std::string& now_folder, std::string_view policy,
                      std::string_view metric, std::size_t count);

}  // namespace rehearse::report
