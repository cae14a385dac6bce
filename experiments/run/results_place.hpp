// Where results are to go: checked, and made ready, before anything runs.
#pragma once

#include <functional>
#include <string>

#include "experiments/run/results_manifest.hpp"

namespace rehearse::scenarios {

struct ResultsPlace {
  std::string path;
  ResultsOwner owner = {};
  bool replace = false;  ///< another owner's results too
  /// Hears what the user should know but that stops nothing: what an earlier run left, what could not be moved.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

/// What results are written into until they are whole: a folder beside the place, of a name that no other has, locked while this
/// process or a child of it lives.
struct PartFolder {
  std::string target;  ///< the place, without links
  std::string path;
  int lock = -1;  ///< a descriptor to close
};

/// Checks that the place can be published into: missing, empty, or earlier results of the same owner; no link to nothing, no
/// mount point, not the folder that the process is in; and that no other run is about to publish there. Tells of what runs that
/// were killed left beside it. Throws sim::InputError.
PartFolder make_part_folder(const ResultsPlace& place);

}  // namespace rehearse::scenarios
