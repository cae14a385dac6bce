// Finding the valid name that a mistaken one was probably meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rehearse::sim {

/// The candidate with the smallest edit distance (insert, delete, replace, swap neighbours; letter case ignored), or empty when
/// none is near: a distance of at most 1 + a third of the name's length. Ties go to the earlier candidate.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace rehearse::sim
