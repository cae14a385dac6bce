// The closed form of a data-parallel worker's step: operations one after the other, each rounded to the step grid, so that the
// sum equals a timer's makespan on one device. Cheap: operations with equal work are timed once.
#pragma once

#include <vector>

#include "workloads/steps/op_time.hpp"

namespace rehearse::workloads {

/// Of one worker, without synchronisation.
struct ComputeTime {
  double forward_s = 0, backward_s = 0, update_s = 0;
  double host_s = 0;            ///< what the host needs to issue the operations
  double dynamic_energy_j = 0;  ///< of the operations, above PowerLaw::running_w
  double total_s() const { return forward_s + backward_s + update_s; }
};

class StepModel {
 public:
  explicit StepModel(const sim::OpGraph& graph);

  ComputeTime compute_time(const sim::Device& device, const Conditions& conditions) const;
  /// Operations that the host issues in a step; each repeat of a recurrent one counts.
  int operations() const { return operations_; }
  double parameters() const { return parameters_; }
  /// Bytes of gradients that workers exchange a step.
  double gradient_bytes(sim::Precision precision) const;
  /// Of one worker's samples in storage.
  double input_bytes(double batch) const;
  /// Seconds to read one worker's samples at this rate; 0 when the rate is not positive (unknown).
  double input_s(double batch, double storage_bytes_per_s) const;

 private:
  struct Class {
    OpWork work;
    int forward = 0, backward = 0, update = 0;  // how many operations of this work
  };
  std::vector<Class> classes_;
  int operations_ = 0;
  double parameters_ = 0;
  sim::Affine input_bytes_;
};

}  // namespace rehearse::workloads
