#include "policies/place/groups.hpp"

#include <fmt/format.h>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <set>

#include "sim/base/errors.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse::policies;
namespace sim = rehearse::sim;
namespace workloads = rehearse::workloads;

namespace {

GroupableGraph forward_ops(int count, std::vector<GroupableEdge> edges) {
  GroupableGraph graph;
  for (int i = 0; i < count; ++i) graph.ops.push_back({.work = 1});
  graph.edges = std::move(edges);
  return graph;
}

GroupableGraph zoo_groupable(std::string_view model, bool unroll) {
  const sim::OpGraph graph = workloads::zoo_graph(model, {}, unroll);
  std::vector<double> work;
  for (const sim::Op& op : graph.ops) work.push_back(op.flops.at(64) + 10 * op.bytes.at(64));
  return groupable(graph, 64, work);
}

std::vector<double> work_of(const GroupableGraph& graph, const Groups& groups) {
  std::vector<double> work(static_cast<std::size_t>(groups.count));
  for (std::size_t op = 0; op < graph.ops.size(); ++op) work[groups.of_op[op]] += graph.ops[op].work;
  return work;
}

/// Every operation in one group, groups numbered without a gap, what belongs together in one.
void check_groups(const GroupableGraph& graph, const Groups& groups) {
  RC_ASSERT(groups.of_op.size() == graph.ops.size());
  const std::set<int> used(groups.of_op.begin(), groups.of_op.end());
  RC_ASSERT(static_cast<int>(used.size()) == groups.count);
  RC_ASSERT(used.empty() || (*used.begin() == 0 && *used.rbegin() == groups.count - 1));
  std::map<std::int64_t, int> of_number;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    const std::int64_t number = graph.ops[op].together;
    if (number >= 0) RC_ASSERT(of_number.try_emplace(number, groups.of_op[op]).first->second == groups.of_op[op]);
  }
}

GroupableGraph random_graph() {
  GroupableGraph graph;
  const int count = *rc::gen::inRange(1, 40);
  for (int i = 0; i < count; ++i)
    graph.ops.push_back({.together = *rc::gen::inRange(-30, 8),
                         .is_forward = *rc::gen::inRange(0, 4) > 0,
                         .is_variable = *rc::gen::inRange(0, 8) == 0,
                         .work = double(*rc::gen::inRange(0, 5))});
  for (GroupableOp& op : graph.ops) op.together = std::max<std::int64_t>(op.together, -1);
  const int edges = count < 2 ? 0 : *rc::gen::inRange(0, 3 * count);
  for (int i = 0; i < edges; ++i) {
    const int to = *rc::gen::inRange(1, count);
    graph.edges.push_back({*rc::gen::inRange(0, to), to, double(*rc::gen::inRange(0, 9))});
  }
  return graph;
}

}  // namespace

TEST_CASE("chains and single consumers, by hand", "[groups]") {
  // 0 -> 1 -> {2, 3} -> 4 -> 5: chains are 0-1 and 4-5; with single consumers 2 and 3 join 4 as well, and then 0-1 feed one
  // group.
  const GroupableGraph graph = forward_ops(6, {{0, 1, 8}, {1, 2, 8}, {1, 3, 8}, {2, 4, 8}, {3, 4, 8}, {4, 5, 8}});
  CHECK(colocate(graph, ChainRule::none).count == 6);
  CHECK(colocate(graph, ChainRule::chains).of_op == std::vector<int>{0, 0, 1, 2, 3, 3});
  CHECK(colocate(graph, ChainRule::single_consumer).of_op == std::vector<int>{0, 0, 0, 0, 0, 0});
  // A second reader elsewhere keeps 2 apart.
  GroupableGraph read_twice = graph;
  read_twice.ops.push_back({.work = 1});
  read_twice.edges.push_back({2, 6, 8});
  CHECK(colocate(read_twice, ChainRule::single_consumer).of_op == std::vector<int>{0, 0, 1, 2, 2, 2, 3});
}

TEST_CASE("gradients stay with their forward operation, and are no part of chains", "[groups]") {
  // Forward 0 -> 1, backward 2 (of 1) -> 3 (of 0), each layer a number. One chain.
  GroupableGraph graph = forward_ops(4, {{0, 1, 8}, {1, 2, 8}, {2, 3, 8}, {0, 3, 8}});
  graph.ops[0].together = graph.ops[3].together = 5;
  graph.ops[1].together = graph.ops[2].together = 6;
  graph.ops[2].is_forward = graph.ops[3].is_forward = false;
  CHECK(colocate(graph, ChainRule::none).of_op == std::vector<int>{0, 1, 1, 0});
  CHECK(colocate(graph, ChainRule::chains).of_op == std::vector<int>{0, 0, 0, 0});
  CHECK(is_acyclic(graph, colocate(graph, ChainRule::none)));
}

