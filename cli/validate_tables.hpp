// Tables of `rehearse validate` beside those of step times; each is left out when no row belongs in it.
#pragma once

#include <span>

#include "workloads/calibration/measurement.hpp"
#include "workloads/calibration/validation.hpp"

namespace rehearse::cli {

void print_energy(std::span<const workloads::Measurement> rows, std::span<const workloads::Predicted> predicted);
/// By laboratory and stack, and all of them, each laboratory's set counting the same.
void print_stacks(std::span<const workloads::Measurement> rows, std::span<const workloads::Site> sites,
                  std::span<const sim::Stack> stacks, std::span<const workloads::Predicted> predicted);
void print_knees(std::span<const workloads::Measurement> rows, std::span<const workloads::Predicted> predicted);

}  // namespace rehearse::cli
