// m-SCT (Baechi: Jeon et al., SoCC 2020, section 3.3; SCT: Hanen and Munier, Discrete Applied Mathematics 108, 2001): m-ETF in
// which an operation's favourite successor follows it on its device. A linear programme says which successors are favourites.
#include <coin/ClpSimplex.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/CoinPackedVector.hpp>
#include <map>
#include <utility>

#include "policies/place/methods/methods.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

/// What passes between two operations, as time between two GPUs.
using Links = std::map<std::pair<std::int32_t, std::int32_t>, double>;

Links links_of(const PlacementView& view, std::span<const std::int32_t> gpus) {
  Links links;
  for (int t = 0; t < view.graph().tensors(); ++t) {
    const sim::StepTensor& tensor = view.graph().tensor(t);
    const double seconds = gpus.size() < 2 ? 0 : sim::seconds_of(transfer_ticks(view.machine(), tensor.bytes, gpus[0], gpus[1]));
    for (const std::int32_t reader : view.graph().readers_of(t)) links[{tensor.producer, reader}] += seconds;
  }
  return links;
}

/// Rows of a linear programme that minimises its last variable; all variables are at least 0.
class Programme {
 public:
  explicit Programme(int variables) : variables_(variables) { matrix_.setDimensions(0, variables); }
  void at_least(std::span<const std::pair<int, double>> terms, double bound) {
    CoinPackedVector row;
    for (const auto& [variable, factor] : terms) row.insert(variable, factor);
    matrix_.appendRow(row);
    bounds_.push_back(bound);
  }
  /// Values of the variables. `most`: upper limits of each.
  std::vector<double> solve(const std::vector<double>& most) {
    std::vector<double> objective(static_cast<std::size_t>(variables_), 0);
    objective.back() = 1;
    ClpSimplex solver;
    solver.setLogLevel(0);
    solver.loadProblem(matrix_, nullptr, most.data(), objective.data(), bounds_.data(), nullptr);
    sim::check(solver.dual() == 0, "the linear programme of favourites has a solution");
    const double* values = solver.primalColumnSolution();
    return {values, values + variables_};
  }

 private:
  int variables_;
  CoinPackedMatrix matrix_{false, 0, 0};
  std::vector<double> bounds_;
};

}  // namespace

// Hanen and Munier's relaxation: s_j >= s_i + p_i + c_ij x_ij, of all successors of i and of all predecessors of j at most one
// has x = 0; the end of the step is least. x below 0.1 counts as 0 (Baechi, section 3.3).
std::vector<std::int32_t> favourite_successors(const PlacementView& view) {
  const std::vector<std::int32_t> gpus = gpus_or_all(view.machine());
  const Links links = links_of(view, gpus);
  const int ops = view.graph().ops(), first_link = ops, end = ops + static_cast<int>(links.size());
  const auto seconds = [&](int op) { return sim::seconds_of(view.duration(op, gpus[0])); };
  Programme programme(end + 1);
  std::vector<std::vector<std::pair<int, double>>> out(static_cast<std::size_t>(ops)), in(out);
  int x = first_link;
  for (const auto& [link, transfer] : links) {
    const auto [i, j] = link;
    programme.at_least(std::vector<std::pair<int, double>>{{j, 1}, {i, -1}, {x, -transfer}}, seconds(i));
    out[static_cast<std::size_t>(i)].emplace_back(x, 1);
    in[static_cast<std::size_t>(j)].emplace_back(x, 1);
    ++x;
  }
  for (int op = 0; op < ops; ++op) {
    programme.at_least(std::vector<std::pair<int, double>>{{end, 1}, {op, -1}}, seconds(op));
    for (const auto& side : {out[static_cast<std::size_t>(op)], in[static_cast<std::size_t>(op)]})
      if (side.size() > 1) programme.at_least(side, static_cast<double>(side.size()) - 1);
  }
  std::vector<double> most(static_cast<std::size_t>(end) + 1, COIN_DBL_MAX);
  std::fill(most.begin() + first_link, most.begin() + end, 1.0);
  const std::vector<double> values = programme.solve(most);
  std::vector<std::int32_t> favourite(static_cast<std::size_t>(ops), -1);
  x = first_link;
  for (const auto& [link, transfer] : links)
    if (values[static_cast<std::size_t>(x++)] < 0.1) favourite[static_cast<std::size_t>(link.first)] = link.second;
  return favourite;
}

DeviceOfGroup MSct::place(const PlacementView& view, PlacementEvaluator& evaluator) {
  const PlacementGraph groups(view);
  const std::vector<std::int32_t> favourite = favourite_successors(view);
  return place_within_memory(view, evaluator, [&](std::vector<std::int64_t> capacity) {
    return etf_schedule(view, groups, std::move(capacity), favourite).device_of_group();
  });
}

}  // namespace rehearse::policies
