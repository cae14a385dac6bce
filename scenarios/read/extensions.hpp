// What a scenario may name that is made above its loader: studies, and policies that are processes. `experiments` hands their
// readers in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policies/registry/bundle.hpp"
#include "sim/io/object_reader.hpp"

namespace rehearse::scenarios {

struct Paths;
struct Scenario;

/// What is asked instead of one table of policies, as it was read.
class StudyParameters {
 public:
  virtual ~StudyParameters() = default;
};

struct StudyKind {
  std::string name;
  std::string help;  ///< one line
  // Which parts of a scenario it needs; what it does not need may be missing.
  bool cluster = true, jobs = true, policies = true;
  /// Reads the parameters beside "name"; there are none when the scenario gives the name alone. All else of the scenario is read.
  std::unique_ptr<StudyParameters> (*read)(sim::ObjectReader& in, const Paths& paths, Scenario& scenario,
                                           sim::Mistakes& mistakes);
};

struct Extensions {
  const std::vector<StudyKind>& studies;
  /// A decision's value of the form {"process": [...]}.
  policies::StrategyChoice (*read_process)(sim::JsonValue strategy, const Paths& paths, Scenario& scenario,
                                           sim::Mistakes& mistakes);
};

}  // namespace rehearse::scenarios
