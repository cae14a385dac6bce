// The candidate terms of an estimator's regressions: a network's structure features, alone and against the batch.
#pragma once

#include <Eigen/Core>
#include <span>
#include <string_view>

#include "workloads/layers/structure.hpp"

namespace rehearse::policies {

/// Names of the terms, in the order of `curve_terms`.
std::span<const std::string_view> curve_term_names();

/// One number a term, for a step of this batch on one device; none is negative.
Eigen::VectorXd curve_terms(const workloads::StructureFeatures& features, double batch);

/// Columns of the terms of a FLOPs-only regression: a constant, and batch x FLOPs. What an estimator has to beat.
std::span<const int> flops_only_terms();

}  // namespace rehearse::policies
