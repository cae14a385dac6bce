#include "policies/search/methods.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "policies/search/pagmo_methods.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::policies {

namespace {

using MadeMethod = std::unique_ptr<SearchMethod>;

int whole(const Parameters& p, std::string_view name) { return static_cast<int>(p.number(name)); }

ParameterDeclaration whole_number(std::string name, int fallback, std::string help, double low) {
  return {.name = std::move(name),
          .fallback = static_cast<double>(fallback),
          .help = std::move(help),
          .low = low,
          .high = 10000,
          .whole = true};
}

ParameterDeclaration probability(std::string name, double fallback, std::string help) {
  return {.name = std::move(name), .fallback = fallback, .help = std::move(help), .low = 0, .high = 0.999};
}

std::vector<ParameterDeclaration> nsga2_parameters() {
  const Nsga2Options defaults;
  return {whole_number("population", defaults.population, "candidates of a generation; taken up to a multiple of four", 8),
          probability("crossover", defaults.crossover, "that two parents mix"),
          probability("mutation", defaults.mutation, "of each gene of a child")};
}

MadeMethod nsga2(const Parameters& p, const SearchSetup& setup) {
  return make_nsga2(
      {.population = (whole(p, "population") + 3) / 4 * 4, .crossover = p.number("crossover"), .mutation = p.number("mutation")},
      setup);
}

SearchEntry search_entry(std::string name, std::string help, MadeMethod (*make)(const Parameters&, const SearchSetup&),
                         std::vector<ParameterDeclaration> parameters) {
  SearchEntry made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.make = make;
  made.parameters = std::move(parameters);
  return made;
}

SearchEntry moead_entry() {
  const MoeadOptions defaults;
  const auto make = [](const Parameters& p, const SearchSetup& setup) {
    const int population = whole(p, "population");
    return make_moead({.population = population, .neighbours = std::min(MoeadOptions().neighbours, population - 1)}, setup);
  };
  return search_entry("moead", "decomposition into single objectives, differential evolution (Li and Zhang 2009; pagmo)", make,
                      {whole_number("population", defaults.population, "candidates, each with weights of its own", 8)});
}

SearchEntry random_search_entry() {
  return search_entry("random-search", "a yardstick: candidates at random, none twice",
                      [](const Parameters& p, const SearchSetup& setup) -> MadeMethod {
                        return std::make_unique<RandomSearch>(whole(p, "side_by_side"), setup);
                      },
                      {whole_number("side_by_side", 40, "candidates that are tried at once", 1)});
}

SearchEntry evolution_entry() {
  const EvolutionOptions defaults;
  const auto make = [](const Parameters& p, const SearchSetup& setup) -> MadeMethod {
    return std::make_unique<Evolution>(
        EvolutionOptions{
            .population = whole(p, "population"), .sample = whole(p, "sample"), .children = whole(p, "side_by_side")},
        setup);
  };
  return search_entry("evolution", "the oldest leave, mutants of the best of a sample come, by random weights (Real et al. 2019)",
                      make,
                      {whole_number("population", defaults.population, "candidates that may have children", 2),
                       whole_number("sample", defaults.sample, "candidates of whom the best has a child", 1),
                       whole_number("side_by_side", defaults.children, "children that are tried at once", 1)});
}

SearchEntry halving_entry() {
  const HalvingOptions defaults;
  std::vector<ParameterDeclaration> parameters = nsga2_parameters();
  parameters.push_back({.name = "factor",
                        .fallback = defaults.factor,
                        .help = "one in so many trains on, so many times longer",
                        .low = 1.1,
                        .high = 100});
  parameters.push_back(whole_number("rungs", defaults.rungs, "lengths of training, the last one the full length", 1));
  parameters.back().high = 10;
  const auto make = [](const Parameters& p, const SearchSetup& setup) -> MadeMethod {
    return std::make_unique<Halving>(HalvingOptions{.factor = p.number("factor"), .rungs = whole(p, "rungs")}, nsga2(p, setup));
  };
  SearchEntry made = search_entry("nsga2-halving", "nsga2 whose candidates train a little first, and only the best of them on",
                                  make, std::move(parameters));
  made.halves = true;
  return made;
}

}  // namespace

const std::vector<SearchEntry>& search_methods() {
  static const std::vector<SearchEntry> entries{
      search_entry("nsga2", "non-dominated sorting genetic algorithm (Deb et al. 2002; pagmo with its defaults)", nsga2,
                   nsga2_parameters()),
      moead_entry(), random_search_entry(), evolution_entry(), halving_entry()};
  return entries;
}