TEST_CASE("coarsening by hand: the lightest joins where most bytes go, never around another way", "[groups]") {
  // 0 -> 1 -> 2 and 0 -> 2, most bytes from 0 to 2. 0 is lightest; with 2 it would wait for 1 and 1 for it. It joins 1.
  GroupableGraph graph = forward_ops(3, {{0, 1, 1}, {1, 2, 1}, {0, 2, 100}});
  graph.ops[0].work = 0.5;
  const Groups all = colocate(graph, ChainRule::none);
  CHECK(coarsen(graph, all, 2).of_op == std::vector<int>{0, 0, 1});
  CHECK(coarsen(graph, all, 1).count == 1);
  CHECK(coarsen(graph, all, 3).of_op == all.of_op);
  // Two groups around a third wait for each other: they become one, whatever is asked for.
  GroupableGraph circle = forward_ops(3, {{0, 1, 1}, {1, 2, 1}});
  circle.ops[0].together = circle.ops[2].together = 1;
  const Groups two = colocate(circle, ChainRule::none);
  CHECK(two.count == 2);
  CHECK_FALSE(is_acyclic(circle, two));
  CHECK(coarsen(circle, two, 1).count == 1);
  // Nothing joins them: still two groups of three.
  CHECK(coarsen(forward_ops(3, {}), colocate(forward_ops(3, {})), 2).count == 2);
  for (const int wrong : {0, -1, 4}) {
    CHECK_THROWS_AS(coarsen(graph, all, wrong), sim::InputError);
    CHECK_THROWS_WITH(coarsen(graph, all, wrong), Catch::Contains("1 to 3 groups") && Catch::Contains(std::to_string(wrong)));
  }
}

TEST_CASE("groups of random graphs", "[groups]") {
  rc::prop("each operation in one group, what belongs together in one; joins of chains make no circle", [] {
    const GroupableGraph graph = random_graph();
    const Groups given = colocate(graph, ChainRule::none);
    check_groups(graph, given);
    for (const ChainRule rule : {ChainRule::chains, ChainRule::single_consumer}) {
      const Groups groups = colocate(graph, rule);
      check_groups(graph, groups);
      RC_ASSERT(groups.count <= given.count);
    }
    RC_ASSERT(colocate(graph, ChainRule::single_consumer).count <= colocate(graph, ChainRule::chains).count);
  });
  rc::prop("coarsened groups are joins of the given ones, as many as asked for, without a circle", [] {
    GroupableGraph graph = random_graph();
    const bool free = *rc::gen::arbitrary<bool>();
    if (free)
      for (GroupableOp& op : graph.ops) op.together = -1;
    const Groups before = colocate(graph, ChainRule::none);
    const int count = *rc::gen::inRange<int>(1, static_cast<int>(graph.ops.size()) + 1);
    const Groups after = coarsen(graph, before, count);
    check_groups(graph, after);
    if (free) RC_ASSERT(after.count == std::min(count, before.count));
    RC_ASSERT(after.count <= std::max(count, before.count));
    std::map<int, int> joined;
    for (std::size_t op = 0; op < graph.ops.size(); ++op)
      RC_ASSERT(joined.try_emplace(before.of_op[op], after.of_op[op]).first->second == after.of_op[op]);
    if (before.count > count) RC_ASSERT(is_acyclic(graph, after));
    RC_ASSERT(coarsen(graph, before, count).of_op == after.of_op);
  });
}

TEST_CASE("an LSTM's step is one group, and so are a variable and its update", "[groups]") {
  const sim::OpGraph graph = workloads::zoo_graph("nmt", {}, true);
  const Groups groups = colocate(groupable(graph, 64, std::vector<double>(graph.ops.size(), 1.0)), ChainRule::none);
  const auto group_of = [&](const std::string& name) {
    for (std::size_t op = 0; op < graph.ops.size(); ++op)
      if (graph.ops[op].name == name) return groups.of_op[op];
    FAIL(name);
    return -1;
  };
  for (const char* part : {"/input", "/gradient", "/filter_gradient", "/data_gradient"})
    CHECK(group_of(std::string("decoder2/step4") + part) == group_of("decoder2/step4"));
  CHECK(group_of("decoder2/step4") != group_of("decoder2/step5"));
  CHECK(group_of("encoder1/step4/reverse") != group_of("encoder1/step4"));
  CHECK(group_of("encoder1/step4/reverse/gradient") == group_of("encoder1/step4/reverse"));
  CHECK(group_of("decoder2/parameters") == group_of("decoder2/update"));
  CHECK(group_of("decoder2/parameters") != group_of("decoder2/step0"));
}

TEST_CASE("the paper's three models", "[groups]") {
  // The paper: 188, 280 and 83 groups of 8,943, 22,097 and 31,180 operations of TensorFlow's.
  for (const char* model : {"rnnlm", "nmt", "inception-v3"}) {
    const GroupableGraph graph = zoo_groupable(model, true);
    const Groups layers = colocate(graph, ChainRule::none), chains = colocate(graph),
                 single = colocate(graph, ChainRule::single_consumer);
    fmt::print("{}: {} operations, {} layer steps, {} groups by chains, {} by single consumers\n", model, graph.ops.size(),
               layers.count, chains.count, single.count);
    CHECK(is_acyclic(graph, chains));
    CHECK(is_acyclic(graph, single));
    for (const int count : {4, 16, 40}) {
      const Groups coarse = coarsen(graph, chains, count);
      CHECK(coarse.count == count);
      CHECK(is_acyclic(graph, coarse));
      // Balance: no group grew to more than a few means beyond what must stay together.
      const std::vector<double> work = work_of(graph, coarse), given = work_of(graph, chains);
      const double mean = std::accumulate(work.begin(), work.end(), 0.0) / count;
      CHECK(*std::max_element(work.begin(), work.end()) < *std::max_element(given.begin(), given.end()) + 4 * mean);
    }
  }
}
