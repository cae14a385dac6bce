#include "policies/search/search_jobs.hpp"

#include <catch2/catch.hpp>

#include "tests/policies/search/chains.hpp"

using namespace rehearse;
using namespace rehearse::policies;

namespace {

/// Asks round by round, when all of the last one is told.
class Rounds final : public SearchMethod {
 public:
  explicit Rounds(std::vector<std::vector<Genes>> rounds) : rounds_(std::move(rounds)) {}
  std::vector<Trial> ask() override {
    if (open_ > 0 || asked_ == rounds_.size()) return {};
    std::vector<Trial> trials;
    for (const Genes& genes : rounds_[asked_]) trials.push_back({genes, 1});
    open_ = rounds_[asked_++].size();
    return trials;
  }
  void tell(const Trial&, const Objectives&) override { --open_; }

 private:
  std::vector<std::vector<Genes>> rounds_;
  std::size_t asked_ = 0, open_ = 0;
};

/// A search on four K80s and a V100 that belongs to nobody else; what it does is played to it by hand.
struct Played {
  tests::Chains chains;
  workloads::Belief belief{chains.cluster, chains.models};
  DataParallel place;
  RecommendedThreads threads;
  sim::AloneRunner truth{chains.cluster, chains.costs, belief.models(), {.name = "alone", .place = &place, .threads = &threads}};
  Rounds method;
  SearchJobs search;
  std::vector<sim::Job> jobs;  ///< that were submitted and have not ended

  Played(std::vector<std::vector<Genes>> rounds, const SearchJobsSettings& settings)
      : method(std::move(rounds)),
        search({.cluster = &chains.cluster,
                .space = chains.space.get(),
                .method = &method,
                .goals = {SearchGoal::accuracy, SearchGoal::latency},
                .truth = &truth},
               settings) {
    take();
  }
  void take() {
    while (auto job = search.next()) jobs.push_back(std::move(*job));
  }
  /// The first one ends.
  void end(double hours, double usd = 0) {
    const sim::Job job = jobs.front();
    jobs.erase(jobs.begin());
    sim::JobRecord record;
    record.job = &job;
    record.device_s = hours * 3600;
    record.cost.compute_usd = usd;
    search.on_end(record);
    take();
  }
  sim::PoolId first_pool(std::size_t job) {
    return search.configure(jobs[job], 0).ranked.front().configuration.groups.front().pool;
  }
};

// Layers, pool, workers, batch.
const Genes kOne{0, 0, 0, 0}, kOther{1, 0, 0, 0}, kTwoWorkers{0, 0, 1, 0}, kFast{0, 1, 0, 0};

double hours(const Genes& genes) { return tests::Chains().space->measure(genes, 1).gpu_hours; }
double usd(const Genes& genes) { return tests::Chains().space->measure(genes, 1).cost_usd; }

}  // namespace

TEST_CASE("jobs of a search go to the devices that are free") {
  Played played({{kOne, kOther, kTwoWorkers}}, {});
  REQUIRE(played.jobs.size() == 3);
  const std::vector<int> none{0, 0}, fast_alone{0, 1}, one_each{1, 1}, all{4, 1};
  played.search.see_free(fast_alone);
  CHECK(played.first_pool(0) == 1);
  played.search.see_free(all);
  CHECK(played.first_pool(0) == 0);
  // The first takes the last K80; the second finds none, and takes the V100.
  played.search.see_free(one_each);
  CHECK(played.first_pool(0) == 0);
  CHECK(played.first_pool(1) == 1);
  // Where nothing is free, and where the other pool does not have as many devices, the candidate's own.
  played.search.see_free(none);
  CHECK(played.first_pool(0) == 0);
  played.search.see_free(fast_alone);
  CHECK(played.first_pool(2) == 0);
  CHECK(played.search.configure(played.jobs[2], 0).ranked.size() == 1);
  Played stays({{kOne}}, {.adapts = false});
  stays.search.see_free(fast_alone);
  CHECK(stays.first_pool(0) == 0);
}

TEST_CASE("a search's budget holds what it submits") {
  const double two = hours(kOne) + hours(kOther), three = two + hours(kFast);
  // What has not ended counts as long as it takes alone.
  Played begun({{kOne, kOther, kFast}}, {.budget = {.gpu_hours = two + hours(kFast) / 2}});
  CHECK(begun.jobs.size() == 2);
  begun.end(0);
  CHECK(begun.jobs.size() == 1);  // it was over
  CHECK(Played({{kOne, kOther, kFast}}, {.budget = {.gpu_hours = three * 1.001}}).jobs.size() == 3);
  CHECK(Played({{kOne}}, {.budget = {.gpu_hours = hours(kOne) / 2}}).jobs.empty());
  // What has ended counts as the cluster had it: as long as alone, there is room for the next round; twice as long, there is not.
  for (const double times : {1.0, 2.0}) {
    Played ended({{kOne, kOther}, {kFast}}, {.budget = {.gpu_hours = three * 1.001}});
    ended.end(times * hours(kOne));
    ended.end(hours(kOther));
    CHECK(ended.jobs.size() == (times == 1 ? 1 : 0));
    CHECK(ended.search.evaluations().size() == 2);
    CHECK(ended.search.evaluations().back().gpu_hours == Approx(times * hours(kOne) + hours(kOther)));
  }
}

TEST_CASE("a search's budget in money") {
  const double all = usd(kOne) + usd(kOther);
  for (const double times : {1.0, 3.0}) {
    Played played({{kOne}, {kOther}}, {.budget = {.usd = all * 1.001}});
    played.end(hours(kOne), times * usd(kOne));
    CHECK(played.jobs.size() == (times == 1 ? 1 : 0));
  }
}
