// Staged strategies held against the static and the staged optimum, job by job: each job alone on the cluster.
#pragma once

#include "experiments/studies/study.hpp"

namespace rehearse::scenarios {

/// One job in one repetition under one policy.
struct StagedOutcome {
  double cost_usd = 0;
  bool keeps = false;  ///< every limit that the job has
};

/// sum(static - policy) / sum(static - staged) over the jobs whose limits all three keep and whose staged optimum saves more than
/// 2 % of the static one. Outcomes by job, in the same order. NaN without any such job.
struct GainRatio {
  double ratio = 0, ci95_low = 0, ci95_high = 0;  ///< percentile bootstrap over jobs
  int jobs = 0;
};
GainRatio gain_ratio(const std::vector<StagedOutcome>& policy, const std::vector<StagedOutcome>& static_optimum,
                     const std::vector<StagedOutcome>& staged_optimum, std::uint64_t seed);

std::unique_ptr<StudyParameters> read_staged(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                             sim::Mistakes& mistakes);

}  // namespace rehearse::scenarios
