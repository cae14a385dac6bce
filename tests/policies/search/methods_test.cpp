#include "policies/search/methods.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "policies/search/search_method.hpp"
#include "sim/base/errors.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

constexpr int kSide = 12;

/// Two objectives of four genes: accuracy grows with the first two, latency with them too, and the others are in its way. The
/// last gene means nothing.
class ToySpace final : public SearchSpace {
 public:
  explicit ToySpace(int side = kSide) {
    for (const char* name : {"a", "b", "c", "d"}) {
      genes_.push_back({.name = name, .levels = {}});
      for (int level = 0; level < side; ++level) genes_.back().levels.push_back(std::to_string(level));
    }
  }
  const std::vector<Gene>& genes() const override { return genes_; }
  Genes canonical(const Genes& genes) const override { return {genes[0], genes[1], genes[2], 0}; }
  std::string name(const Genes& genes) const override { return levels_text(*this, genes); }
  Measures measure(const Genes& genes, double share) const override {
    const double use = genes[0] + genes[1], harm = std::abs(genes[2] - 7);
    return {.accuracy = (1 - std::exp(-use / 10)) * (1 - 0.05 * harm) * std::sqrt(share),
            .latency_s = 1 + use * use + 3.0 * genes[1] + harm,
            .training_s = 3600,
            .cost_usd = 2,
            .gpu_hours = 1,
            .fits = genes[0] < kSide - 1};
  }

 private:
  std::vector<Gene> genes_;
};

const std::vector<SearchGoal> kGoals{SearchGoal::accuracy, SearchGoal::latency};

std::vector<Evaluation> searched(const std::string& method, std::uint64_t key, double evaluations) {
  const ToySpace space;
  const SearchEntry& entry = *find_strategy(search_methods(), method);
  const auto made = entry.make(Parameters(entry.parameters, {}), setup_of(space, kGoals.size(), key));
  return run_search(space, *made, kGoals, {.evaluations = evaluations});
}

/// More is asked than a space of 2 x 2 x 2 different candidates has.
std::vector<Evaluation> exhausted(const SearchEntry& entry) {
  const ToySpace space(2);
  const auto made = entry.make(Parameters(entry.parameters, {}), setup_of(space, kGoals.size(), 1));
  return run_search(space, *made, kGoals, {.evaluations = 1000});
}

double volume(const std::vector<Evaluation>& search) { return hypervolume(full_objectives(search, kGoals), Objectives{1, 300}); }

}  // namespace

TEST_CASE("a space of fewer candidates than a population is searched to its end, and soon") {
  for (const SearchEntry& entry : search_methods()) {
    INFO(entry.name);
    std::set<Genes> full;
    for (const Evaluation& evaluation : exhausted(entry))
      if (evaluation.trial.share == 1) full.insert(evaluation.trial.genes);
    if (entry.halves)
      CHECK(!full.empty());  // only the best of a few train in full
    else
      CHECK(full.size() == 8);
  }
}

TEST_CASE("every search method keeps to its budget, asks nothing twice and is its seed's") {
  for (const SearchEntry& entry : search_methods()) {
    INFO(entry.name);
    const std::vector<Evaluation> search = searched(entry.name, 5, 200);
    REQUIRE(search.size() >= 150);
    CHECK(search.back().evaluations <= 200 * (1 + 1e-12));
    CHECK(search.back().evaluations > 190);
    std::map<Genes, double> share;
    for (const Evaluation& e : search) {
      CHECK(e.trial.genes[3] == 0);  // canonical
      for (const int level : e.trial.genes) CHECK((level >= 0 && level < kSide));
      CHECK(e.trial.share > share[e.trial.genes]);
      CHECK(e.share_before == share[e.trial.genes]);
      share[e.trial.genes] = e.trial.share;
      if (!entry.halves) CHECK(e.trial.share == 1);
    }
    const std::vector<Evaluation> again = searched(entry.name, 5, 200), other = searched(entry.name, 6, 200);
    REQUIRE(again.size() == search.size());
    for (std::size_t i = 0; i < search.size(); ++i) CHECK(again[i].trial == search[i].trial);
    CHECK_FALSE((other[0].trial == search[0].trial && other[1].trial == search[1].trial));
  }
}

TEST_CASE("genetic search beats random search at equal evaluations") {
  double random = 0, nsga2 = 0, moead = 0, evolution = 0;
  for (std::uint64_t key = 1; key <= 5; ++key) {
    random += volume(searched("random-search", key, 150));
    nsga2 += volume(searched("nsga2", key, 150));
    moead += volume(searched("moead", key, 150));
    evolution += volume(searched("evolution", key, 150));
  }
  CHECK(nsga2 > random);
  CHECK(moead > random);
  CHECK(evolution > random);
}

TEST_CASE("random search comes to the end of a space") {
  // 12^3 candidates: what the last gene says is no difference.
  CHECK(searched("random-search", 1, 1e6).size() == kSide * kSide * kSide);
}

namespace {

/// Asks six candidates, then one more; what it is told stays to be seen.
class SixAndOne final : public RoundMethod {
 public:
  explicit SixAndOne(std::vector<Objectives>& told) : told_(told) {}

