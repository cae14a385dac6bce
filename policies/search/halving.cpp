// Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016 (successive
// halving); ranked by fronts as Salinas et al., "A multi-objective perspective on jointly tuning hardware and hyperparameters",
// 2021, section 3.
#include "policies/search/halving.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

Halving::Halving(const HalvingOptions& options, std::unique_ptr<SearchMethod> inner)
    : options_(options), inner_(std::move(inner)) {}

double Halving::share() const { return std::pow(options_.factor, rung_ + 1 - options_.rungs); }

std::vector<Trial> Halving::ask() {
  if (climbing_.empty()) {
    generation_ = inner_->ask();
    shown_.assign(generation_.size(), {});
    climbing_.resize(generation_.size());
    std::iota(climbing_.begin(), climbing_.end(), std::size_t{0});
    rung_ = 0;
  }
  std::vector<Trial> trials;
  for (const std::size_t i : climbing_) trials.push_back({.genes = generation_[i].genes, .share = share()});
  return trials;
}

void Halving::tell(std::span<const Objectives> answers) {
  sim::check(answers.size() == climbing_.size(), "a search is told as much as it asked");
  for (std::size_t i = 0; i < climbing_.size(); ++i) shown_[climbing_[i]] = answers[i];
  if (++rung_ < options_.rungs)
    promote();
  else
    climbing_.clear();
  if (climbing_.empty()) inner_->tell(shown_);
}

void Halving::promote() {
  std::vector<Objectives> points;
  for (const std::size_t i : climbing_) points.push_back(shown_[i]);
  const auto places = static_cast<std::size_t>(std::ceil(static_cast<double>(climbing_.size()) / options_.factor));
  std::vector<std::size_t> best;
  for (const std::vector<std::size_t>& front : non_dominated_fronts(points)) {
    const std::vector<double> room = crowding_distances(points, front);
    std::vector<std::size_t> order(front.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return room[a] > room[b]; });
    for (const std::size_t i : order)
      if (best.size() < places) best.push_back(climbing_[front[i]]);
  }
  std::sort(best.begin(), best.end());
  climbing_ = std::move(best);
}

}  // namespace rehearse::policies
