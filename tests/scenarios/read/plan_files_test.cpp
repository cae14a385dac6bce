#include "scenarios/read/plan_files.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/base/errors.hpp"
#include "tests/scenarios/temporary_folder.hpp"

using namespace rehearse;
using namespace rehearse::scenarios;

namespace {

const char* const kCluster =
    R"({ "cluster": { "pools": [ { "name": "k80", "instance": "p2.xlarge", "nodes": 8 },
                                 { "name": "v100", "instance": "p3.8xlarge", "nodes": 2 } ] }, "free_devices": { "v100": 5 } })";

struct Files {
  TemporaryFolder folder;
  std::unique_ptr<PlanCluster> cluster = load_plan_cluster(folder.write("cluster.json", kCluster));
  PlanRequest job(const std::string& text) { return load_plan_job(folder.write("job.json", text), *cluster); }
  /// All mistakes of a job, a line each.
  std::string mistakes(const std::string& text) {
    try {
      job(text);
    } catch (const sim::InputError& error) {
      return error.what();
    }
    return "none";
  }
};

}  // namespace

TEST_CASE("a cluster's free devices") {
  Files files;
  CHECK(files.cluster->free_devices == std::vector<int>{8, 5});
  CHECK_THROWS_AS(load_plan_cluster(files.folder.write(
                      "bad.json", R"({"cluster": {"pools": [{"name": "a", "instance": "p2.xlarge", "nodes": 2}]},
                                      "free_devices": {"a": 3}})")),
                  sim::InputError);
}

TEST_CASE("a job with a model and a target takes the epochs of each batch from its convergence") {
  Files files;
  const PlanRequest r =
      files.job(R"({"model": "resnet50", "dataset": "imagenet", "target_accuracy": 0.74, "deadline_s": 86400})");
  CHECK(r.job.samples == 1281167);
  REQUIRE(r.job.batches.size() > 5);
  CHECK(r.job.batches.back().batch > r.job.batches.front().batch);
  CHECK(r.job.batches.back().epochs >= r.job.batches.front().epochs);
  CHECK(r.limits.deadline_s == 86400);
  CHECK(r.goal == policies::Goal::energy);
}

TEST_CASE("a dataset without a model gets one by task and size") {
  Files files;
  const auto images = [&](int side, int samples) {
    return files.job(
        fmt::format(R"({{"dataset": {{"task": "image-classification", "training_samples": {}, "height": {}, "width": {}}},
                                      "epochs": 10}})",
                    samples, side, side));
  };
  CHECK(images(32, 50000).model == "resnet32");
  CHECK(images(224, 20000).model == "resnet18");
  CHECK(images(224, 1000000).model == "resnet50");
  CHECK(!images(224, 1000000).why.empty());
  const auto text = [&](const char* task, double samples) {
    return files.job(
        fmt::format(R"({{"dataset": {{"task": "{}", "training_samples": {}, "tokens": 35}}, "epochs": 10}})", task, samples));
  };
  CHECK(text("language-model", 26559).model == "rnnlm");
  CHECK(text("language-model", 1e8).model == "gpt2");
  CHECK(text("translation", 1e6).model == "nmt");
  CHECK(files.job(R"({"dataset": {"task": "speech", "training_samples": 28539, "frames": 1270}, "epochs": 10})").model ==
        "deepspeech2");
}

TEST_CASE("a network by its structure") {
  Files files;
  const PlanRequest r = files.job(
      R"({"network": {"cnn": {"conv_layers": 4}}, "dataset": "cifar10", "epochs": 20, "batch_sizes": [64, 256], "pool": "v100",
          "workers": 3, "objective": "least-cost"})");
  CHECK(r.job.features.conv_layers == 4);
  REQUIRE(r.job.batches.size() == 2);
  CHECK(r.job.batches[1].batch == 256);
  CHECK(r.job.batches[1].epochs == 20);
  CHECK(r.limits.pool == 1);
  CHECK(r.limits.workers == 3);
  CHECK(r.goal == policies::Goal::cost);
}

TEST_CASE("a network by its layers") {
  Files files;
  const PlanRequest r = files.job(
      R"({"network": {"name": "small", "layers": [{"type": "input", "channels": 3, "height": 32, "width": 32},
          {"type": "conv", "filters": 16}, {"type": "flatten"}, {"type": "dense", "units": 10}]}, "dataset": "cifar10", "epochs": 2})");
  CHECK(r.model == "small");
  CHECK(r.job.features.conv_layers == 1);
  CHECK_THAT(files.mistakes(R"({"network": {"layers": [{"type": "convolution"}]}, "dataset": "cifar10", "epochs": 2})"),
             Catch::Contains("/network/layers/0/type"));
}

