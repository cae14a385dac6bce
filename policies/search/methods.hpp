// Every search method there is, in one visible table (methods.cpp).
#pragma once

#include <memory>
#include <vector>

#include "policies/registry/registry.hpp"
#include "policies/search/search_method.hpp"

namespace rehearse::policies {

struct SearchEntry : StrategyEntry {
  std::unique_ptr<SearchMethod> (*make)(const Parameters&, const SearchSetup&) = nullptr;
  bool halves = false;  ///< asks for less than full training too
};

/// find_strategy() finds one by its name.
const std::vector<SearchEntry>& search_methods();

}  // namespace rehearse::policies
