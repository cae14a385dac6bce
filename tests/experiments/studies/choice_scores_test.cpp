#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "experiments/studies/table_policies.hpp"

namespace {

using namespace rehearse;
using policies::TableChoice;

policies::PastRun run(int workers, double time_s, double accuracy) {
  return {.model = "toy",
          .dataset = "toys",
          .instance = "vm",
          .workers = workers,
          .batch_size = 8.0 * workers,
          .samples = 1000,
          .epochs = 10,
          .time_s = time_s,
          .accuracy = accuracy,
          .price_usd_per_hour = static_cast<double>(workers)};
}

// Money: 1 worker $1.00 (3600 s), 2 workers $1.111 (2000 s), 4 workers $1.333 (1200 s).
policies::RunTable three() { return policies::RunTable({run(1, 3600, 0.9), run(2, 2000, 0.88), run(4, 1200, 0.8)}, {}); }

// Under a floor of 0.7 and a deadline of 2400 s two workers ($1.111) are best, four cost 1.333/1.111 = 1.2 times as much, one is
// too late. Chosen in four repetitions: two, four, one, nothing. Nothing: 1 of 4; violated: 1 of the 3 choices; regrets 0 and
// 20 %: their median 10 %, their 90 % quantile 18 %. Against always four: 100 (1 - 1.111/1.333) = 16.67 %, and 0 %; mean 8.33 %,
// over 2 of the 4.
TEST_CASE("violations, regret and saving of four choices") {
  const policies::RunTable table = three();
  const std::vector<policies::TableJob> jobs{{0, {0.7, 2400}}};
  const scenarios::TableChoices choices{{TableChoice(1)}, {TableChoice(2)}, {TableChoice(0)}, {std::nullopt}};
  const scenarios::TableChoices always_four(4, {TableChoice(2)});
  const scenarios::ChoiceScore s = scenarios::score(table, jobs, choices);
  CHECK(s.none == Approx(25));
  CHECK(s.violated == Approx(100.0 / 3));
  CHECK(s.regret_median == Approx(10));
  CHECK(s.regret_p90 == Approx(18));
  const scenarios::ChoiceSaving on_four = scenarios::saving(table, jobs, choices, always_four);
  CHECK(on_four.percent.mean == Approx(100.0 / 12));
  CHECK(on_four.compared == Approx(50));
}

// Two jobs in one repetition: $1 instead of $1.333, and $1.333 instead of $1.333: 100 (1 - 2.333/2.667) = 12.5 %.
TEST_CASE("the saving of a repetition is of all its money") {
  const policies::RunTable table = three();
  const std::vector<policies::TableJob> jobs{{0, {0, 4000}}, {0, {0, 1500}}};
  const scenarios::ChoiceSaving s =
      scenarios::saving(table, jobs, {{TableChoice(0), TableChoice(2)}}, {{TableChoice(2), TableChoice(2)}});
  CHECK(s.percent.mean == Approx(12.5));
  CHECK(s.compared == 100);
}

TEST_CASE("past runs that are shared: as many of each task, drawn for each task anew, a smaller share a part of a larger one") {
  std::vector<policies::PastRun> runs;
  for (int task = 1; task <= 6; ++task)
    for (int workers = 1; workers <= 20; ++workers) {
      runs.push_back(run(workers, 1000, 0.9));
      runs.back().samples = 1000 * task;
    }
  const policies::RunTable table(runs, {});
  const auto drawn = [&](double fraction, std::size_t task) {
    const policies::MeasuredCells cells = scenarios::shared_history(table, {.fraction = fraction, .seed = 3});
    std::set<std::size_t> options;
    for (std::size_t option = 0; option < table.options().size(); ++option)
      if (cells.has(task, option)) options.insert(option);
    return options;
  };
  std::set<std::set<std::size_t>> different;
  for (std::size_t task = 0; task < 6; ++task) {
    const auto few = drawn(0.2, task), more = drawn(0.5, task);
    CHECK(few.size() == 4);
    CHECK(more.size() == 10);
    CHECK(std::includes(more.begin(), more.end(), few.begin(), few.end()));
    different.insert(few);
  }
  CHECK(different.size() == 6);
  CHECK(drawn(1, 0).size() == 20);
}

TEST_CASE("where nothing is chosen there is nothing to divide by") {
  const policies::RunTable table = three();
  const std::vector<policies::TableJob> jobs{{0, {0.7, 2400}}};
  const scenarios::TableChoices none{{std::nullopt}};
  const scenarios::ChoiceScore s = scenarios::score(table, jobs, none);
  CHECK(s.none == 100);
  CHECK(std::isnan(s.violated));
  CHECK(std::isnan(s.regret_median));
  CHECK(std::isnan(scenarios::saving(table, jobs, none, none).percent.mean));
}

}  // namespace
