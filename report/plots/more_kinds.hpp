// Figures that kinds.cpp lists, and what they share with it.
#pragma once

#include <string>

#include "report/plots/kinds.hpp"

namespace rehearse::report {

/// The file in a results folder; a file stands for itself.
std::string file_of(const std::string& results, const std::string& name);
/// With several results, names its folder too.
std::string series_name(const PlotRequest& request, std::size_t results, const std::string& name);

Figure gantt(const PlotRequest& request);
Figure utilization(const PlotRequest& request);
Figure pareto(const PlotRequest& request);
Figure speedup(const PlotRequest& request);
Figure errors(const PlotRequest& request);

}  // namespace rehearse::report
