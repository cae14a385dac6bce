// NAS-Bench-201: every cell, with its accuracy and its latency on one device as they were measured.
#pragma once

#include "policies/search/space.hpp"
#include "workloads/layers/nas_cell.hpp"

namespace rehearse::policies {

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

}  // namespace rehearse::policies
