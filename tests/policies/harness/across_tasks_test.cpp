#include "policies/harness/across_tasks.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using namespace rehearse::policies;

namespace {

/// Tasks of 1,000, 2,000, ... samples; each has options of 1 to 16 workers and batches of 16 or 256. A worker-second trains fewer
/// samples the more workers there are, more in large batches; accuracy falls with the global batch.
/// `against`: every second task's times go the other way with workers, batch and instance.
RunTable tasks_alike(int tasks, bool against = false) {
  std::vector<PastRun> runs;
  for (int task = 1; task <= tasks; ++task)
    for (int workers = 1; workers <= 16; workers *= 2)
      for (const double batch : {16.0, 256.0})
        for (const char* instance : {"small", "large"}) {
          PastRun run{.model = "toy",
                      .dataset = "toys",
                      .instance = instance,
                      .workers = workers,
                      .batch_size = batch * workers,
                      .samples = 1000.0 * task,
                      .epochs = 10};
          const bool is_large = run.instance == "large";
          const double way = against && task % 2 == 0 ? -1 : 1;
          run.time_s =
              run.samples / 10 * std::pow(std::pow(workers, -0.7) * std::pow(batch / 16, -0.3) / (is_large ? 1.9 : 1), way);
          const double odds = 3 - 0.3 * std::log(run.batch_size) + 0.1 * task;
          run.accuracy = 1 / (1 + std::exp(-odds));
          run.price_usd_per_hour = workers * (is_large ? 2 : 1);
          runs.push_back(run);
        }
  return RunTable(runs, {});
}

double largest_time_error(const RunTable& table, const TaskModel& model, std::size_t task) {
  double largest = 0;
  for (std::size_t option = 0; option < table.options().size(); ++option)
    largest =
        std::max(largest, std::abs(model.foresee(task, option).log_time.mean - std::log(table.outcome(task, option)->time_s)));
  return largest;
}

TaskSearch search_of(const RunTable& table, std::size_t runs, std::uint64_t key) {
  TaskSearch search{.runs = runs};
  for (std::size_t task = 0; task < table.tasks().size(); ++task) {
    search.wanted.push_back({task, {.target_accuracy = 0.6, .deadline_s = table.outcome(task, 0)->time_s / 2}});
    search.random_keys.push_back(key + task);
  }
  return search;
}

}  // namespace

TEST_CASE("rows of another task help: together their times are foreseen from one run, apart they are not") {
  const RunTable table = tasks_alike(2);
  TaskModel together(table, TaskTransfer::together), apart(table, TaskTransfer::apart);
  for (TaskModel* model : {&together, &apart}) {
    for (std::size_t option = 0; option < table.options().size(); ++option) model->see(0, option);
    model->see(1, 0);
  }
  CHECK(largest_time_error(table, together, 1) < 0.1);
  CHECK(largest_time_error(table, apart, 1) > 0.5);
  const TaskModel::Foreseen near = together.foresee(1, 7), far = apart.foresee(1, 7);
  CHECK(near.log_time.deviation < 0.3 * far.log_time.deviation);
  CHECK(near.log_odds.deviation < far.log_odds.deviation);
}

TEST_CASE("a foretold run is a held-out error, by hand") {
  Foretold narrow, wide;
  narrow.add({.mean = 0, .deviation = 1}, 2);  // -2^2/2 - log 1
  wide.add({.mean = 0, .deviation = 2}, 2);    // -1^2/2 - log 2
  CHECK(narrow.log_likelihood == Approx(-2));
  CHECK(wide.log_likelihood == Approx(-0.5 - std::log(2.0)));
  CHECK(narrow.factor() == Approx(std::sqrt((4 + 4.0) / (4 + 1))));
  CHECK(wide.factor() == 1);                   // sqrt(5/5)
  narrow.add({.mean = 0, .deviation = 1}, 0);  // the first counts nine tenths
  CHECK(narrow.log_likelihood == Approx(-1.8));
}

TEST_CASE("whether rows of other tasks help is decided by how they have foretold the task's own") {
  for (const bool against : {false, true}) {
    const RunTable table = tasks_alike(2, against);
    TaskModel held_out(table, TaskTransfer::held_out), together(table, TaskTransfer::together), apart(table, TaskTransfer::apart);
    for (TaskModel* model : {&held_out, &together, &apart}) {
      for (std::size_t option = 0; option < table.options().size(); ++option) model->see(0, option);
      for (const std::size_t option : {0, 7, 10, 13}) model->see(1, option);
    }
    const double alone = largest_time_error(table, apart, 1), joined = largest_time_error(table, together, 1);
    INFO(against << ' ' << alone << ' ' << joined);
    CHECK((against ? alone < joined : joined < alone));
    CHECK(largest_time_error(table, held_out, 1) < 0.5 * (alone + joined));
  }
}