 private:
  std::vector<Genes> next_round() override {
    if (told_.empty()) return {{0}, {1}, {2}, {3}, {4}, {5}};
    return told_.size() == 6 ? std::vector<Genes>{{6}} : std::vector<Genes>();
  }
  void take(const std::vector<Genes>&, const std::vector<Objectives>& answers) override {
    told_.insert(told_.end(), answers.begin(), answers.end());
  }

  std::vector<Objectives>& told_;
};

std::vector<Trial> trials(const std::vector<int>& genes, double share) {
  std::vector<Trial> all;
  for (const int gene : genes) all.push_back({{gene}, share});
  return all;
}

}  // namespace

TEST_CASE("halving by hand") {
  std::vector<Objectives> told;
  Halving halving({.factor = 2, .rungs = 3}, std::make_unique<SixAndOne>(told));
  // Rung 0 of three, factor 2: a quarter of the training. In whatever order the answers come.
  CHECK(halving.ask() == trials({0, 1, 2, 3, 4, 5}, 0.25));
  const std::vector<Objectives> shown{{1, 5}, {2, 4}, {3, 3.9}, {5, 1}, {7, 7}, {9, 9}};
  for (const int i : {5, 0, 3, 1, 4, 2}) {
    CHECK(told.empty());
    halving.tell({{i}, 0.25}, shown[static_cast<std::size_t>(i)]);
  }
  // Nobody dominates 0, 1, 2 and 3; three of six go on: the ends, then the one with more room. Over ranges 4 and 4, 1 has
  // (3 - 1) / 4 + (5 - 3.9) / 4 = 0.775, and 2 has (5 - 2) / 4 + (4 - 1) / 4 = 1.5.
  CHECK(told == shown);
  // The inner method's next round does not wait for them.
  std::vector<Trial> next = trials({0, 3, 2}, 0.5);
  next.push_back({{6}, 0.25});
  const std::vector<Trial> asked = halving.ask();
  CHECK(std::is_permutation(asked.begin(), asked.end(), next.begin(), next.end()));
  // The first of a rung is the best one in two of it.
  halving.tell({{2}, 0.5}, {4, 4});
  CHECK(halving.ask() == trials({2}, 1));
  // The best of two is 3, which goes on; of three two, 3 and 2, are there already; 0 is behind them.
  halving.tell({{3}, 0.5}, {3, 3});
  CHECK(halving.ask() == trials({3}, 1));
  halving.tell({{0}, 0.5}, {5, 5});
  CHECK(halving.ask().empty());
  // Four of seven: 6 is dominated by 1, who finds a place now.
  halving.tell({{6}, 0.25}, {2.5, 4.5});
  CHECK(told.size() == 7);
  CHECK(halving.ask() == trials({1}, 0.5));
  // Equal to 3, which has gone on.
  halving.tell({{1}, 0.5}, {3, 3});
  CHECK(halving.ask().empty());
}

TEST_CASE("a search's ledger by hand") {
  SearchLedger ledger({.evaluations = 2.5, .gpu_hours = 20});
  const Measures ten{.cost_usd = 4, .gpu_hours = 10};
  // A third of ten hours; then the other two thirds; half of ten; what does not fit costs an evaluation, no time.
  CHECK(ledger.enter({{0}, 0.25}, ten)->gpu_hours == 2.5);
  const auto second = ledger.enter({{0}, 1}, ten);
  CHECK(second->share_before == 0.25);
  CHECK(second->gpu_hours == 10);
  CHECK(second->evaluations == 1);
  CHECK(ledger.usd() == 4);
  CHECK(ledger.enter({{1}, 1}, {.gpu_hours = 10, .fits = false})->evaluations == 2);
  CHECK_FALSE(ledger.enter({{2}, 1}, ten));  // a third evaluation of 2.5
  CHECK(ledger.enter({{2}, 0.5}, ten)->gpu_hours == 15);
  SearchLedger dear({.gpu_hours = 12});
  CHECK(dear.enter({{0}, 1}, ten));
  CHECK_FALSE(dear.enter({{1}, 1}, ten));
  SearchLedger poor({.usd = 7});
  CHECK(poor.enter({{0}, 1}, ten));
  CHECK_FALSE(poor.enter({{1}, 1}, ten));
}

TEST_CASE("objectives are all to be small, and what does not fit is worst") {
  const Measures m{.accuracy = 0.75, .latency_s = 0.01, .memory_bytes = 5, .training_s = 6, .cost_usd = 7, .energy_j = 8};
  const std::vector<SearchGoal> all{SearchGoal::accuracy,      SearchGoal::latency, SearchGoal::memory,
                                    SearchGoal::training_time, SearchGoal::cost,    SearchGoal::energy};
  CHECK(objectives_of(m, all) == Objectives{0.25, 0.01, 5, 6, 7, 8});
  Measures large = m;
  large.fits = false;
  CHECK(dominates(objectives_of(m, all), objectives_of(large, all)));
  CHECK(full_objectives(
            std::vector<Evaluation>{
                {.trial = {{0}, 1}, .measures = m}, {.trial = {{1}, 0.5}, .measures = m}, {.trial = {{2}, 1}, .measures = large}},
            all)
            .size() == 1);
}
