// Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016 (successive
// halving); Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020 (ASHA: against all that a rung has
// seen, without waiting for the others); by fronts as in Schmucker et al., "Multi-objective asynchronous successive halving",
// 2021.
#include "policies/search/halving.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

bool is_on_front(const Objectives& point, const std::vector<Objectives>& all) {
  return std::none_of(all.begin(), all.end(), [&](const Objectives& other) { return dominates(other, point); });
}

}  // namespace

Halving::Halving(const HalvingOptions& options, std::unique_ptr<SearchMethod> inner)
    : options_(options), inner_(std::move(inner)), seen_(static_cast<std::size_t>(options.rungs)) {}

double Halving::share(std::size_t rung) const {
  return std::pow(options_.factor, static_cast<double>(rung + 1) - static_cast<double>(seen_.size()));
}

std::vector<Trial> Halving::ask() {
  std::vector<Trial> trials = std::move(promoted_);
  promoted_.clear();
  if (open_ > 0) return trials;
  generation_.clear();
  shown_.clear();
  for (const Trial& trial : inner_->ask()) {
    rung_[trial.genes] = 0;
    trials.push_back({.genes = trial.genes, .share = share(0)});
    ++open_;
  }
  return trials;
}

void Halving::tell(const Trial& trial, const Objectives& objectives) {
  const auto found = rung_.find(trial.genes);
  sim::check(found != rung_.end(), "a search is told what it has asked");
  const std::size_t rung = found->second;
  seen_[rung].push_back(objectives);
  if (rung > 0) {
    if (is_on_front(objectives, seen_[rung])) promote(trial.genes, rung);
    return;
  }
  generation_.push_back(trial.genes);
  shown_.push_back(objectives);
  if (--open_ == 0) end_generation();
}

void Halving::promote(const Genes& genes, std::size_t rung) {
  if (rung + 1 == seen_.size()) return;
  rung_[genes] = rung + 1;
  promoted_.push_back({.genes = genes, .share = share(rung + 1)});
}

/// Those with the most room (crowding distance) go on where more are promising than may.
void Halving::end_generation() {
  std::vector<std::size_t> promising;
  for (std::size_t i = 0; i < shown_.size(); ++i)
    if (is_on_front(shown_[i], seen_[0])) promising.push_back(i);
  const std::vector<double> room = crowding_distances(shown_, promising);
  std::vector<std::size_t> order(promising.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return room[a] > room[b]; });
  const auto places = static_cast<std::size_t>(std::ceil(static_cast<double>(shown_.size()) / options_.factor));
  order.resize(std::min(order.size(), places));
  for (const std::size_t i : order) promote(generation_[promising[i]], 0);
  for (std::size_t i = 0; i < generation_.size(); ++i) inner_->tell({.genes = generation_[i]}, shown_[i]);
}

}  // namespace rehearse::policies