// Two workers with batch 32 take 100 s: four with 64 may take 50 s or more, one worker with 16... nothing: its batch is smaller.
// Four workers with the same batch of 32 are slower a worker-second (at least 50 s), one with 32 at most 200 s.
TEST_CASE("an outcome lies between the bounds that the task's own runs set") {
  const auto run = [](int workers, double batch, double time_s, double accuracy) {
    return PastRun{.model = "toy",
                   .dataset = "toys",
                   .instance = "vm",
                   .workers = workers,
                   .batch_size = batch,
                   .samples = 1000,
                   .epochs = 10,
                   .time_s = time_s,
                   .accuracy = accuracy,
                   .price_usd_per_hour = 1};
  };
  const RunTable table({run(2, 32, 100, 0.8), run(4, 32, 70, 0.8), run(1, 32, 180, 0.8), run(1, 64, 170, 0.7)}, {});
  TaskModel model(table, TaskTransfer::together);
  model.see(0, 0);
  const TaskModel::Foreseen more = model.foresee(0, 1), fewer = model.foresee(0, 2), larger = model.foresee(0, 3);
  CHECK(std::exp(more.time.low) == Approx(50));
  CHECK(std::isinf(more.time.high));
  CHECK(std::exp(fewer.time.high) == Approx(200));
  CHECK(std::exp(larger.time.high) == Approx(200));
  CHECK(std::isinf(larger.time.low));
  const double odds = std::log(0.8 / 0.2);
  CHECK(more.accuracy.low == Approx(odds));
  CHECK(more.accuracy.high == Approx(odds));
  CHECK(larger.accuracy.high == Approx(odds));
  CHECK(std::isinf(larger.accuracy.low));
  // A deadline far below the lower bound, one far above the upper one, with a floor that is far below.
  CHECK(TaskModel::keeps(more, {.target_accuracy = 0.1, .deadline_s = 20}) < 0.01);
  CHECK(TaskModel::keeps(fewer, {.target_accuracy = 0.1, .deadline_s = 500}) > 0.99);
}

TEST_CASE("nothing is promised beyond the date at which runs have been cut") {
  std::vector<PastRun> runs;
  for (int workers = 1; workers <= 2; ++workers) {
    runs.push_back({.model = "toy", .dataset = "toys", .instance = "vm", .workers = workers, .batch_size = 8.0 * workers});
    runs.back().samples = 1000;
    runs.back().epochs = 5;
    runs.back().time_s = workers == 1 ? 600 : 590;
    runs.back().accuracy = 0.9;
    runs.back().censored = workers == 1;
    runs.back().price_usd_per_hour = 1;
  }
  const RunTable table(runs, {});
  TaskModel model(table, TaskTransfer::together);
  const TableLimits tomorrow{.target_accuracy = 0.1, .deadline_s = 1e9};
  CHECK(TaskModel::keeps(model.foresee(0, 1), tomorrow) > 0.7);
  model.see(0, 0);
  CHECK(TaskModel::keeps(model.foresee(0, 1), tomorrow) < 0.7);
}

TEST_CASE("runs are searched for task after task, as many as are allowed, and the same each time") {
  const RunTable table = tasks_alike(3);
  const auto searched = [&](std::uint64_t key) {
    TaskModel model(table, TaskTransfer::together);
    const MeasuredCells measured = probe_tasks(table, search_of(table, 4, key), model);
    std::vector<std::vector<std::size_t>> seen(table.tasks().size());
    for (std::size_t task = 0; task < seen.size(); ++task)
      for (std::size_t option = 0; option < table.options().size(); ++option)
        if (measured.has(task, option)) seen[task].push_back(option);
    return seen;
  };
  const auto once = searched(1);
  for (const auto& of_task : once) CHECK(of_task.size() == 4);
  CHECK(searched(1) == once);
  CHECK(searched(50) != once);
  TaskModel model(table, TaskTransfer::together);
  probe_tasks(table, search_of(table, 1000, 1), model);
  CHECK(model.has_seen(2, table.options().size() - 1));  // more than there are: all
}

TEST_CASE("with all options seen the choice is the exhaustive one") {
  const RunTable table = tasks_alike(2);
  TaskModel model(table, TaskTransfer::together);
  const TaskSearch search = search_of(table, 1000, 1);
  probe_tasks(table, search, model);
  for (const TableJob& job : search.wanted) {
    REQUIRE_FALSE(feasible_options(table, job).empty());
    CHECK(cheapest_foreseen(table, job, model) == feasible_options(table, job).front());
  }
}

TEST_CASE("wider spreads make a model of tasks less sure of what it has not seen") {
  const RunTable table = tasks_alike(1);
  TaskModel narrow(table, TaskTransfer::together, 0.5), wide(table, TaskTransfer::together, 2);
  narrow.see(0, 0);
  wide.see(0, 0);
  CHECK(narrow.foresee(0, 7).log_time.deviation * 3.9 < wide.foresee(0, 7).log_time.deviation);
  CHECK(narrow.foresee(0, 7).log_odds.deviation * 3.9 < wide.foresee(0, 7).log_odds.deviation);
}
