// METIS (Karypis and Kumar, SIAM J. Scientific Computing 20(1), 1998): the fewest bytes between devices, work in the ratio of
// their speeds.
//
// SCOTCH (Pellegrini and Roman, HPCN Europe 1996): the fewest bytes between devices, work in the ratio of their speeds. The two
// graph partitioners of Mirhoseini et al. 2017 (section 4.2): over all devices, and "MinCut", without the CPU.
#include <fcntl.h>
#include <metis.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "policies/place/methods/methods.hpp"
#include "policies/place/placement_graph.hpp"
#include "sim/base/errors.hpp"

// scotch.h names FILE without including it.
#include <scotch.h>

namespace rehearse::policies {

namespace {

static_assert(sizeof(SCOTCH_Num) == sizeof(std::int32_t));

/// SCOTCH's handles, ended with the scope.
struct Handles {
  SCOTCH_Graph graph;
  SCOTCH_Arch machine;
  SCOTCH_Strat strategy;
  Handles() {
    const bool made = SCOTCH_graphInit(&graph) == 0 && SCOTCH_archInit(&machine) == 0 && SCOTCH_stratInit(&strategy) == 0;
    sim::check(made, "SCOTCH's handles");
  }
  ~Handles() {
    SCOTCH_graphExit(&graph);
    SCOTCH_archExit(&machine);
    SCOTCH_stratExit(&strategy);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
};

/// METIS complains on stdout, and goes on with an empty part, where a bisection leaves one side no vertices for several parts.
/// What the program prints there is its results.
class SilentStdout {
 public:
  SilentStdout() {
    std::fflush(stdout);
    kept_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    const int nothing = kept_ < 0 ? -1 : ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing < 0) return;
    ::dup2(nothing, STDOUT_FILENO);
    ::close(nothing);
  }
  ~SilentStdout() {
    if (kept_ < 0) return;
    std::fflush(stdout);
    ::dup2(kept_, STDOUT_FILENO);
    ::close(kept_);
  }
  SilentStdout(const SilentStdout&) = delete;
  SilentStdout& operator=(const SilentStdout&) = delete;

 private:
  int kept_ = -1;
};

}  // namespace

static_assert(sizeof(idx_t) == sizeof(std::int32_t) && sizeof(real_t) == sizeof(float));

DeviceOfGroup Metis::place(const PlacementView& view, PlacementEvaluator&) {
  const PlacementGraph groups(view);
  const std::vector<std::int32_t> devices = all_devices(view.machine());
  idx_t vertices = groups.groups(), parts = static_cast<idx_t>(devices.size()), constraints = 1, cut = 0;
  std::vector<idx_t> part_of(static_cast<std::size_t>(vertices), 0);
  // Its recursive bisection splits at least once: of one part it makes two.
  if (parts == 1) return devices_of_parts(part_of, devices);
  // METIS leaves parts empty when there are hardly more vertices than parts.
  if (vertices <= parts) {
    for (idx_t v = 0; v < vertices; ++v) part_of[static_cast<std::size_t>(v)] = v;
    return devices_of_parts(part_of, devices);
  }
  PartitionGraph graph = partition_graph(groups, view.machine());
  std::vector<real_t> targets;
  for (const double share : device_shares(groups, devices)) targets.push_back(static_cast<real_t>(share));
  std::array<idx_t, METIS_NOPTIONS> options{};
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_SEED] = static_cast<idx_t>(view.random_key() & 0x7fffffff);
  if (graph.neighbour.empty()) graph.neighbour.push_back(0), graph.bytes.push_back(1);  // no null pointers
  // Recursive bisection is METIS's own choice for up to 8 parts.
  const SilentStdout silent;
  const int status =
      METIS_PartGraphRecursive(&vertices, &constraints, graph.first.data(), graph.neighbour.data(), graph.work.data(), nullptr,
                               graph.bytes.data(), &parts, targets.data(), nullptr, options.data(), &cut, part_of.data());
  sim::check(status == METIS_OK, "METIS found a partition");
  return devices_of_parts(part_of, devices);
}

DeviceOfGroup Scotch::place(const PlacementView& view, PlacementEvaluator&) {
  const PlacementGraph groups(view);
  const std::vector<std::int32_t> devices = with_cpu_ ? all_devices(view.machine()) : gpus_or_all(view.machine());
  std::vector<SCOTCH_Num> part_of(static_cast<std::size_t>(groups.groups()), 0);
  if (devices.size() > 1) {
    const PartitionGraph graph = partition_graph(groups, view.machine());
    std::vector<SCOTCH_Num> speeds;
    for (const double share : device_shares(groups, devices))
      speeds.push_back(std::max(1, static_cast<SCOTCH_Num>(std::lround(share * 1e4))));
    // Its generator is one for the process: begun anew for each graph.
    SCOTCH_randomSeed(static_cast<SCOTCH_Num>(view.random_key() & 0x7fffffff));
    SCOTCH_randomReset();
    Handles scotch;
    const bool ok =
        SCOTCH_graphBuild(&scotch.graph, 0, groups.groups(), graph.first.data(), nullptr, graph.work.data(), nullptr,
                          static_cast<SCOTCH_Num>(graph.neighbour.size()), graph.neighbour.data(), graph.bytes.data()) == 0 &&
        SCOTCH_archCmpltw(&scotch.machine, static_cast<SCOTCH_Num>(speeds.size()), speeds.data()) == 0 &&
        SCOTCH_graphMap(&scotch.graph, &scotch.machine, &scotch.strategy, part_of.data()) == 0;
    sim::check(ok, "SCOTCH found a mapping");
  }
  return devices_of_parts(part_of, devices);
}

}  // namespace rehearse::policies