TEST_CASE("mistakes of a job are told with what was expected") {
  Files files;
  const auto told = [&](const std::string& text, const std::string& part) {
    INFO(text);
    CHECK_THAT(files.mistakes(text), Catch::Contains(part));
  };
  told("{}", "a dataset: the name of one, or an object with its task and size");
  told(R"({"dataset": "cifar10", "epochs": 1})", "a model, a network, or a dataset with a task");
  told(R"({"model": "resnet5", "dataset": "cifar10", "epochs": 1})", "did you mean \"resnet50\"?");
  CHECK_THAT(files.mistakes(R"({"model": "resnet5", "epochs": 1})"), !Catch::Contains("a dataset"));  // which is the model's
  told(R"({"model": "resnet50"})", "epochs, or a target_accuracy");
  told(R"({"model": "resnet50", "target_accuracy": 0.99})",
       "an accuracy of at most 0.7544 (resnet50 on imagenet is believed to get no further)");
  told(R"({"model": "resnet50", "target_accuracy": 0.75, "epochs": 2})",
       "an accuracy that resnet50 reaches on imagenet in the epochs it has");
  told(R"({"model": "vgg19", "dataset": "cifar10", "target_accuracy": 0.5})", "is not modelled");
  told(R"({"dataset": {"task": "speech", "training_samples": 0, "frames": 10}, "epochs": 1})", "/dataset/training_samples");
  told(R"({"network": {"cnn": {"kernel": 99, "image_height": 4, "image_width": 4}}, "dataset": "cifar10", "epochs": 1,
           "pool": "v10"})",
       "did you mean \"v100\"?");
  CHECK_THAT(
      files.mistakes(R"({"network": {"file": "/dev/zero"}, "dataset": "cifar10", "epochs": 1})"),  // once
      Catch::EndsWith("job.json:1:22: /network/file: expected a regular file: a pipe gives its bytes once, a device may have no "
                      "end, found \"/dev/zero\"") &&
          !Catch::Contains("\n"));
  told(R"({"model": "resnet50", "network": {"cnn": {}}, "epochs": 1})", "either a model or a network");
  told(R"({"model": "resnet50", "epochs": 1, "deadline": 5})", "deadline_s");
}

TEST_CASE("more workers than are free, and no epochs, are told as what they are") {
  Files files;
  CHECK_THAT(files.mistakes(R"({"model": "resnet50", "epochs": 5, "workers": 9})"),
             Catch::Contains("/workers: expected at most 8: what is free in one pool, found 9"));
  CHECK_THAT(files.mistakes(R"({"model": "resnet50", "epochs": 5, "workers": 6, "pool": "v100"})"),
             Catch::Contains("/workers: expected at most 5"));
  CHECK(files.mistakes(R"({"model": "resnet50", "epochs": 5, "workers": 8})") == "none");
  CHECK_THAT(files.mistakes(R"({"model": "resnet50", "epochs": 0})"),
             Catch::Contains("/epochs: expected a number above 0 and of at most 1000000, found 0"));
}

TEST_CASE("0.76 of ResNet-50 can be asked for by a recipe, and without it the message names one") {
  Files files;
  const std::string asked = R"({"model": "resnet50", "dataset": "imagenet", "target_accuracy": 0.76RECIPE})";
  const auto with_recipe = [&](const std::string& recipe) {
    std::string text = asked;
    return text.replace(text.find("RECIPE"), 6, recipe);
  };
  CHECK(files.mistakes(with_recipe(""))
            .find("expected an accuracy of at most 0.7544 (resnet50 on imagenet is believed to get no "
                  "further; the recipe \"sgd-warmup\" reaches it)") != std::string::npos);
  CHECK(files.mistakes(with_recipe(R"(, "recipe": "lars-smoothing")"))
            .find("by the recipe \"lars-smoothing\" is believed to get no further; the recipe \"sgd-warmup\" reaches it") !=
        std::string::npos);
  const PlanRequest r = files.job(with_recipe(R"(, "recipe": "sgd-warmup")"));
  CHECK(r.lr_rule == sim::LrRule::linear_warmup);
  CHECK(r.convergence->reference_batch == 256);
  REQUIRE_FALSE(r.job.batches.empty());
  CHECK(r.job.batches.front().epochs > 55);
  CHECK(files.mistakes(with_recipe(R"(, "recipe": "sgd-warmpu")")).find("did you mean \"sgd-warmup\"") != std::string::npos);
  CHECK(files.mistakes(R"({"network": {"cnn": {"filters": 8}}, "samples": 1000, "epochs": 1, "recipe": "adam"})")
            .find("no recipe beside a network") != std::string::npos);
}
