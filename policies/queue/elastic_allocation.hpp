// Devices for elastic jobs by marginal gains: every job begins with its smallest choice, then again and again the change that
// gains most for the devices it takes is made. Optimal where gains diminish and the pools are one (Fox, Operations Research
// 14(2), 1966).
#pragma once

#include <cstdint>
#include <vector>

namespace rehearse::policies {

/// What a change of choice is worth, r being predicted remaining seconds.
enum class ElasticGain : std::uint8_t {
  speedup,  ///< (r - r') / r_fair: what the mean of 1/speedup falls by. Pollux' fitness at p = -1 (Qiao et al., OSDI 2021,
            ///< section 4.2)
  seconds,  ///< r - r': Optimus (Peng et al., EuroSys 2018, section 4.1)
};

/// An entry of a job's menu.
struct ElasticChoice {
  int entry = 0;
  int pool = 0;
  int devices = 0;
  double remaining_s = 0;  ///< > 0
};

struct ElasticJob {
  std::vector<ElasticChoice> choices;  ///< none: it gets nothing
  int current = -1;                    ///< index of the choice that it runs; -1: it waits
};

/// Index of the choice of each job, -1: none. `capacity`: devices of each pool. Jobs come in order, those that
/// run before those that wait: one that nothing is left for keeps those behind it out of its pools. A job keeps its current
/// choice, if that fits in the end, unless another one saves more than `switch_s`.
std::vector<int> elastic_allocation(const std::vector<ElasticJob>& jobs, const std::vector<int>& capacity, ElasticGain gain,
                                    double switch_s);

}  // namespace rehearse::policies
