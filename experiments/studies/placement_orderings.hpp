// Table 2 of Mirhoseini et al. (ICML 2017) as eight orderings, each of which holds or not in what the placement study has found.
#pragma once

#include <string>
#include <vector>

#include "report/table.hpp"

namespace rehearse::scenarios {

/// What a method found for one of the paper's models.
struct PaperAnswer {
  std::string assumption;  ///< under which: of the graph and of the machine
  std::string model;       ///< rnnlm, nmt or inception-v3
  int gpus = 0;
  std::string method;
  double step_s = 0;
  bool fits = true;
};

/// A row for each assumption and ordering: the paper's figures, ours, and whether it holds; then how many of eight hold. Of
/// several assumptions, in the end, under how many each ordering holds. Orderings whose answers are missing are left open.
report::Table orderings_table(const std::vector<PaperAnswer>& answers);

}  // namespace rehearse::scenarios
