// The kinds of figures there are, each from the files of a run's or study's results (docs/evidence/gallery.md).
#pragma once

#include <string>
#include <vector>

#include "report/plots/figure.hpp"
#include "report/plots/plot_rows.hpp"

namespace rehearse::report {

struct PlotRequest {
  std::vector<std::string> results;  ///< folders; a file of the kind that the figure is from may stand for its folder
  std::vector<Condition> where;
  std::string x, y, by;             ///< columns, where the kind leaves a choice; empty: the kind's own
  std::vector<std::string> higher;  ///< of a Pareto front: columns of which more is better
};

/// The parts of a request that a kind heeds.
struct PlotOptions {
  bool where = true, x = false, y = false, by = false, higher = false;
  bool several = false;  ///< folders of results
};

struct PlotKind {
  std::string name;
  std::string help;  ///< one line: what, and from which file
  /// Throws sim::InputError.
  Figure (*make)(const PlotRequest& request);
  PlotOptions takes = {};
};

/// Throws sim::InputError for each part of the request that the kind does not heed; it names the kinds that do.
void check_request(const PlotKind& kind, const PlotRequest& request);

const std::vector<PlotKind>& plot_kinds();

}  // namespace rehearse::report
