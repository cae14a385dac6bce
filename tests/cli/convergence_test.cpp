// Measured trainings and steps from end to end: validate, calibrate, and a scenario with what was calibrated.
#include <fmt/core.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <vector>

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

TEST_CASE("import measurements: where they were measured, if not where the format assumes") {
  const TemporaryFolder folder;
  // ImageNet's 1,281,167 images in batches of 256 are 5,004 whole steps (drop_last): an epoch of 5,004 s is a step a second.
  folder.write("summary_power_v100.csv",
               "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"
               "imagenet,resnet50,256,adadelta,250,5004,200\n");
  const auto imported = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"import", "measurements", "zeus", "summary_power_v100.csv", "-o", "m.csv"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run_program(folder.path(), words);
    INFO(ended.err);
    REQUIRE(ended.status == 0);
    CHECK(has(ended.out, "m.csv: 1 row"));
    std::istringstream lines(text_of(folder.path() + "/m.csv"));
    std::map<std::string, std::string> row;
    std::string names, cells, name, cell;
    std::getline(lines, names);
    std::getline(lines, cells);
    for (std::istringstream n(names), c(cells); std::getline(n, name, ',');) {
      std::getline(c, cell, ',');
      row[name] = cell;
    }
    return row;
  };
  std::map<std::string, std::string> row = imported({});
  CHECK(row["device"] == "v100");
  CHECK(row["precision"] == "fp32");
  CHECK(std::stod(row["step_s"]) == Approx(1).epsilon(1e-3));
  CHECK(std::stod(row["power_w"]) == 200);
  CHECK(std::stod(row["power_limit_w"]) == 250);
  row = imported({"--device", "a100-40gb", "--instance", "p4d.24xlarge", "--precision", "tf32"});
  CHECK(row["device"] == "a100-40gb");
  CHECK(row["instance"] == "p4d.24xlarge");
  CHECK(row["precision"] == "tf32");
  // Another device alone is not in the instance that the format assumes.
  CHECK(imported({"--device", "a100-40gb"})["instance"] == "");
}

TEST_CASE("validate: energy an epoch is time times power, and settings are ordered by it") {
  const TemporaryFolder folder;
  folder.write("m.csv",
               "model,dataset,device,batch_per_worker,step_s,power_w,power_limit_w\nresnet50,imagenet,v100,32,0.12,150,300\n"
               "resnet50,imagenet,v100,64,0.2,200,300\nresnet50,imagenet,v100,128,0.38,250,300\n"
               "resnet50,imagenet,v100,128,0.42,180,200\n");
  const Ended ended = run_program(folder.path(), {"validate", "m.csv", "--rows", "rows.csv"});
  REQUIRE(ended.status == 0);
  std::vector<double> errors, predicted_j, measured_j;
  std::istringstream rows(text_of(folder.path() + "/rows.csv"));
  std::map<std::string, std::size_t> at;
  for (std::string line, cell; std::getline(rows, line);) {
    std::vector<std::string> cells;
    for (std::istringstream row(line); std::getline(row, cell, ',');) cells.push_back(cell);
    if (at.empty()) {
      for (std::size_t c = 0; c < cells.size(); ++c) at[cells[c]] = c;
      continue;
    }
    const auto number = [&](const char* name) { return std::stod(cells.at(at.at(name))); };
    predicted_j.push_back(number("predicted_s") * number("predicted_w") / number("batch_per_worker"));
    measured_j.push_back(number("step_s") * number("power_w") / number("batch_per_worker"));
    errors.push_back(100 * std::abs(predicted_j.back() / measured_j.back() - 1));
  }
  REQUIRE(errors.size() == 4);
  // A sample's joules: measured 0.5625, 0.625, 0.7422, 0.5906, so that the last is second.
  CHECK(measured_j[3] == Approx(0.42 * 180 / 128));
  std::sort(errors.begin(), errors.end());
  const std::size_t table = ended.out.find("\nEnergy an epoch");
  REQUIRE(table != ended.out.npos);
  CHECK(has(ended.out.substr(table),
            fmt::format("v100 resnet50/imagenet                 4 {:>8.1f}", (errors[1] + errors[2]) / 2)));
  const auto order = [](const std::vector<double>& values) {
    std::vector<std::size_t> ranks;
    for (const double value : values)
      ranks.push_back(static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [&](double v) { return v < value; })));
    return ranks;
  };
  // Spearman's, 1 - 6 sum d^2 / (n (n^2 - 1)); what is chosen by the prediction costs so much more than the best.
  const std::vector<std::size_t> of_predicted = order(predicted_j), of_measured = order(measured_j);
  double squares = 0, chosen_j = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double d = static_cast<double>(of_predicted[i]) - static_cast<double>(of_measured[i]);
    squares += d * d;
    if (of_predicted[i] == 0) chosen_j = measured_j[i];
  }
  const std::size_t settings = ended.out.find("\nSettings (batch, power limit)");
  REQUIRE(settings != ended.out.npos);
  const std::string told = ended.out.substr(settings);
  CHECK(has(told, fmt::format(" {:>6.2f} ", 1 - 6 * squares / (4 * 15))));
  CHECK(has(told, fmt::format("{:>15.1f}\n", 100 * (chosen_j / *std::min_element(measured_j.begin(), measured_j.end()) - 1))));
}

