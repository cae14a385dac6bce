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

Halving::Halving(const HalvingOptions& options, std::unique_ptr<SearchMethod> inner)
    : options_(options), inner_(std::move(inner)), rungs_(static_cast<std::size_t>(options.rungs)) {}

double Halving::share(std::size_t rung) const {
  return std::pow(options_.factor, static_cast<double>(rung + 1) - static_cast<double>(rungs_.size()));
}

std::vector<Trial> Halving::ask() {
  std::vector<Trial> trials = std::move(promoted_);
  promoted_.clear();
  if (open_ > 0) return trials;
  generation_ = rungs_[0].genes.size();
  for (const Trial& trial : inner_->ask()) {
    rung_of_[trial.genes] = 0;
    trials.push_back({.genes = trial.genes, .share = share(0)});
    ++open_;
  }
  return trials;
}

void Halving::tell(const Trial& trial, const Objectives& objectives) {
  const auto found = rung_of_.find(trial.genes);
  sim::check(found != rung_of_.end(), "a search is told what it has asked");
  const std::size_t rung = found->second;
  rungs_[rung].genes.push_back(trial.genes);
  rungs_[rung].shown.push_back(objectives);
  if (rung == 0 && --open_ > 0) return;
  promote_best(rung);
  if (rung > 0) return;
  for (std::size_t i = generation_; i < rungs_[0].genes.size(); ++i)
    inner_->tell({.genes = rungs_[0].genes[i]}, rungs_[0].shown[i]);
}

void Halving::promote_best(std::size_t rung) {
  if (rung + 1 == rungs_.size()) return;
  Rung& on = rungs_[rung];
  auto places = static_cast<std::size_t>(std::ceil(static_cast<double>(on.genes.size()) / options_.factor));
  for (const std::vector<std::size_t>& front : non_dominated_fronts(on.shown)) {
    const std::vector<double> room = crowding_distances(on.shown, front);
    std::vector<std::size_t> order(front.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return room[a] > room[b]; });
    for (const std::size_t i : order) {
      if (places-- == 0) return;
      const Genes& genes = on.genes[front[i]];
      if (rung_of_[genes] > rung || !on.gone_on.insert(on.shown[front[i]]).second) continue;
      rung_of_[genes] = rung + 1;
      promoted_.push_back({.genes = genes, .share = share(rung + 1)});
    }
  }
}

}  // namespace rehearse::policies
