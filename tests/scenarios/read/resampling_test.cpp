#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "experiments/run/chance.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

// Three days: two jobs on the first, none on the second, one on the third.
const std::string kDays = R"({ "seed": 5, "repetitions": 40, "resample": "blocks",
  "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "job_id": "a", "gpus": 1, "duration_s": 60, "submit_s": 1000 },
            { "job_id": "b", "gpus": 1, "duration_s": 60, "submit_s": 1500 },
            { "job_id": "c", "gpus": 1, "duration_s": 60, "submit_s": 174800 } ],
  "policies": [ { "name": "fifo" }, { "name": "easy", "queue": "easy" } ] })";

std::unique_ptr<scenarios::Scenario> load(const std::string& text) {
  const TemporaryFolder folder;
  return scenarios::load_scenario(folder.write("s.json", text), {});
}

}  // namespace

TEST_CASE("repetitions draw days of arrivals, whole and at their time of day") {
  const auto scenario = load(kDays);
  CHECK(scenario->redraws_jobs());
  double jobs = 0;
  std::set<std::size_t> sizes;
  for (int repetition = 0; repetition < 40; ++repetition) {
    const std::vector<sim::Job> drawn = scenario->jobs_of(repetition);
    std::set<std::string> names;
    for (std::size_t j = 0; j < drawn.size(); ++j) {
      CHECK(names.insert(drawn[j].name).second);
      if (j > 0) CHECK(drawn[j - 1].submit_s <= drawn[j].submit_s);
      const std::string place = drawn[j].name.substr(2);
      const double begins_s = 1000 + 86400 * std::stod(place);  // blocks begin with the first submission
      // 174,800 is 1,000 s after the beginning of the third day.
      const double offset_s = drawn[j].name[0] == 'a' ? 0 : drawn[j].name[0] == 'b' ? 500 : 1000;
      CHECK(drawn[j].submit_s == Approx(begins_s + offset_s));
      if (drawn[j].name[0] == 'a')
        CHECK(std::any_of(drawn.begin(), drawn.end(), [&](const sim::Job& o) { return o.name == "b@" + place; }));
    }
    // The same for every policy, and again.
    const std::vector<sim::Job> again = scenario->jobs_of(repetition);
    REQUIRE(again.size() == drawn.size());
    for (std::size_t j = 0; j < drawn.size(); ++j) CHECK(again[j].name == drawn[j].name);
    jobs += static_cast<double>(drawn.size());
    sizes.insert(drawn.size());
  }
  // As many jobs as the trace on average: 3; of one day 2, 0 or 1 (variance 2/3), of three 2: 40 repetitions have sqrt(2 / 40).
  CHECK(jobs / 40 == Approx(3).margin(3.5 * std::sqrt(2.0 / 40)));
  CHECK(sizes.size() > 2);
}

TEST_CASE("without resample a repetition has the scenario's jobs") {
  const auto scenario = load(with(kDays, R"("resample": "blocks",)", ""));
  CHECK_FALSE(scenario->redraws_jobs());
  CHECK(scenario->jobs_of(7).size() == 3);
}

TEST_CASE("what cannot be resampled is refused") {
  const TemporaryFolder folder;
  CHECK_THAT(complaints(folder, with(kDays, R"("resample": "blocks")", R"("resample": "blocks", "resample_block_s": 604800)")),
             Catch::Contains("/resample:") && Catch::Contains("jobs over more than one block"));
  CHECK_THAT(complaints(folder, with(kDays, R"("submit_s": 1500 })", R"("submit_s": 1500, "after": ["a"] })")),
             Catch::Contains("no jobs that wait for others"));
  CHECK_THAT(complaints(folder, with(kDays, R"("resample": "blocks")", R"("resample_block_s": 86400)")),
             Catch::Contains("/resample_block_s"));
}

TEST_CASE("what an interval is over is told") {
  using report::Population;
  const auto terms = [](const std::string& text) { return verdict_terms(*load(text)); };
  // Jobs of fixed length know no noise; blocks are drawn: the largest has two of three jobs if all three days are drawn.
  const report::VerdictTerms blocks = terms(kDays);
  CHECK(blocks.population == Population::workload);
  CHECK_FALSE(blocks.is_exact);
  const std::string same_jobs = with(kDays, R"("resample": "blocks",)", "");
  CHECK(terms(same_jobs).population == Population::none);
  CHECK(terms(same_jobs).is_exact);
  const std::string trained = with(same_jobs, R"("job_id": "a", "gpus": 1, "duration_s": 60)",
                                   R"("job_id": "a", "model": "resnet18", "dataset": "cifar10", "epochs": 1)");
  CHECK(terms(trained).population == Population::noise);
  // One model has one job of three, two others of fixed length arrive on two days.
  CHECK(terms(trained).unit_share == Approx(1.0 / 3));
  CHECK(terms(with(trained, R"("seed": 5,)", R"("seed": 5, "world": { "model_error": 0 },)")).is_exact);
  CHECK(terms(with(same_jobs, R"("seed": 5,)", R"("seed": 5, "failures": { "mtbf_s": 1e5 },)")).population == Population::noise);
  const std::string generated = R"({ "repetitions": 1, "world": { "model_error": 0 },
    "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 2 } ] },
    "jobs": [ { "generate": "mixed-cnn-rnn", "count": 4 } ], "policies": [ "manual", "oracle" ], "baseline": "oracle" })";
  CHECK(terms(generated).is_exact);               // for the jobs of that one repetition
  CHECK(terms(generated).reference == "manual");  // a yardstick measures, and is not kept up with
  const std::string twice = with(generated, R"("repetitions": 1)", R"("repetitions": 2)");
  CHECK(terms(twice).population == Population::workload);
  CHECK_FALSE(terms(twice).is_exact);
  CHECK(terms(with(twice, R"("world": { "model_error": 0 },)", "")).population == Population::both);
}

TEST_CASE("the reference is fixed in the scenario") {
  const TemporaryFolder folder;
  const std::string text = with(kDays, R"("seed": 5)", R"("seed": 5, "reference": "easy")");
  CHECK(load(text)->reference == "easy");
  CHECK(load(kDays)->reference == "fifo");
  CHECK_THAT(complaints(folder, with(text, R"("reference": "easy")", R"("reference": "eazy")")),
             Catch::Contains("/reference") && Catch::Contains("did you mean \"easy\""));
  CHECK_THAT(complaints(folder, with(with(text, R"("reference": "easy")", R"("reference": "o")"), R"("policies": [ )",
                                     R"("policies": [ { "name": "o", "queue": "oracle-sjf" }, )")),
             Catch::Contains("a listed policy that is no yardstick"));
}
