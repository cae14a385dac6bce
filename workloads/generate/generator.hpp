// A seeded generator of training jobs: CNNs and RNNs that arrive as a Poisson process, with deadlines and accuracy floors that a
// sensible choice can keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/jobs/job.hpp"
#include "workloads/steps/profiles.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::workloads {

/// A (model, dataset) pair to draw from.
struct GeneratedPair {
  std::string_view model, dataset;
  bool recurrent = false;
};

/// What "mixed-cnn-rnn" draws from when the scenario names no models: half of the jobs CNNs, half RNNs.
const std::vector<GeneratedPair>& mixed_cnn_rnn();

struct GeneratorSettings {
  std::string name = "mixed";  ///< of the jobs: name-0001, ...
  int count = 100;
  double first_submit_s = 0;
  double arrivals_per_hour = 10;
  double gpu_fraction = 1;  ///< of every job; below 1 it has one GPU
  double readings = 1;      ///< of every job
  /// Deadline: the reference time (the publication's epochs and batch, on up to 8 workers of the fastest pool) times a factor.
  double deadline_factor_low = 1.5, deadline_factor_high = 6;
  /// Floor: what the publication's recipe reaches, less a slack in accuracy.
  double accuracy_slack_low = 0.005, accuracy_slack_high = 0.04;
  std::vector<const sim::Profile*> convolutional, recurrent;  ///< either may be empty, not both
};

/// By submit date. Depends on the seed and the repetition, never on a policy. Profiles must have a convergence.
std::vector<sim::Job> generate_jobs(const GeneratorSettings& settings, const Belief& belief, std::uint64_t seed, int repetition);

/// After the publication's epochs at its batch, as is believed.
double published_accuracy(const ConvergenceParameters& convergence);

/// The floor that lies this slack below an accuracy: rounded down to three places, never 0.
double floor_below(double accuracy, double slack);

/// Seconds of the publication's recipe by the belief, as above; infinite when its batch fits no pool.
double reference_time_s(const sim::Profile& profile, const Belief& belief);

}  // namespace rehearse::workloads
