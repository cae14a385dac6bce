// The only file that includes Boost's maximum flow (Boykov and Kolmogorov, PAMI 26, 2004): it takes seconds to compile.
#include "policies/learn/upper_set.hpp"

#include <algorithm>
#include <bit>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <numeric>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

constexpr std::int64_t kLargestSum = std::int64_t{1} << 61;
constexpr std::int64_t kUncuttable = std::int64_t{1} << 62;

using Graph = boost::compressed_sparse_row_graph<boost::directedS>;
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;
using Edge = boost::graph_traits<Graph>::edge_descriptor;

/// Arcs in pairs, each with its reverse, kept in the order of their sources.
class Network {
 public:
  struct Arc {
    Vertex from, to;
    std::int64_t capacity;
  };

  explicit Network(std::size_t vertices) : first_(vertices + 1, 0) {}

  void add(const Arc& arc) {
    arcs_.push_back(arc);
    ++first_[arc.from + 1];
    ++first_[arc.to + 1];
  }

  /// Fills `source_side` with the vertices on the source's side of a minimum cut; returns the cut's capacity.
  std::int64_t minimum_cut(Vertex source, Vertex sink, std::vector<bool>& source_side);

 private:
  std::vector<Arc> arcs_;
  std::vector<std::size_t> first_;  ///< arcs that leave the vertices before this one; counts until `minimum_cut`
};

std::int64_t Network::minimum_cut(Vertex source, Vertex sink, std::vector<bool>& source_side) {
  const std::size_t vertices = first_.size() - 1, edges = 2 * arcs_.size();
  for (std::size_t v = 0; v < vertices; ++v) first_[v + 1] += first_[v];

  std::vector<std::pair<Vertex, Vertex>> ends(edges);
  std::vector<std::int64_t> capacity(edges, 0), residual(edges, 0);
  std::vector<Edge> reverse(edges);
  auto next = first_;
  for (const Arc& arc : arcs_) {
    const std::size_t forth = next[arc.from]++, back = next[arc.to]++;
    ends[forth] = {arc.from, arc.to};
    ends[back] = {arc.to, arc.from};
    capacity[forth] = arc.capacity;
    reverse[forth] = Edge(arc.to, back);
    reverse[back] = Edge(arc.from, forth);
  }
  const Graph graph(boost::edges_are_sorted, ends.begin(), ends.end(), vertices);

  std::vector<boost::default_color_type> color(vertices);
  std::vector<long> distance(vertices, 0);
  std::vector<Edge> predecessor(vertices);
  const auto vertex_index = get(boost::vertex_index, graph);
  const auto edge_index = get(boost::edge_index, graph);
  const std::int64_t flow = boost::boykov_kolmogorov_max_flow(
      graph, boost::make_iterator_property_map(capacity.begin(), edge_index),
      boost::make_iterator_property_map(residual.begin(), edge_index),
      boost::make_iterator_property_map(reverse.begin(), edge_index),
      boost::make_iterator_property_map(predecessor.begin(), vertex_index),
      boost::make_iterator_property_map(color.begin(), vertex_index),
      boost::make_iterator_property_map(distance.begin(), vertex_index), vertex_index, source, sink);
  source_side.resize(vertices);
  for (std::size_t v = 0; v < vertices; ++v) source_side[v] = color[v] == boost::black_color;
  return flow;
}

}  // namespace

UpperSet heaviest_upper_set(std::span<const std::int64_t> weights, std::span<const Cover> covers) {
  const std::size_t n = weights.size();
  const Vertex source = n, sink = n + 1;
  Network network(n + 2);
  std::int64_t positive = 0, total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t w = weights[i];
    sim::check(w >= total - kLargestSum && w <= kLargestSum - total, "the weights of an upper set sum to more than 2^61");
    total += w < 0 ? -w : w;
    if (w > 0) {
      positive += w;
      network.add({.from = source, .to = i, .capacity = w});
    } else if (w < 0) {
      network.add({.from = i, .to = sink, .capacity = -w});
    }
  }
  for (const Cover& c : covers)
    network.add({.from = static_cast<Vertex>(c.lower), .to = static_cast<Vertex>(c.upper), .capacity = kUncuttable});

  UpperSet set;
  const std::int64_t cut = network.minimum_cut(source, sink, set.contains);
  set.contains.resize(n);
  set.weight = positive - cut;

  std::int64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += set.contains[i] ? weights[i] : 0;
  sim::check(sum == set.weight, "the minimum cut is not the heaviest upper set");
  return set;
}

namespace {

/// n rows of n bits: row i holds the points at or below point i.
class BitRows {
 public:
  explicit BitRows(std::size_t n) : words_((n + 63) / 64), bits_(n * words_, ~std::uint64_t{0}) {}
  std::size_t words() const { return words_; }
  std::span<std::uint64_t> row(std::size_t i) { return std::span(bits_).subspan(i * words_, words_); }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

void keep_those_at_or_below(std::size_t coordinate, std::size_t dimension, std::span<const double> points, BitRows& below) {
  const std::size_t n = points.size() / dimension;
  const auto value = [&](std::size_t i) { return points[i * dimension + coordinate]; };
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return value(i) < value(j); });

  std::vector<std::uint64_t> seen(below.words(), 0);
  for (std::size_t first = 0; first < n;) {
    std::size_t last = first;
    for (; last < n && value(order[last]) == value(order[first]); ++last)
      seen[order[last] / 64] |= std::uint64_t{1} << order[last] % 64;
    for (; first < last; ++first) {
      const auto row = below.row(order[first]);
      for (std::size_t w = 0; w < row.size(); ++w) row[w] &= seen[w];
    }
  }
}

}  // namespace

std::vector<Cover> cover_relations(std::size_t dimension, std::span<const double> points) {
  const std::size_t n = points.size() / dimension;
  BitRows below(n);
  for (std::size_t d = 0; d < dimension; ++d) keep_those_at_or_below(d, dimension, points, below);

  // In lexicographic order a point stands after all those below it. So the last of the candidates below i is maximal
  // among them, hence covered by i; whatever is below it is not.
  std::vector<Cover> covers;
  std::vector<std::uint64_t> candidates(below.words());
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = below.row(i);
    std::copy(row.begin(), row.end(), candidates.begin());
    candidates[i / 64] &= ~(std::uint64_t{1} << i % 64);
    for (std::size_t w = i / 64 + 1; w-- > 0;) {
      while (candidates[w] != 0) {
        const std::size_t j = w * 64 + 63 - static_cast<std::size_t>(std::countl_zero(candidates[w]));
        covers.push_back({.lower = static_cast<std::int32_t>(j), .upper = static_cast<std::int32_t>(i)});
        const auto implied = below.row(j);
        for (std::size_t v = 0; v <= w; ++v) candidates[v] &= ~implied[v];
      }
    }
  }
  return covers;
}

}  // namespace rehearse::policies
