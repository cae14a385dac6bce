// `rehearse plan` and `rehearse split` as a user starts them: what is answered, and how mistakes are told.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/cli/program.hpp"

namespace {

const char* const kCluster =
    R"({ "cluster": { "pools": [ { "name": "k80", "instance": "p2.xlarge", "nodes": 8 },
                                 { "name": "v100", "instance": "p3.8xlarge", "nodes": 2 } ] }, "free_devices": { "v100": 5 } })";

struct Planned {
  TemporaryFolder folder;
  Ended plan(const std::string& job, const std::string& cluster = kCluster) {
    folder.write("cluster.json", cluster);
    folder.write("job.json", job);
    return run_program(folder.path(), {"plan", "job.json", "--cluster", "cluster.json"});
  }
  /// Status 3, nothing on stdout, and all of these on stderr.
  void refused(const std::string& job, const std::vector<std::string>& parts, const std::string& cluster = kCluster) {
    INFO(job);
    const Ended ended = plan(job, cluster);
    CHECK(ended.status == 3);
    CHECK(ended.out == "");
    for (const std::string& part : parts) CHECK_THAT(ended.err, Catch::Contains(part));
  }
};

std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return {};
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

}  // namespace

TEST_CASE("plan: a dataset's task and size choose the model, and without a pool the system chooses the type") {
  Planned files;
  const Ended ended = files.plan(
      R"({"dataset": {"task": "image-classification", "training_samples": 20000, "height": 224, "width": 224}, "epochs": 10})");
  CHECK(ended.status == 0);
  CHECK(ended.err == "");
  CHECK_THAT(ended.out, Catch::Contains("resnet18 for image-classification: fewer than 100,000 images"));
  // A V100 takes far less energy for an image than a K80, so that it is chosen, and one that is named is kept to.
  CHECK_THAT(line_with(ended.out, "recommended"), Catch::Contains("of v100"));
  const Ended named = files.plan(
      R"({"dataset": {"task": "image-classification", "training_samples": 20000, "height": 224, "width": 224}, "epochs": 10,
          "pool": "k80"})");
  CHECK_THAT(line_with(named.out, "recommended"), Catch::Contains("of k80"));
  CHECK_THAT(named.out, Catch::Contains("  pool "));  // what that limit costs
}

TEST_CASE("plan: the answer says what was read of the network, and warns of attention") {
  Planned files;
  const std::string resnet = files.plan(R"({"model": "resnet18", "dataset": "imagenet", "epochs": 1})").out;
  CHECK_THAT(resnet,
             Catch::Contains("\nRead: 69 layers (21 with matrix products), 11.69 M weights, 1.814 G multiply-adds a sample; "
                             "input 3 x 224 x 224, output 1000.\n"));
  CHECK_THAT(resnet, !Catch::Contains("Warning:"));
  CHECK_THAT(files.plan(R"({"model": "bert", "epochs": 1})").out,
             Catch::Contains("Warning: this network has attention") && Catch::Contains("up to 3") && Catch::Contains("--from"));
}

TEST_CASE("plan: software is none unless it is named, which makes steps longer, and is said") {
  Planned files;
  const std::string job = R"({"model": "resnet50", "epochs": 1, "pool": "v100"})";
  const Ended sheet = files.plan(job);
  CHECK_THAT(sheet.out, Catch::Contains("Software: none is named (--stack)"));
  const auto with = [&](const char* stack) {
    return run_program(files.folder.path(), {"plan", "job.json", "--cluster", "cluster.json", "--stack", stack});
  };
  const Ended named = with("pytorch-1");
  CHECK(named.status == 0);
  CHECK_THAT(named.out, Catch::Contains("Software: pytorch-1, transferred"));
  const auto step_ms = [](const Ended& ended) { return std::stod(line_with(ended.out, "a step").substr(8)); };
  CHECK(step_ms(named) > step_ms(sheet));
  CHECK(with("none").out == sheet.out);
  const Ended wrong = with("pytorch1");
  CHECK(wrong.status == 3);
  CHECK_THAT(wrong.err, Catch::Contains("--stack") && Catch::Contains("did you mean \"pytorch-1\"?"));
}

TEST_CASE("plan: precision is single unless it is named, by the option or by the stack") {
  Planned files;
  const std::string job = R"({"model": "resnet50", "epochs": 1, "pool": "v100"})";
  const Ended single = files.plan(job);
  CHECK_THAT(single.out, Catch::Contains("precision fp32"));
  const auto with = [&](std::vector<std::string> options) {
    std::vector<std::string> words{"plan", "job.json", "--cluster", "cluster.json"};
    words.insert(words.end(), options.begin(), options.end());
    return run_program(files.folder.path(), words);
  };
  const auto step_ms = [](const Ended& ended) { return std::stod(line_with(ended.out, "a step").substr(8)); };
  const Ended half = with({"--precision", "fp16"});
  CHECK_THAT(half.out, Catch::Contains("precision fp16"));
  CHECK(step_ms(half) < step_ms(single));
  CHECK_THAT(with({"--stack", "pytorch-2"}).out, Catch::Contains("precision tf32-convolutions"));
  CHECK_THAT(with({"--stack", "pytorch-2", "--precision", "fp32"}).out, Catch::Contains("precision fp32"));
  CHECK(with({"--precision", "fp8"}).status == 2);
}

