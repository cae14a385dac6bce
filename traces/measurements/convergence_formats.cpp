#include "traces/measurements/convergence_formats.hpp"

namespace rehearse::traces {
namespace {

constexpr ConvergenceFormat kConvergenceFormats[] = {
    {"pollux", "validation-BATCH.csv of Pollux's applications (OSDI 2021), or folders of them", read_pollux_convergence},
    {"zeus", "summary_train.csv of Zeus (NSDI 2023): epochs to targets", read_zeus_convergence},
};

}  // namespace

std::span<const ConvergenceFormat> convergence_formats() { return kConvergenceFormats; }

}  // namespace rehearse::traces
