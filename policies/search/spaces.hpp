// The spaces there are: measured cells of NAS-Bench-201, and chains of layers.
#pragma once

#include <map>
#include <memory>

#include "policies/place/data_parallel.hpp"
#include "policies/search/search_method.hpp"
#include "policies/threads/recommended.hpp"
#include "sim/replay/alone.hpp"
#include "workloads/layers/nas_cell.hpp"
#include "workloads/world/world.hpp"

namespace rehearse::policies {

// NAS-Bench-201: every cell, with its accuracy and its latency on one device as they were measured.

workloads::NasCell cell_of(const Genes& genes);

class CellSpace final : public SearchSpace {
 public:
  /// By workloads::nas_cell_index; accuracies in [0, 1], latencies in seconds.
  CellSpace(std::vector<double> accuracy, std::vector<double> latency_s);
  const std::vector<Gene>& genes() const override { return genes_; }
  std::string name(const Genes& genes) const override;
  /// Accuracy, of full training whatever the share, and latency.
  Measures measure(const Genes& genes, double share) const override;

 private:
  std::vector<double> accuracy_, latency_s_;
  std::vector<Gene> genes_;
};

// Chains of layers and what they are trained on, together: architectures that a scenario's profiles stand for, and pool, workers
// and batch size of their training.

/// Genes of the architecture, and the profile of each combination of their levels, the last gene's level changing quickest.
struct Architectures {
  std::vector<Gene> genes;
  std::vector<const sim::Profile*> profiles;
  double epochs = 1;  ///< of full training, whole
};

/// Levels of the genes pool, workers and batch (global, samples).
struct TrainingResources {
  std::vector<sim::PoolId> pools;
  std::vector<int> workers;
  std::vector<int> batches;
};

class ChainSpace final : public SearchSpace {
 public:
  /// `models` have the profiles; `deployed_on`: where latency counts. References must outlive the space.
  struct Inputs {
    const sim::Cluster* cluster = nullptr;
    const sim::CostRules* costs = nullptr;
    const workloads::ProfileModels* models = nullptr;
    Architectures architectures;
    TrainingResources resources;
    const sim::Device* deployed_on = nullptr;
  };
  explicit ChainSpace(Inputs inputs);

  const std::vector<Gene>& genes() const override { return genes_; }
  std::string name(const Genes& genes) const override { return levels_text(*this, genes); }
  /// By the belief, alone on an empty cluster. Latency is the forward pass of one sample.
  Measures measure(const Genes& genes, double share) const override;

  /// The same by other models: those behind `alone`.
  Measures measure_with(sim::AloneRunner& alone, const Genes& genes, double share) const;

  /// Of so many epochs of training.
  sim::Job job(const Genes& genes, double epochs) const;
  sim::Configuration configuration(const Genes& genes) const;
  /// Of a share of full training: whole, at least one.
  double epochs(double share) const;
  std::size_t architecture(const Genes& genes) const;
  /// Bytes of a device in training.
  double memory_bytes(const Genes& genes) const;
  double latency_s(const Genes& genes) const;
  const std::vector<sim::PoolId>& pools() const { return inputs_.resources.pools; }
  /// On its pool's nodes, and in their devices' memory.
  bool fits(const Genes& genes, const sim::Configuration& configuration) const;
  /// The configuration with what is believed of the job's time and money.
  sim::Choice predicted(const sim::Job& job, const sim::Configuration& configuration) const;

 private:
  const sim::Profile& profile(const Genes& genes) const { return *inputs_.architectures.profiles[architecture(genes)]; }

  Inputs inputs_;
  std::vector<Gene> genes_;
  workloads::Belief belief_;
  mutable DataParallel place_;
  mutable RecommendedThreads threads_;
  mutable sim::AloneRunner alone_;  ///< remembers what it has worked out
};

}  // namespace rehearse::policies
