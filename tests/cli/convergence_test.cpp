// Measured trainings from end to end: validate, calibrate, and a scenario with what was calibrated.
#include <fmt/core.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "tests/cli/program.hpp"

namespace {

/// 6,000 flowers; a curve that flattens out, reached later with larger batches.
std::string curves() {
  std::string text = "model,dataset,batch_size,epoch,metric,examples\n";
  for (const double batch : {64, 128, 256, 512})
    for (int epoch = 1; epoch <= 20; ++epoch)
      text +=
          fmt::format("tiny,flowers,{},{},{:.4f},{}\n", batch, epoch, 0.9 - 0.9 / (1 + epoch / (2 + batch / 200)), 6000 * epoch);
  return text + "tiny,flowers,64,21,93,126000\n";  // per cent
}

TEST_CASE("curves are told from step times by their header") {
  const TemporaryFolder folder;
  folder.write("c.csv", curves());
  const Ended own = run_program(folder.path(), {"validate", "c.csv"});
  CHECK(own.status == 0);
  CHECK(has(own.out, "81 measurements, 80 used"));
  CHECK(has(own.out, "line 82"));
  CHECK(has(own.out, "a model outside the zoo: tiny"));
  CHECK(has(own.out, "the program has no parameters of its own for it"));
  const Ended held = run_program(folder.path(), {"validate", "c.csv", "--hold-out", "batches"});
  CHECK(held.status == 0);
  CHECK(has(held.out, "each batch is predicted by a fit to the others"));
  CHECK(has(held.out, "inner batches: metric off by"));
  CHECK(run_program(folder.path(), {"validate", "c.csv", "--hold-out", "models"}).status == 3);
  CHECK(run_program(folder.path(), {"validate", "c.csv", "--rows", "r.csv"}).status == 3);
}

TEST_CASE("a scenario takes what calibrate writes of curves") {
  const TemporaryFolder folder;
  folder.write("c.csv", curves());
  const Ended calibrated = run_program(folder.path(), {"calibrate", "c.csv", "-o", "conv.json"});
  CHECK(calibrated.status == 0);
  CHECK(has(calibrated.out, "phase 0 ceiling"));
  CHECK(has(calibrated.out, "badly determined: no progress is measured"));
  std::string text = text_of(folder.path() + "/conv.json");
  text = text.substr(1, text.rfind('}') - 1);
  folder.write("s.json", R"({
    "datasets": [ { "name": "flowers", "training_samples": 6000, "validation_samples": 1000 } ],
    "models": [ { "name": "tiny", "dataset": "flowers", "global_batch": 64, "cnn": { "filters": 8 } } ],
    "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
    "jobs": [ { "model": "tiny", "target_accuracy": 0.7 } ],
    "policies": [ "manual" ],)" +
                             text + "}");
  const Ended checked = run_program(folder.path(), {"check", "s.json"});
  CHECK(checked.err == "");
  CHECK(checked.status == 0);
}

TEST_CASE("import convergence: all files, one CSV") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/cifar10");
  for (const int batch : {128, 256})
    std::ofstream(fmt::format("{}/cifar10/validation-{}.csv", folder.path(), batch))
        << "progress,iteration,metric,grad_sqr,grad_var\n390,300,0.4,2.0,3.0\n";
  const Ended ended = run_program(folder.path(), {"import", "convergence", "pollux", "cifar10", "-o", "c.csv"});
  CHECK(ended.status == 0);
  CHECK(has(ended.out, "c.csv: 2 rows"));
  CHECK(run_program(folder.path(), {"validate", "c.csv"}).status == 0);
  CHECK(run_program(folder.path(), {"import", "convergence", "polux", "cifar10", "-o", "c.csv"}).status == 2);
  CHECK(run_program(folder.path(), {"import", "convergence", "pollux", "nowhere", "-o", "c.csv"}).status == 3);
}

}  // namespace
