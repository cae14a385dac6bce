// Trains the weights of the graph network on several graphs and machines in turn, so that they place others (Placeto: Addanki et
// al., NeurIPS 2019, section 3.3; GDP: Zhou et al., arXiv:1910.01578, section 3.4).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policies/place/rl/placers.hpp"
#include "policies/place/rl/reinforce.hpp"

namespace rehearse::policies {

/// Points at things that live as long as the training.
struct TransferCase {
  std::string name;  ///< of its random numbers
  const sim::StepGraph* graph = nullptr;
  const sim::Machine* machine = nullptr;
  const Groups* groups = nullptr;
};

struct TransferSetup {
  std::vector<TransferCase> cases;  ///< at least one
  std::uint64_t seed = 0;
  int iterations = 1;  ///< over which the reward for staying undecided falls to 0
};

class TransferTraining {
 public:
  explicit TransferTraining(TransferSetup setup);
  ~TransferTraining();
  TransferTraining(const TransferTraining&) = delete;
  TransferTraining& operator=(const TransferTraining&) = delete;

  /// One step of the optimiser on the next case.
  void iterate();
  int iteration() const { return iteration_; }
  /// Geometric mean over the cases of the likeliest placement's time over HEFT's; twice that where it does not fit.
  double time_ratio();
  ParameterSet& parameters() { return parameters_; }

 private:
  struct Lesson;

  TransferSetup setup_;
  sim::Random random_;
  ParameterSet parameters_;
  GraphLayers layers_;
  Adam adam_;
  std::vector<std::unique_ptr<Lesson>> lessons_;
  int iteration_ = 0;
};

}  // namespace rehearse::policies
