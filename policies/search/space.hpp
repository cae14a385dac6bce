// Where a search looks: genes, what they stand for, and what is known of a candidate.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policies/search/search_method.hpp"

namespace rehearse::policies {

/// What a candidate is measured by. NaN: the space does not know it.
struct Measures {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  double accuracy = kUnknown;      ///< in [0, 1], after the share of training that was asked
  double latency_s = kUnknown;     ///< of one inference
  double memory_bytes = kUnknown;  ///< of a device in training
  double training_s = kUnknown;    ///< in full, as all below
  double cost_usd = kUnknown;
  double energy_j = kUnknown;
  double gpu_hours = kUnknown;
  bool fits = true;  ///< into the memory of its devices
};

/// In this order kGoalNames, as scenarios have them.
enum class Goal : std::uint8_t { accuracy, latency, memory, training_time, cost, energy };
inline constexpr std::array<std::string_view, 6> kGoalNames{"accuracy", "latency", "memory", "training-time", "cost", "energy"};

double measure_of(const Measures& measures, Goal goal);

/// To be small: the error 1 - accuracy in the accuracy's place. What does not fit is worse than all that does.
Objectives objectives_of(const Measures& measures, std::span<const Goal> goals);
inline constexpr double kDoesNotFit = 1e30;

struct Gene {
  std::string name;
  std::vector<std::string> levels;
};

class SearchSpace {
 public:
  virtual ~SearchSpace() = default;
  virtual const std::vector<Gene>& genes() const = 0;
  /// Of genes that mean the same, one.
  virtual Genes canonical(const Genes& genes) const { return genes; }
  /// One line; different for different canonical genes.
  virtual std::string name(const Genes& genes) const = 0;
  /// After a share of full training, in (0, 1].
  virtual Measures measure(const Genes& genes, double share) const = 0;
};

SearchSetup setup_of(const SearchSpace& space, std::size_t objectives, std::uint64_t random_key);

/// Gene names and levels, "gene=level gene=level".
std::string levels_text(const SearchSpace& space, const Genes& genes);

}  // namespace rehearse::policies