TEST_CASE("plan: what is free right now bounds the workers, and a least-energy choice limits the power") {
  Planned files;
  const std::string fast = R"({"model": "resnet50", "epochs": 5, "objective": "least-time", "pool": "v100"})";
  CHECK_THAT(line_with(files.plan(fast).out, "recommended"), Catch::StartsWith("recommended  5 x v100"));
  const std::string all = R"({ "cluster": { "pools": [ { "name": "v100", "instance": "p3.8xlarge", "nodes": 2 } ] } })";
  CHECK_THAT(line_with(files.plan(fast, all).out, "recommended"), Catch::StartsWith("recommended  8 x v100"));
  // 300 W, of which 55, 70 or 85 % are 165, 210 or 255 W.
  const std::string sparing = line_with(files.plan(R"({"model": "resnet50", "epochs": 5, "pool": "v100"})").out, "recommended");
  CHECK((sparing.find("165 W") != std::string::npos || sparing.find("210 W") != std::string::npos ||
         sparing.find("255 W") != std::string::npos));
}

TEST_CASE("plan: nodes are rented whole, and the answer says what is rented and what works") {
  const std::string a100 = R"({ "cluster": { "pools": [ { "name": "a100", "instance": "p4d.24xlarge", "nodes": 2 } ] })";
  const std::string job = R"({"model": "resnet50", "target_accuracy": 0.74, "objective": "least-cost")";
  // Of eight A100s that are paid for two would waste six: all of them work, and the second best is no part of a node either.
  Planned files;
  const Ended whole = files.plan(job + "}", a100 + "}");
  CHECK_THAT(whole.out, Catch::Contains("\n             1 node of p4d.24xlarge, all 8 GPUs\n"));
  CHECK_THAT(whole.out, Catch::Contains("\nBilling: node"));
  const auto dollars = [](const Ended& ended) {
    const std::string line = line_with(ended.out, "recommended");
    const std::size_t end = line.rfind(" $");
    return std::stod(line.substr(line.rfind(' ', end - 1)));
  };
  // Two of the eight, because the user says so: 25 % work, and a whole node is paid for: four times as much as by the device.
  const Ended two = files.plan(job + R"(, "workers": 2})", a100 + "}");
  CHECK_THAT(two.out, Catch::Contains("\n             1 node of p4d.24xlarge, 2 of 8 GPUs work (25 %)\n"));
  const Ended by_device = files.plan(job + R"(, "workers": 2})", a100 + R"(, "billing": "allocated" })");
  CHECK_THAT(by_device.out, !Catch::Contains("p4d.24xlarge"));
  CHECK_THAT(by_device.out, Catch::Contains("\nBilling: allocated"));
  CHECK(dollars(two) == Approx(4 * dollars(by_device)).margin(0.04));
  CHECK(dollars(whole) < dollars(two) / 3);
  files.refused(job + "}", {"/minimum_node_s", "\"billing\": \"node\" beside it"},
                a100 + R"(, "billing": "pool", "minimum_node_s": 60 })");
}

