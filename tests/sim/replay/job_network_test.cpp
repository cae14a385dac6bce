#include "sim/replay/job_network.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "sim/base/random.hpp"
#include "tests/sim/replay/toy.hpp"

using namespace toy;

namespace {

/// Nodes of one GPU whose cards carry 10 bytes a second, in racks of two.
Cluster racks(int nodes, double oversubscription) {
  Cluster c = cluster({{nodes, 1}});
  c.instances[0].network.bandwidth_bytes_per_s = 10;
  c.network = Network{.oversubscription = oversubscription, .nodes_per_rack = 2};
  return c;
}

Layout on(std::initializer_list<int> nodes) {
  Layout layout(1);
  for (const int node : nodes) layout[0].push_back({node, 1});
  return layout;
}

const Configuration kOnePool = choice(0, 2, 1).configuration;

}  // namespace

TEST_CASE("two jobs share an uplink, by hand") {
  // Racks {0, 1} and {2, 3}, uplinks of 2 x 10 / 4 = 5. Jobs 0 on nodes 0, 2 and 1 on nodes 1, 3 ask for 4 each: together 8 over
  // both uplinks, so 2.5 each, 2.5 / 4 of what they ask for.
  JobNetwork network(racks(4, 4), NetworkSolver::fast);
  network.join(0, kOnePool, on({0, 2}), 4);
  CHECK(network.solve().size() == 1);
  CHECK(network.share(0) == 1);  // 4 of 5
  network.join(1, kOnePool, on({1, 3}), 4);
  CHECK(network.solve().size() == 2);
  CHECK(network.share(0) == 2.5 / 4);
  CHECK(network.share(1) == 2.5 / 4);
  // Job 2 asks for 9 within the first rack: it shares the cards, of 10, with the two. They keep 2.5; it gets 7.5.
  network.join(2, kOnePool, on({0, 1}), 9);
  network.solve();
  CHECK(network.share(0) == 2.5 / 4);
  CHECK(network.share(2) == 7.5 / 9);
  network.leave(1);
  network.solve();
  CHECK(network.share(0) == 1);        // 4 of 5
  CHECK(network.share(2) == 6.0 / 9);  // what is left of node 0's card
  network.leave(0);
  network.leave(0);  // no effect
  network.solve();
  CHECK(network.share(2) == 1);
}

TEST_CASE("only the uplink of what crosses racks, and the card of what is on a node") {
  JobNetwork network(racks(4, 20), NetworkSolver::fast);  // uplinks of 1
  network.join(0, kOnePool, on({0, 1}), 10);
  network.join(1, kOnePool, on({2, 3}), 10);
  network.solve();
  CHECK(network.share(0) == 1);
  CHECK(network.share(1) == 1);
  network.join(2, kOnePool, on({1, 2}), 10);
  network.solve();
  CHECK(network.share(2) == 0.1);
  CHECK(network.share(0) == 0.9);
}

TEST_CASE("racks as they are given, with an uplink of which nothing is known") {
  Cluster c = racks(4, 1);
  c.network->racks = Racks{.of_node = {{0, 1, 1, 0}}, .uplinks_bytes_per_s = {3, kNever}};
  JobNetwork network(c, NetworkSolver::fast);
  network.join(0, kOnePool, on({0, 3}), 10);
  network.join(1, kOnePool, on({1, 2}), 10);
  network.solve();
  CHECK(network.share(0) == 1);
  CHECK(network.share(1) == 1);
  network.leave(1);
  network.join(1, kOnePool, on({0, 1}), 10);  // shares card 0, and goes through uplink 0
  network.solve();
  CHECK(network.share(1) == 0.3);
  CHECK(network.share(0) == 0.7);
}

TEST_CASE("a last rack that is not full has a smaller uplink") {
  JobNetwork network(racks(3, 4), NetworkSolver::fast);  // of one node: 10 / 4
  network.join(0, kOnePool, on({0, 2}), 5);
  network.solve();
  CHECK(network.share(0) == 0.5);
}

TEST_CASE("random jobs: both solvers agree, no link carries too much, and nobody could have more without another having less") {
  rc::check([](std::uint64_t seed) {
    Random random(seed);
    const int nodes = 3 + static_cast<int>(random.below(8));
    const Cluster c = racks(nodes, 1 + 9 * random.uniform());
    JobNetwork fast(c, NetworkSolver::fast), checked(c, NetworkSolver::simgrid);
    std::map<JobSlot, std::pair<std::set<int>, double>> jobs;
    for (int change = 0; change < 8; ++change) {
      const auto job = static_cast<JobSlot>(random.below(6));
      if (jobs.erase(job) > 0) {
        fast.leave(job);
        checked.leave(job);
      } else {
        std::set<int> on_nodes;
        while (on_nodes.size() < 2 + random.below(static_cast<std::size_t>(nodes) - 1))
          on_nodes.insert(static_cast<int>(random.below(nodes)));
        Layout layout(1);
        for (const int node : on_nodes) layout[0].push_back({node, 1});
        const double demand = 0.1 + 9.9 * random.uniform();
        jobs[job] = {on_nodes, demand};
        fast.join(job, kOnePool, layout, demand);
        checked.join(job, kOnePool, layout, demand);
      }
      fast.solve();
      checked.solve();  // fails a check where they differ
      // Bytes a second over each card and uplink, by its number: cards first.
      const auto links_of = [](const std::set<int>& on_nodes) {
        std::set<int> links, uplinks;
        for (const int node : on_nodes) links.insert(node), uplinks.insert(1000 + node / 2);
        if (uplinks.size() > 1) links.merge(uplinks);
        return links;
      };
      std::map<int, double> load, largest;
      for (const auto& [slot, job_of] : jobs)
        for (const int link : links_of(job_of.first)) {
          const double rate = fast.share(slot) * job_of.second;
          load[link] += rate;
          largest[link] = std::max(largest[link], rate);
        }
      const auto capacity = [&](int link) {
        return link < 1000 ? 10.0 : 10 * std::min(2, nodes - 2 * (link - 1000)) / c.network->oversubscription;
      };
      for (const auto& [link, bytes_per_s] : load) RC_ASSERT(bytes_per_s <= capacity(link) * (1 + 1e-9));
      for (const auto& [slot, job_of] : jobs) {
        RC_ASSERT(std::abs(fast.share(slot) - checked.share(slot)) <= 1e-9);
        bool held = fast.share(slot) >= 1 - 1e-12;  // else a full link on which nobody has more
        for (const int link : links_of(job_of.first))
          held = held ||
                 (load[link] >= capacity(link) * (1 - 1e-9) && fast.share(slot) * job_of.second >= largest[link] * (1 - 1e-9));
        RC_ASSERT(held);
      }
    }
  });
}

TEST_CASE("a node on which a job has workers of two groups is one card of its ring") {
  // It asks for 12 of the card's 10; another for 12, too: 5 each.
  JobNetwork network(racks(3, 1), NetworkSolver::fast);
  Configuration two_groups = kOnePool;
  two_groups.groups.push_back(two_groups.groups.front());
  network.join(0, two_groups, {{{0, 1}}, {{0, 1}, {1, 1}}}, 12);
  network.solve();
  CHECK(network.share(0) == 10.0 / 12);
  network.join(1, kOnePool, on({0, 2}), 12);
  network.solve();
  CHECK(network.share(0) == 5.0 / 12);
  CHECK(network.share(1) == 5.0 / 12);
}
