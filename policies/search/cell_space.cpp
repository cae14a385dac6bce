#include "policies/search/cell_space.hpp"

#include "sim/base/errors.hpp"

namespace rehearse::policies {

workloads::NasCell cell_of(const Genes& genes) {
  workloads::NasCell cell;
  for (std::size_t edge = 0; edge < cell.size(); ++edge) cell[edge] = static_cast<workloads::NasOp>(genes[edge]);
  return cell;
}

CellSpace::CellSpace(std::vector<double> accuracy, std::vector<double> latency_s)
    : accuracy_(std::move(accuracy)), latency_s_(std::move(latency_s)) {
  sim::check(accuracy_.size() == workloads::kNasCells && latency_s_.size() == workloads::kNasCells,
             "a table of cells has every one of them");
  const std::vector<std::string> ops(workloads::kNasOpNames.begin(), workloads::kNasOpNames.end());
  for (const std::string_view edge : workloads::kNasEdges) genes_.push_back({.name = std::string(edge), .levels = ops});
}

std::string CellSpace::name(const Genes& genes) const { return workloads::to_string(cell_of(genes)); }

Measures CellSpace::measure(const Genes& genes, double) const {
  const std::size_t index = workloads::nas_cell_index(cell_of(genes));
  return {.accuracy = accuracy_[index], .latency_s = latency_s_[index]};
}

}  // namespace rehearse::policies
