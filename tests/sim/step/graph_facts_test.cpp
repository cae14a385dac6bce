#include <catch2/catch.hpp>

#include "sim/step/op_graph.hpp"

using namespace rehearse::sim;

namespace {

/// 0 -> 1 -> 3, 0 -> 2 -> 3, and 4 alone.
OpGraph diamond() {
  OpGraph graph;
  graph.ops.resize(5);
  graph.edges = {{0, 1, {0, 10}}, {0, 2, {0, 10}}, {1, 3, {0, 5}}, {2, 3, {0, 7}}};
  return graph;
}

}  // namespace

TEST_CASE("the longest path of a diamond, by hand", "[graph_facts]") {
  // 1 + 4 + 2 through operation 2; 1 + 3 + 2 through operation 1.
  const LongestPath path = longest_path(diamond(), std::vector<double>{1, 3, 4, 2, 6});
  CHECK(path.length == 7);
  CHECK(path.ops == std::vector<int>{0, 2, 3});
  // Equally long both ways: the smaller index. Operation 4 alone is longer than either.
  CHECK(longest_path(diamond(), std::vector<double>{1, 3, 3, 2, 6}).ops == std::vector<int>{0, 1, 3});
  CHECK(longest_path(diamond(), std::vector<double>{1, 3, 3, 2, 9}).ops == std::vector<int>{4});
  CHECK(longest_path(OpGraph{}, {}).length == 0);
}

TEST_CASE("tensors live until their last reader", "[graph_facts]") {
  CHECK(last_readers(diamond()) == std::vector<int>{2, 3, 3, 3, 4});
  // Batch 2. While 2 runs: the one tensor of 0 (20, read twice), of 1 (10) and of 2 (14).
  CHECK(peak_tensor_bytes(diamond(), 2) == 20 + 10 + 14);
  OpGraph graph = diamond();
  graph.edges[3].bytes = {1000, 0};  // a parameter gradient
  CHECK(peak_tensor_bytes(graph, 2) == 20 + 10);
}
