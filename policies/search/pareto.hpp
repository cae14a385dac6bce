// Points with several objectives, all of them to be small: which are best, and what a set of them is worth.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rehearse::policies {

using Objectives = std::vector<double>;

/// No larger anywhere, smaller somewhere. Equal points do not dominate each other.
bool dominates(const Objectives& a, const Objectives& b);

/// Indices by front: the first is dominated by nobody, each next one only by those before it. Increasing within a front.
std::vector<std::vector<std::size_t>> non_dominated_fronts(std::span<const Objectives> points);

/// The first of them: equal points are in it together.
std::vector<std::size_t> pareto_front(std::span<const Objectives> points);

/// Deb et al. (2002), section III-B: the circumference, over the objectives' ranges, of the box between a point's neighbours in
/// its own front; infinite at the ends. `front` are indices into `points`; the answer is in its order.
std::vector<double> crowding_distances(std::span<const Objectives> points, std::span<const std::size_t> front);

/// The volume that the points dominate below `reference`, exactly; points that are not below it in every objective add nothing.
/// One to four objectives are what it is quick for.
double hypervolume(std::span<const Objectives> points, std::span<const double> reference);

/// The point of a front with the least sum of objectives, each scaled to [0, 1] between the front's ends: it lies furthest below
/// the plane through the ends (Das, "On characterizing the knee of the Pareto curve", Structural Optimization 1999). Of equals
/// the first. Not for an empty front.
std::size_t knee_point(std::span<const Objectives> front);

}  // namespace rehearse::policies
