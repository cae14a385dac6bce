// Figures that kinds.cpp lists, and what they share with it.
#pragma once

#include <string>

#include "report/plots/kinds.hpp"

namespace rehearse::report {

/// The file in a results folder; a file stands for itself. Throws sim::InputError when the folder has none, and says what makes
/// it: the study, or a run where `study` is empty.
std::string file_of(const std::string& results, const std::string& name, const std::string& study = {});
/// With several results, names its folder too.
std::string series_name(const PlotRequest& request, std::size_t results, const std::string& name);

Figure gantt(const PlotRequest& request);
Figure utilization(const PlotRequest& request);
Figure pareto(const PlotRequest& request);
Figure speedup(const PlotRequest& request);
Figure errors(const PlotRequest& request);

}  // namespace rehearse::report