TEST_CASE("plan: a slow network, or one of long latency, makes more nodes not worth it") {
  Planned files;
  const auto workers = [&](const char* network) {
    const std::string cluster = std::string(R"({ "cluster": { "pools": [ { "name": "v100", "instance": "mine", "nodes": 8 } ],
      "instances": [ { "name": "mine", "devices": [ { "device": "v100", "count": 1 } ], "price_usd_per_hour": 3,
                       "network": )") +
                                network + "} ] } }";
    const Ended ended =
        files.plan(R"({"model": "resnet50", "epochs": 5, "batch_size": 256, "objective": "least-time"})", cluster);
    INFO(ended.err);
    CHECK(ended.status == 0);
    return line_with(ended.out, "recommended");
  };
  CHECK_THAT(workers(R"({"bandwidth_bytes_per_s": 1.25e10, "latency_s": 1e-5})"), Catch::StartsWith("recommended  8 x v100"));
  // 102 MB of gradients at 10 MB/s take 10 s and more; a latency of 1 s two for each node that joins. One V100 does not hold 256
  // samples, two do.
  CHECK_THAT(workers(R"({"bandwidth_bytes_per_s": 1e7, "latency_s": 1e-5})"), Catch::StartsWith("recommended  2 x v100"));
  CHECK_THAT(workers(R"({"bandwidth_bytes_per_s": 1.25e10, "latency_s": 1})"), Catch::StartsWith("recommended  2 x v100"));
}

TEST_CASE("plan: mistakes and what cannot be") {
  Planned files;
  files.refused(R"({"model": "resnet50", "target_accuracy": 0.74, "deadline_s": 600})",
                {"job.json: expected limits that something keeps; the soonest is deadline_s ", ", with 5 x v100 of v100",
                 "found deadline_s 600"});
  files.refused(R"({"model": "resnet50", "epochs": 5, "cost_limit_usd": 0.01})",
                {"the least is cost_limit_usd ", "cost_limit_usd 0.01"});
  files.refused(R"({"dataset": {"task": "speech", "training_samples": 0, "frames": 10}, "epochs": 1})",
                {"job.json:1:", "/dataset/training_samples: expected a number from 1", "found 0"});
  const std::string network = R"({"network": {"file": "net"}, "dataset": "cifar10", "epochs": 1})";
  files.refused(network, {"job.json:1:", "/network"});  // it is not there
  files.folder.write("net", "no network");
  files.refused(network, {"net"});
  files.folder.write("net", R"({ "name": "x", "layers": [ { "type": "input", "channels": 3, "height": 32, "width": 32 },
                                                          { "type": "swirl" }, { "type": "twirl" } ] })");
  files.refused(network, {"swirl", "twirl"});  // all at once
  files.refused(
      R"({"model": "resnet18", "epochs": 1})", {"free devices (free_devices", "found none"},
      R"({ "cluster": { "pools": [ { "name": "v", "instance": "p3.2xlarge", "nodes": 2 } ] }, "free_devices": { "v": 0 } })");
  // One written in the job's file is told once.
  const Ended ended = files.plan(R"({"network": {"layers": [ { "type": "swirl" } ]}, "dataset": "cifar10", "epochs": 1})");
  CHECK(ended.err.find("swirl") != std::string::npos);
  CHECK(ended.err.find("swirl") == ended.err.rfind("swirl"));
}

TEST_CASE("split: the fast GPU gets most of the batch, and a slow network makes it better alone") {
  const TemporaryFolder folder;
  const auto split = [&](const char* bandwidth) {
    folder.write("cluster.json", std::string(R"({ "cluster": { "pools": [ { "name": "old", "instance": "a", "nodes": 1 },
                                                                       { "name": "new", "instance": "b", "nodes": 1 } ],
      "instances": [ { "name": "a", "devices": [ { "device": "k80" } ], "price_usd_per_hour": 1,
                       "network": { "bandwidth_bytes_per_s": )") +
                                     bandwidth + R"(, "latency_s": 1e-5 } },
                     { "name": "b", "devices": [ { "device": "v100" } ], "price_usd_per_hour": 3,
                       "network": { "bandwidth_bytes_per_s": )" +
                                     bandwidth + R"(, "latency_s": 1e-5 } } ] } })");
    return run_program(folder.path(),
                       {"split", "resnet50", "--workers", "old=1", "new=1", "--batch", "128", "--cluster", "cluster.json"});
  };
  const Ended near = split("1e11");
  INFO(near.err);
  CHECK(near.status == 0);
  CHECK_THAT(near.out, Catch::Contains("the slow ones pay"));
  CHECK_THAT(near.out, Catch::Contains("learning rate "));
  CHECK_THAT(split("1e7").out, Catch::Contains("the slow ones do not pay"));
}

TEST_CASE("split: mistakes") {
  const TemporaryFolder folder;
  const auto told = [&](std::vector<std::string> arguments, const std::string& part) {
    arguments.insert(arguments.begin(), "split");
    const Ended ended = run_program(folder.path(), arguments);
    CHECK(ended.status == 3);
    CHECK(ended.out == "");
    CHECK_THAT(ended.err, Catch::Contains(part));
  };
  told({"resnet5", "--workers", "k80=1", "--batch", "8"}, "did you mean \"resnet50\"?");
  told({"resnet50", "--workers", "k8=1", "--batch", "8"}, "did you mean \"k80\"?");
  told({"resnet50", "--workers", "k80", "--batch", "8"}, "expected NAME=COUNT, from 1 to 4096, found k80");
  told({"resnet50", "--workers", "k80=0", "--batch", "8"}, "NAME=COUNT");
  const auto verdict = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"split", "resnet50", "--workers"});
    return run_program(folder.path(), arguments).out;
  };
  CHECK_THAT(verdict({"v100=2", "--batch", "128"}), Catch::Contains("all are equally fast"));
  CHECK_THAT(verdict({"k80=1", "v100=1", "--batch", "128"}), Catch::Contains("do not pay: they would only hold the others up"));
  CHECK_THAT(verdict({"t4=1", "v100=1", "--batch", "256"}), Catch::Contains("the fast ones alone do not hold the batch"));
  told({"resnet50", "--workers", "k80=1", "--batch", "100000"}, "what the memories hold");
}
