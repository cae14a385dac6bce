// Deb, Pratap, Agarwal, Meyarivan, "A fast and elitist multiobjective genetic algorithm: NSGA-II", IEEE TEVC 2002. Li and Zhang,
// "Multiobjective optimization problems with complicated Pareto sets, MOEA/D and NSGA-II", IEEE TEVC 2009 (the variant with
// differential evolution). Biscani and Izzo, "A parallel global multiobjective framework for optimization: pagmo", JOSS 2020.
//
// A generation's course follows from its population and its seed. So it is simply begun: where it needs a fitness that is not
// known it is given up, the trial is asked, and when the answer is there it begins again.
#include "policies/search/pagmo_methods.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <pagmo/algorithm.hpp>
#include <pagmo/algorithms/moead.hpp>
#include <pagmo/algorithms/nsga2.hpp>
#include <pagmo/bfe.hpp>
#include <pagmo/population.hpp>
#include <pagmo/problem.hpp>

#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"

namespace rehearse::policies {

namespace {

/// So many generations in a row that ask for nothing new end a search.
constexpr int kMostIdleGenerations = 1000;

/// Thrown through pagmo, out of a generation that cannot go on.
struct Unanswered {
  std::vector<Genes> genes;
};

struct Shared {
  SearchSetup setup;
  KnownTrials known;
  bool whole_genes = true;
  std::vector<std::size_t> free;  ///< genes with a choice: pagmo is told of no others

  Shared(const SearchSetup& of, bool whole) : setup(of), known(of), whole_genes(whole) {
    for (std::size_t i = 0; i < setup.levels.size(); ++i)
      if (setup.levels[i] > 1) free.push_back(i);
    sim::check(!free.empty(), "a space that is searched has a choice");
  }
  Genes genes_of(const double* numbers) const {
    Genes genes(setup.levels.size(), 0);
    for (const std::size_t gene : free) genes[gene] = static_cast<int>(std::floor(*numbers++));
    return genes;
  }
};

pagmo::vector_double answers(const Shared& shared, const std::vector<Genes>& genes) {
  if (std::vector<Genes> unknown = shared.known.unknown(genes); !unknown.empty()) throw Unanswered{std::move(unknown)};
  pagmo::vector_double all;
  for (const Genes& own : genes) {
    const Objectives& objectives = *shared.known.find(shared.known.canonical(own));
    all.insert(all.end(), objectives.begin(), objectives.end());
  }
  return all;
}

/// pagmo wants its problems default-constructible.
struct GeneProblem {
  std::shared_ptr<const Shared> shared;

  pagmo::vector_double fitness(const pagmo::vector_double& x) const { return answers(*shared, {shared->genes_of(x.data())}); }
  pagmo::vector_double::size_type get_nobj() const { return shared ? shared->setup.objectives : 1; }
  pagmo::vector_double::size_type get_nix() const { return shared && shared->whole_genes ? shared->free.size() : 0; }
  std::pair<pagmo::vector_double, pagmo::vector_double> get_bounds() const {
    if (!shared) return {{0}, {1}};
    pagmo::vector_double low, high;
    for (const std::size_t gene : shared->free) {
      const int levels = shared->setup.levels[gene];
      low.push_back(0);
      high.push_back(shared->whole_genes ? levels - 1 : std::nextafter(levels, 0));
    }
    return {low, high};
  }
};

/// A whole generation at once.
struct GenerationFitness {
  std::shared_ptr<const Shared> shared;

  pagmo::vector_double operator()(const pagmo::problem&, const pagmo::vector_double& all) const {
    std::vector<Genes> genes;
    for (std::size_t i = 0; i < all.size(); i += shared->free.size()) genes.push_back(shared->genes_of(&all[i]));
    return answers(*shared, genes);
  }
};

unsigned seed_of(std::uint64_t key) { return static_cast<unsigned>(sim::Random::mix(key) >> 32); }

class PagmoSearch final : public RoundMethod {
 public:
  using Algorithm = std::function<pagmo::algorithm(unsigned seed, const std::shared_ptr<const Shared>&)>;

  PagmoSearch(const SearchSetup& setup, bool whole_genes, int population, Algorithm algorithm)
      : shared_(std::make_shared<Shared>(setup, whole_genes)),
        population_size_(static_cast<pagmo::population::size_type>(population)),
        algorithm_(std::move(algorithm)) {}

 private:
  std::vector<Genes> next_round() override {
    for (int idle = 0; idle < kMostIdleGenerations; ++idle) {
      try {
        pass_generation();
      } catch (Unanswered& unanswered) {
        return std::move(unanswered.genes);
      }
    }
    return {};
  }
  void take(const std::vector<Genes>& asked, const std::vector<Objectives>& answers) override {
    for (std::size_t i = 0; i < asked.size(); ++i) shared_->known.add(asked[i], answers[i]);
  }

  void pass_generation() {
    const unsigned seed = seed_of(shared_->setup.random_key + generation_);
    if (population_)
      population_ = algorithm_(seed, shared_).evolve(*population_);
    else
      population_.emplace(pagmo::problem(GeneProblem{shared_}), pagmo::bfe(GenerationFitness{shared_}), population_size_, seed);
    ++generation_;
  }

  std::shared_ptr<Shared> shared_;
  pagmo::population::size_type population_size_;
  Algorithm algorithm_;
  std::optional<pagmo::population> population_;
  std::uint64_t generation_ = 0;  ///< that pass_generation() passes next
};

}  // namespace

std::unique_ptr<SearchMethod> make_nsga2(const Nsga2Options& options, const SearchSetup& setup) {
  const auto algorithm = [options](unsigned seed, const std::shared_ptr<const Shared>& shared) {
    pagmo::nsga2 nsga2(1, options.crossover, 10, options.mutation, 50, seed);
    nsga2.set_bfe(pagmo::bfe(GenerationFitness{shared}));
    return pagmo::algorithm(std::move(nsga2));
  };
  return std::make_unique<PagmoSearch>(setup, true, options.population, algorithm);
}

std::unique_ptr<SearchMethod> make_moead(const MoeadOptions& options, const SearchSetup& setup) {
  const auto algorithm = [options](unsigned seed, const std::shared_ptr<const Shared>&) {
    return pagmo::algorithm(pagmo::moead(1, "low discrepancy", "tchebycheff",
                                         static_cast<pagmo::population::size_type>(options.neighbours), options.crossover, 0.5,
                                         20, 0.9, 2, true, seed));
  };
  return std::make_unique<PagmoSearch>(setup, false, options.population, algorithm);
}

}  // namespace rehearse::policies