// Real, Aggarwal, Huang, Le, "Regularized evolution for image classifier architecture search", AAAI 2019, algorithm 1; its
// tournament by the scalarisation of Knowles, "ParEGO", IEEE TEVC 2006, section III-A, without the small linear term.

namespace {

/// So many draws without anything new, in a row, and the space counts as exhausted.
constexpr int kMostIdleDraws = 100000;

}  // namespace

std::vector<Genes> RandomSearch::next_round() {
  std::vector<Genes> fresh;
  for (int idle = 0; idle < kMostIdleDraws && fresh.size() < static_cast<std::size_t>(side_by_side_); ++idle) {
    sim::Random random(sim::Random::mix(setup_.random_key) + draws_++);
    const Genes own = known_.canonical(random_genes(setup_, random));
    if (known_.find(own) != nullptr) continue;
    known_.add(own, {});
    fresh.push_back(own);
    idle = 0;
  }
  return fresh;
}

Evolution::Evolution(const EvolutionOptions& options, const SearchSetup& setup)
    : options_(options), setup_(setup), known_(setup) {}

const Evolution::Member& Evolution::tournament(sim::Random& random) const {
  std::vector<double> weights;
  double sum = 0;
  for (std::size_t k = 0; k < setup_.objectives; ++k) sum += weights.emplace_back(random.exponential(1));
  const auto worth = [&](const Member& member) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const double range = high_[k] - low_[k];
      if (range > 0) largest = std::max(largest, weights[k] / sum * (member.objectives[k] - low_[k]) / range);
    }
    return largest;
  };
  const Member* best = nullptr;
  for (int i = 0; i < options_.sample; ++i) {
    const Member& drawn = members_[random.below(members_.size())];
    if (best == nullptr || worth(drawn) < worth(*best)) best = &drawn;
  }
  return *best;
}

Genes Evolution::child(sim::Random& random) const {
  Genes genes = tournament(random).genes;
  const std::size_t gene = random.below(genes.size());
  if (setup_.levels[gene] > 1) {
    const int other = static_cast<int>(random.below(static_cast<std::uint64_t>(setup_.levels[gene] - 1)));
    genes[gene] = other + (other >= genes[gene] ? 1 : 0);
  }
  return genes;
}

std::vector<Genes> Evolution::next_round() {
  const bool is_first = members_.empty();
  const auto wanted = static_cast<std::size_t>(is_first ? options_.population : options_.children);
  std::vector<Genes> asked;
  std::set<Genes> bred;  // a small space has fewer candidates than are wanted: each draw must be cheap until they are given up
  for (int idle = 0; idle < kMostIdleDraws && asked.size() < wanted; ++idle) {
    sim::Random random(sim::Random::mix(setup_.random_key) + rounds_++);
    const Genes own = known_.canonical(is_first ? random_genes(setup_, random) : child(random));
    // A child that is known already costs nothing: it joins the population at once.
    if (const Objectives* objectives = known_.find(own)) {
      members_.push_back({own, *objectives});
      members_.pop_front();
    } else if (bred.insert(own).second) {
      asked.push_back(own);
    }
  }
  return asked;
}

void Evolution::take(const std::vector<Genes>& asked, const std::vector<Objectives>& answers) {
  for (std::size_t i = 0; i < asked.size(); ++i) {
    known_.add(asked[i], answers[i]);
    members_.push_back({asked[i], answers[i]});
    if (members_.size() > static_cast<std::size_t>(options_.population)) members_.pop_front();
  }
  measure_front();
}

void Evolution::measure_front() {
  std::vector<Objectives> points;
  for (const Member& member : members_) points.push_back(member.objectives);
  low_.assign(setup_.objectives, std::numeric_limits<double>::infinity());
  high_.assign(setup_.objectives, -std::numeric_limits<double>::infinity());
  for (const std::size_t i : pareto_front(points))
    for (std::size_t k = 0; k < setup_.objectives; ++k) {
      low_[k] = std::min(low_[k], points[i][k]);
      high_[k] = std::max(high_[k], points[i][k]);
    }
}

// Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS 2016 (successive
// halving); Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020 (ASHA: against all that a rung has
// seen, without waiting for the others); by fronts as in Schmucker et al., "Multi-objective asynchronous successive halving",
// 2021.

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