TEST_CASE("rate: a ramp of one's own, by loss or by accuracy, and its mistakes") {
  const TemporaryFolder folder;
  // Rises in the logarithm of the rate from 1e-4, fastest at 0.01, and diverges above 0.1.
  const auto ramp = [&](const char* column, double scale, double shift) {
    std::string text = fmt::format("rate,{}\n", column);
    for (int i = 0; i <= 60; ++i) {
      const double rate = 1e-4 * std::pow(10, i / 15.0);
      const double value = rate > 0.1 ? 0.1 : 0.1 + 0.8 / (1 + std::exp(-4 * std::log10(rate / 0.01)));
      text += fmt::format("{:.8g},{:.8g}\n", rate, scale * value + shift);
    }
    return folder.write(std::string(column) + ".csv", text);
  };
  const Ended by_accuracy = run_program(folder.path(), {"rate", "--csv", ramp("accuracy", 1, 0)}),
              by_loss = run_program(folder.path(), {"rate", "--csv", ramp("loss", -1, 1)});
  REQUIRE(by_accuracy.status == 0);
  CHECK(by_accuracy.out == by_loss.out);
  REQUIRE(by_accuracy.out.starts_with("learning rate "));
  const double found = std::stod(by_accuracy.out.substr(std::string_view("learning rate ").size()));
  CHECK(found > 0.005);
  CHECK(found < 0.02);
  const auto refused = [&](const std::string& text, const std::string& part) {
    const Ended ended = run_program(folder.path(), {"rate", "--csv", folder.write("bad.csv", text)});
    CHECK(ended.status == 3);
    CHECK(ended.out == "");
    CHECK_THAT(ended.err, Catch::Contains(part));
  };
  refused("rate,loss,accuracy\n0.1,1,0.5\n", "a column loss or a column accuracy");
  refused("rate\n0.1\n", "a column loss or a column accuracy");
  refused("rate,accuracy\n0.1,0.5\n0.1,0.6\n", "bad.csv:3: rate: expected a rate above the one before");
  refused("rate,accuracy\n0,0.5\n", "bad.csv:2: rate");
  refused("rate,accuracy\n0.1,1.5\n", "bad.csv:2: accuracy");
  refused("rate,accuracy\n0.1,0.5\n", "at least 12 readings");
  CHECK(run_program(folder.path(), {"rate", "resnet152", "--dataset", "flowers"}).status == 3);
}

}  // namespace
