// The closed form of a data-parallel worker's step: operations one after the other, each rounded to the step grid, so that the
// sum equals a timer's makespan on one device. Cheap: operations with equal work are timed once.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/cluster/cluster.hpp"
#include "workloads/steps/op_time.hpp"

namespace rehearse::workloads {

/// Of one worker, without synchronisation.
struct ComputeTime {
  double forward_s = 0, backward_s = 0, update_s = 0;
  double host_s = 0;            ///< what the host needs to issue the operations
  double overhead_s = 0;        ///< sim::Efficiency::step_overhead_s
  double loading_s = 0;         ///< of the samples, by all CPUs of a node that no other worker shares
  double dynamic_energy_j = 0;  ///< of the operations, above PowerLaw::running_w
  double total_s() const { return forward_s + backward_s + update_s; }
  /// Of its step: the slowest of device, host, reading and loading samples, and the overhead, in which none of them works.
  double worker_s(double input_s, int workers_of_node = 1) const {
    return std::max({total_s(), host_s, input_s, workers_of_node * loading_s}) + overhead_s;
  }
  /// Of a step of so many passes, of one of which this is: gradients are summed, and applied once. The energy counts the update
  /// each time.
  ComputeTime of_passes(int passes) const {
    return {passes * forward_s, passes * backward_s,      update_s, passes * host_s, passes * overhead_s,
            passes * loading_s, passes * dynamic_energy_j};
  }
};

class StepModel {
 public:
  explicit StepModel(const sim::OpGraph& graph);

  /// `tilings` remembers those of products; none: each is found anew.
  ComputeTime compute_time(const sim::Device& device, const Conditions& conditions, Tilings* tilings = nullptr) const;
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

// What data-parallel workers spend on exchanging gradients, and how it combines with their computation
// (docs/explain/step.md, "Synchronisation"). Pure functions of seconds, bytes and counts.

/// Spread of the step times of equal workers, of which a synchronous step waits for the slowest (coefficient of variation).
inline constexpr double kWorkerSpread = 0.01;

/// Seconds for `ranks` ends to sum `bytes` in a ring: (2 (n-1)/n S/B + 2 (n-1) a) (n/2)^q. 0 for one rank.
double ring_all_reduce_s(double bytes, int ranks, const sim::Link& link);

/// Bytes that each rank sends, and receives, in that ring: 2 (n-1)/n S.
inline double ring_bytes(double bytes, int ranks) { return 2.0 * (ranks - 1) / ranks * bytes; }

/// Workers in equal numbers on each node.
struct RingPlan {
  int nodes = 1, workers_per_node = 1;
  sim::Link inside;   ///< between two workers of a node
  sim::Link network;  ///< the node's NIC
  int workers() const { return nodes * workers_per_node; }
};

/// Scatter and gather inside each node, and between them one ring over the nodes for each worker's share, all sharing the NIC.
double hierarchical_all_reduce_s(double bytes, const RingPlan& plan);

struct ParameterServers {
  int servers = 1;
  sim::Link network;   ///< of one server, and of one worker
  double apply_s = 0;  ///< a server's time to apply one worker's gradients of all parameters
  double overlap = 4;  ///< g of the smooth maximum, in [1, 10]
};

/// Seconds in which one server would push, apply and pull all parameters for one worker: 2 S/B + 2 a + t_apply.
double push_s(double bytes, const ParameterServers& ps);

/// Asynchronous: pushes a second of `workers` that compute `worker_s` a step: 1/X = ((T_w/n)^g + (t_push/n_ps)^g)^(1/g).
double asynchronous_pushes_per_s(double worker_s, int workers, double push, const ParameterServers& ps);

/// The number of workers at which the servers are as busy as the workers: n* = T_w n_ps / t_push.
double saturation_workers(double worker_s, double push, const ParameterServers& ps);

/// Expected maximum of n independent standard normal numbers; 0 for n = 1.
double expected_normal_maximum(int n);

/// By how much, relatively, the slowest of `workers` is expected to take longer than the mean.
inline double straggling(int workers) { return kWorkerSpread * expected_normal_maximum(workers); }

/// (max(0, a)^g + b^g)^(1/g), for g >= 1; never less than the larger, never more than the sum.
double overlapped(double a, double b, double g);

/// How the exchange joins a worker's computation.
enum class Join {
  overlapped,      ///< it hides behind the backward pass by a smooth maximum, and what is left is added: what is believed
  root_of_squares  ///< sqrt(worker^2 + exchange^2)
};

enum class Exchange { ring, parameter_servers_synchronous, parameter_servers_asynchronous };

struct StepInputs {
  ComputeTime compute;  ///< of one pass of the slowest worker
  double input_s = 0;   ///< to read the samples of one
  /// Gradient accumulation: passes before gradients are exchanged, once, beside the last one's backward pass.
  int passes = 1;
  double gradient_bytes = 0;
  Exchange exchange = Exchange::ring;
  RingPlan ring;  ///< how the workers are spread; also counts the workers under parameter servers
  ParameterServers servers;
  double overlap = 4;     ///< g, of synchronisation with the backward pass, in [1, 10] (Pollux, OSDI 2021, section 3.2)
  double straggling = 0;  ///< how much longer the slowest worker takes, as straggling() has it: synchronous steps wait for it
  double exchange_factor = 1;    ///< multiplies the time of the exchange: how the world differs from the belief
  Join join = Join::overlapped;  ///< likewise
};

struct StepTime {
  double worker_s = 0;                   ///< ComputeTime::worker_s: SEMANTICS applies host and input outside the timers
  double straggler_s = 0;                ///< waiting for the slowest worker
  double exposed_synchronisation_s = 0;  ///< what overlap does not hide
  double step_s = 0;                     ///< the sum; asynchronous: the mean time between two pushes of one worker
  double steps_per_s = 0;                ///< global ones: 1 / step_s when synchronous, pushes a second when asynchronous
};

StepTime step_time(const StepInputs& inputs);

}  // namespace rehearse::workloads
