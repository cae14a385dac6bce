// Measured trainings and steps from end to end: validate, calibrate, and a scenario with what was calibrated.
#include <fmt/core.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <sstream>

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

TEST_CASE("published epochs beside those of a recipe") {
  const TemporaryFolder folder;
  folder.write("m.csv",
               "model,dataset,batch_size,epoch,metric,reading\nresnet50,imagenet,1664,62,0.749,reached\n"
               "resnet50,imagenet,16640,81,0.749,reached\n");
  const Ended by_recipe = run_program(folder.path(), {"validate", "m.csv", "--recipe", "sgd-warmup"});
  CHECK(by_recipe.status == 0);
  CHECK(has(by_recipe.out, "by the recipe sgd-warmup"));
  CHECK(has(by_recipe.out, "16640"));
  CHECK(has(run_program(folder.path(), {"validate", "m.csv", "--recipe", "sgd-warmpu"}).err, "did you mean \"sgd-warmup\""));
  CHECK(run_program(folder.path(), {"validate", "m.csv", "--recipe", "adam", "--hold-out", "batches"}).status == 3);
  CHECK(has(run_program(folder.path(), {"list", "recipes"}).out, "lars-smoothing"));
  folder.write("steps.csv", "model,dataset,device,batch_per_worker,step_s\nresnet50,imagenet,v100,64,0.2\n");
  CHECK(has(run_program(folder.path(), {"validate", "steps.csv", "--recipe", "adam"}).err, "steps have no recipe"));
}

TEST_CASE("validate keeps its columns apart, however large an error is") {
  const TemporaryFolder folder;
  // Microseconds for milliseconds: errors of a hundred thousand percent.
  folder.write(
      "steps.csv",
      "model,dataset,device,batch_per_worker,step_s\nresnet18,cifar10,v100,64,0.00005\nresnet18,cifar10,v100,128,0.00001\n");
  const Ended ended = run_program(folder.path(), {"validate", "steps.csv"});
  REQUIRE(ended.status == 0);
  std::istringstream words(ended.out.substr(ended.out.find("errors in %")));
  int large = 0;
  for (std::string word; words >> word;) {
    if (word.find_first_not_of("0123456789.+-") != word.npos || word.back() == '.') continue;
    CHECK(std::ranges::count(word, '.') <= 1);
    large += word.size() >= 7 ? 1 : 0;
  }
  CHECK(large >= 2);
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

TEST_CASE("measured steps whose source names a stack: validated on it, held out by laboratory, and calibrated to a stack") {
  const TemporaryFolder folder;
  std::string rows = "model,dataset,device,batch_per_worker,step_s,source\n";
  for (const std::string source : {"here pytorch-1", "there pytorch-1", "there mxnet"})
    for (const auto& [batch, step_s] : {std::pair{16, 0.1}, {32, 0.15}, {64, 0.26}})
      rows += "resnet50,imagenet,v100," + std::to_string(batch) + "," + std::to_string(step_s) + "," + source + "\n";
  folder.write("m.csv", rows);
  const Ended plain = run_program(folder.path(), {"validate", "m.csv"});
  CHECK_THAT(plain.out, Catch::Contains("Devices are as the catalogue has them.") &&
                            Catch::Contains("6 rows of pytorch-1 without what it adds to a data sheet (--stack named)"));
  const Ended named = run_program(folder.path(), {"validate", "m.csv", "--stack", "named", "--rows", "r.csv"});
  CHECK_THAT(named.out, Catch::Contains("6 rows on pytorch-1: transferred"));
  CHECK_THAT(text_of(folder.path() + "/r.csv"), Catch::Contains("resnet50/imagenet,transferred,"));
  const Ended held = run_program(folder.path(), {"validate", "m.csv", "--hold-out", "stacks"});
  CHECK_THAT(held.out, Catch::Contains("here pytorch-1") && Catch::Contains("transferred") && Catch::Contains("there mxnet") &&
                           Catch::Contains("untestable") && Catch::Contains("mean of these, each the same"));
  CHECK(run_program(folder.path(), {"validate", "m.csv", "--stack", "pytorch"}).status == 3);
  CHECK(run_program(folder.path(), {"validate", "m.csv", "--stack", "named", "--hold-out", "models"}).status == 3);

  const Ended calibrated = run_program(folder.path(), {"calibrate", "m.csv", "-o", "mine.json"});
  CHECK(calibrated.status == 0);
  CHECK_THAT(calibrated.out, Catch::Contains("v100: fitted to the rows of pytorch-1; 3 rows of other software are left out") &&
                                 Catch::Contains("stack pytorch-1: here (3 rows), there (3 rows)") &&
                                 Catch::Contains("stack mxnet: there (3 rows)") && Catch::Contains("untestable"));
  const std::string written = text_of(folder.path() + "/mine.json");
  CHECK_THAT(written, Catch::Contains(R"("stack": "pytorch-1")") && Catch::Contains(R"("stacks": [)"));
  CHECK_THAT(run_program(folder.path(), {"validate", "m.csv", "--catalogue", "mine.json", "--rows", "c.csv"}).out,
             !Catch::Contains("without what it adds"));
  CHECK_THAT(text_of(folder.path() + "/c.csv"), Catch::Contains("resnet50/imagenet,calibrated,"));
}

TEST_CASE("the guide's commands for another device than the measured one: what is learned of a stack goes on to it") {
  const TemporaryFolder folder;
  const auto rows_of = [](const std::string& device, double factor) {
    std::string rows = "model,dataset,device,batch_per_worker,step_s,source\n";
    for (const auto& [model, step_s] : {std::pair{"resnet50", 0.09}, {"vgg16", 0.16}, {"alexnet", 0.02}, {"resnet18", 0.04}})
      for (const auto& [batch, times] : {std::pair{16, 1.0}, {32, 1.6}, {64, 3.0}})
        rows += fmt::format("{},imagenet,{},{},{:.4f},mylab pytorch-1\n", model, device, batch, step_s * times * factor);
    return rows;
  };
  folder.write("steps.csv", rows_of("v100", 1));
  folder.write("other.csv", rows_of("t4", 3));
  CHECK(run_program(folder.path(), {"calibrate", "steps.csv", "-o", "calibrated.json"}).status == 0);
  const auto predicted_s = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"validate", "other.csv", "--stack", "named", "--rows", "predicted.csv"};
    words.insert(words.end(), more.begin(), more.end());
    CHECK(run_program(folder.path(), words).status == 0);
    double sum_s = 0;
    std::istringstream lines(text_of(folder.path() + "/predicted.csv"));
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line);) {
      std::vector<std::string> cells;
      for (std::istringstream in(line); std::getline(in, line, ',');) cells.push_back(line);
      CHECK(cells[2] == "transferred");
      sum_s += std::stod(cells[3]);
    }
    return sum_s;
  };
  // The measured V100 was slower than its data sheet says, by which the T4's steps are longer than without.
  CHECK(predicted_s({"--catalogue", "calibrated.json"}) > 1.05 * predicted_s({}));
  const Ended rented = run_program(folder.path(), {"rent", "resnet50", "--accuracy", "0.74", "--deadline", "12h", "--stack",
                                                   "pytorch-1", "--catalogue", "calibrated.json"});
  CHECK(rented.status == 0);
  CHECK_THAT(rented.out, Catch::Contains("cheapest"));
}
