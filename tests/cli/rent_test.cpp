// `rehearse rent` and `rehearse catalogue prices` as a user starts them: what is answered, and how mistakes are told.

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <stdexcept>

#include "tests/cli/program.hpp"
#include "tests/traces/networks/onnx_bytes.hpp"
#include "workloads/zoo/zoo.hpp"

namespace {

struct Renter {
  TemporaryFolder folder;
  Ended rent(std::vector<std::string> options) {
    options.insert(options.begin(), "rent");
    return run_program(folder.path(), options);
  }
  /// Status 3, nothing on stdout, and all of these on stderr.
  void refused(const std::vector<std::string>& options, const std::vector<std::string>& parts) {
    const Ended ended = rent(options);
    CHECK(ended.status == 3);
    CHECK(ended.out == "");
    for (const std::string& part : parts) CHECK_THAT(ended.err, Catch::Contains(part));
  }
};

const std::vector<std::string> kResnet{"resnet50", "--dataset", "imagenet", "--accuracy", "0.74", "--deadline", "12h"};

std::vector<std::string> with(std::vector<std::string> options, const std::vector<std::string>& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

}  // namespace

TEST_CASE("rent: the whole catalogue is searched, and each answer says what it rests on") {
  Renter renter;
  const Ended ended = renter.rent(with(kResnet, {"--budget", "300", "--csv", "all.csv", "--html", "front.html"}));
  CHECK(ended.err == "");
  REQUIRE(ended.status == 0);
  for (const char* part :
       {"cheapest", "fastest", "least energy", "Nothing is both cheaper and faster", "measured over predicted 1.25",
        "Prices of 20", "limited by", "90 % in", "misses", "would change the answer most", "--from steps.csv"})
    CHECK_THAT(ended.out, Catch::Contains(part));
  // A front of all choices: those that are told to keep the limits are those of the table of choices.
  CHECK_THAT(renter.rent(with(kResnet, {"--budget", "60"})).out,
             Catch::Contains("than these, of which ") && Catch::Contains(" the limits with 90 % confidence:\n"));
  const std::string csv = text_of(renter.folder.path() + "/all.csv");
  for (const char* instance :
       {"p5.48xlarge", "a3-highgpu-8g", "nd96isr_mi300x_v5", "gpu_8x_h100_sxm5", "g6e.xlarge", "p2.xlarge"})
    CHECK_THAT(csv, Catch::Contains(instance));
  CHECK_THAT(csv, !Catch::Contains("dgx-1"));  // nobody rents it out
  CHECK_THAT(text_of(renter.folder.path() + "/front.html"), Catch::Contains("<svg") && Catch::Contains("limited by"));
}

TEST_CASE("rent: the answer says what was read of the network, and warns of attention until it is measured") {
  Renter renter;
  const std::string resnet = renter.rent(with(kResnet, {"--html", "front.html"})).out;
  const char* const read =
      "Read: 175 layers (54 with matrix products), 25.56 M weights, 4.089 G multiply-adds a sample; input 3 x 224 x 224, output "
      "1000.";
  CHECK_THAT(resnet, Catch::Contains(std::string("\n") + read + "\n"));
  CHECK_THAT(resnet, !Catch::Contains("Warning:"));
  CHECK_THAT(text_of(renter.folder.path() + "/front.html"), Catch::Contains(read));
  const std::vector<std::string> gpt{"gpt2", "--epochs", "1", "--batches", "512", "--nodes", "1", "--clouds", "aws"};
  for (const std::vector<std::string>& model : {gpt, {"bert", "--epochs", "1", "--clouds", "aws"}})
    CHECK_THAT(renter.rent(model).out,
               Catch::Contains("Warning: this network has attention") && Catch::Contains("up to 3") && Catch::Contains("--from"));
  // Measured on the only device that may be rented, there is nothing to warn of.
  renter.folder.write(
      "steps.csv", "model,dataset,device,batch_per_worker,step_s\ngpt2,openwebtext,v100,1,0.1\ngpt2,openwebtext,v100,2,0.18\n");
  renter.folder.write("account.json", R"({"instances": {"p3.2xlarge": {"nodes": 1}}, "only_listed": true})");
  const Ended measured = renter.rent(with(gpt, {"--from", "steps.csv", "--account", "account.json"}));
  INFO(measured.err);
  CHECK_THAT(measured.out, Catch::Contains("Read: ") && !Catch::Contains("Warning:"));
}

TEST_CASE("rent: rows say where, in how many epochs, and how much money at most") {
  Renter renter;
  const Ended ended = renter.rent(with(kResnet, {"--clouds", "AWS", "--regions", "US", "--csv", "all.csv"}));
  REQUIRE(ended.status == 0);
  for (const char* part : {"where", "epochs", "90 % under", "aws us-east-1"}) CHECK_THAT(ended.out, Catch::Contains(part));
  CHECK(ended.out == renter.rent(with(kResnet, {"--clouds", "aws", "--regions", "us", "--csv", "all.csv"})).out);
  const std::string csv = text_of(renter.folder.path() + "/all.csv");
  CHECK(csv.starts_with("instance,provider,region,spot,"));
  CHECK_THAT(csv, Catch::Contains("p3.2xlarge,aws,us-east-1,0,"));
  CHECK_THAT(csv, Catch::Contains("cost_usd,cost_low_usd,cost_high_usd,"));
  // Epochs that were asked for stand above the table.
  CHECK_THAT(renter.rent({"resnet18", "--dataset", "cifar10", "--epochs", "7", "--regions", "us"}).out,
             Catch::Contains("7 epochs") && !Catch::Contains("  epochs  "));
}

TEST_CASE("rent: the measurement that is advised can be made, and what it measures comes back") {
  Renter renter;
  const std::string script = text_of(REHEARSE_SOURCE_DIR "/traces/measure/measure.py");
  // Of every model of the zoo: by the script if it trains it, else by the exported training.
  int by_script = 0, otherwise = 0;
  for (const auto& entry : rehearse::workloads::zoo()) {
    const std::string model(entry.name);
    const Ended asked = renter.rent({model, "--epochs", "10", "--clouds", "aws"});
    INFO(model);
    REQUIRE(asked.status == 0);
    if (asked.out.find("would change the answer most") == asked.out.npos) continue;
    const bool is_trained = script.find("\"" + model + "\": Model(") != script.npos;
    CHECK((asked.out.find("traces/measure/measure.py --models " + model + "/") != asked.out.npos) == is_trained);
    ++(is_trained ? by_script : otherwise);
  }
  CHECK(by_script >= 10);
  CHECK(otherwise >= 1);
  renter.folder.write("net.json", R"({"cnn": {"conv_layers": 4, "filters": 32, "image_height": 64, "image_width": 64}})");
  const std::vector<std::string> own{"net.json", "--samples", "100k", "--epochs", "10", "--deadline", "1d"};
  const Ended advised = renter.rent(own);
  CHECK_THAT(advised.out, !Catch::Contains("measure.py"));
  CHECK_THAT(advised.out, Catch::Contains("--export FOLDER") && Catch::Contains("--from OUT/steps.csv"));
  // As the exported training writes it.
  renter.folder.write("steps.csv",
                      "model,dataset,device,nodes,workers_per_node,batch_per_worker,precision,step_s,source\n"
                      "cnn,own,t4,1,1,128.0,fp16,0.01,exported PyTorch\n");
  CHECK_THAT(renter.rent(with(own, {"--from", "steps.csv"})).out, Catch::Contains("this very model measured on the device"));
  // Of another network the row is none of this one's.
  renter.folder.write("steps.csv", "model,dataset,device,batch_per_worker,step_s\nother,own,t4,128,0.01\n");
  renter.refused(with(own, {"--from", "steps.csv"}), {"the name of a model, found \"other\""});
}

TEST_CASE("rent: with all that may be chosen, what is told of spot nodes is replayed") {
  Renter renter;
  const Ended ended = renter.rent(with(kResnet, {"--budget", "300", "--spot", "allowed", "--power-limits", "--precision",
                                                 "fp32,fp16,bf16,tf32", "--csv", "all.csv"}));
  REQUIRE(ended.status == 0);
  // What is told of spot nodes was replayed, and says so.
  CHECK_THAT(ended.out, Catch::Contains("(spot)") && Catch::Contains("mean of 200 replayed"));
}

TEST_CASE("rent: the same request gives the same bytes") {
  Renter renter;
  const auto options = with(kResnet, {"--spot", "allowed"});
  CHECK(renter.rent(options).out == renter.rent(options).out);
}

TEST_CASE("rent: regions, clouds and spot narrow what is rented; spot says what it assumes") {
  Renter renter;
  const Ended eu = renter.rent(with(kResnet, {"--regions", "eu"}));
  CHECK_THAT(eu.out, Catch::Contains("gpu-h") && !Catch::Contains("p5.48xlarge"));
  const Ended aws = renter.rent(with(kResnet, {"--clouds", "aws", "--spot", "only"}));
  CHECK_THAT(aws.out, Catch::Contains("(spot)") && Catch::Contains("Assumed of spot nodes: each is taken away after 24 h"));
  renter.refused(with(kResnet, {"--clouds", "awz"}), {"--clouds", "awz", "did you mean \"aws\""});
  renter.refused(with(kResnet, {"--regions", "moon"}), {"leave an instance"});
}

TEST_CASE("rent: an account's quotas, own machines and the place of its data count") {
  Renter renter;
  renter.folder.write("account.json", R"({"instances": {"dgx-1": {"nodes": 1, "price_usd_per_hour": 0}}, "only_listed": true})");
  const Ended own = renter.rent(with(kResnet, {"--account", "account.json"}));
  CHECK_THAT(own.out, Catch::Contains("1 x dgx-1") && !Catch::Contains("2 x dgx-1"));
  renter.folder.write("far.json", R"({"data": {"provider": "aws", "region": "us-east-1"}, "egress_usd_per_gb": 0.09})");
  // ImageNet's 140 GB from aws to Lambda are about 12.7 $, on top of every choice there.
  CHECK_THAT(renter.rent(with(kResnet, {"--account", "far.json", "--clouds", "lambda"})).out, Catch::Contains("cheapest"));
  renter.folder.write("wrong.json", R"({"instances": {"p4d.24xlrge": {"nodes": 1}}, "egress_usd_per_gb": 0.1})");
  renter.folder.write("list.json", R"({"instances": ["p4d.24xlarge"]})");
  renter.refused(with(kResnet, {"--account", "list.json"}), {"list.json:1:", "/instances", "an object: names of instances"});
  const Ended nothing = renter.rent(with(kResnet, {"--budget", "0"}));  // which is no budget, and not none asked for
  CHECK(nothing.status == 2);
  CHECK_THAT(nothing.err, Catch::Contains("--budget: expected a number from 0.01"));
  renter.refused({"resnet50", "--dataset", "imagenet", "--accuracy", "0.74", "--deadline", "15min", "--budget", "31"},
                 {"each with the other limit left out"});
  renter.refused(with(kResnet, {"--account", "wrong.json"}), {"p4d.24xlrge", "did you mean", "where the data lie"});
}

TEST_CASE("rent: the exported training writes checkpoints as often as was reckoned with") {
  Renter renter;
  const auto exported = [&](const std::vector<std::string>& more) {
    CHECK(renter.rent(with(with(kResnet, {"--clouds", "aws", "--export", "files"}), more)).status == 0);
    const std::string settings = text_of(renter.folder.path() + "/files/settings.py"), key = "\nCHECKPOINT_S = ";
    const std::size_t at = settings.find(key);
    REQUIRE(at != std::string::npos);
    return std::stod(settings.substr(at + key.size()));
  };
  CHECK(exported({}) == 1800);
  // By Young's rule four times as often on nodes that stay up for a sixteenth as long, on as many of them.
  const std::vector<std::string> spot{"--spot", "only", "--nodes", "1"};
  const double day = exported(with(spot, {"--spot-mean-up", "24"})), hours = exported(with(spot, {"--spot-mean-up", "1.5"}));
  CHECK(day / hours == Approx(4).epsilon(0.1));
}

TEST_CASE("rent: networks and jobs of files") {
  Renter renter;
  renter.folder.write("net.json", R"({"cnn": {"conv_layers": 4, "filters": 32, "image_height": 64, "image_width": 64}})");
  const Ended ended = renter.rent({"net.json", "--samples", "100k", "--epochs", "10", "--deadline", "1d"});
  CHECK(ended.err == "");
  CHECK_THAT(ended.out, Catch::Contains("100,000 samples an epoch"));
  renter.refused({"net.json", "--epochs", "10"}, {"--samples", "the network's file does not say"});
  renter.refused({"net.json", "--samples", "1M"}, {"--epochs", "modelled of models of the zoo alone"});
  renter.folder.write("job.json", R"({"model": "resnet18", "dataset": "cifar10", "epochs": 5, "deadline_s": 7200})");
  CHECK(renter.rent({"job.json"}).status == 0);
  renter.refused({"job.json", "--epochs", "1"}, {"--epochs: expected the key epochs in the job's file, found \"1\""});
  renter.refused({"job.json", "--accuracy", "0.5"}, {"the key target_accuracy in the job's file"});
}

TEST_CASE("rent: the README's line answers for an ONNX file") {
  Renter renter;
  renter.folder.write("my-network.onnx", onnx_bytes::small_onnx());
  const Ended ended = renter.rent(
      {"my-network.onnx", "--samples", "1.2M", "--epochs", "90", "--deadline", "1d", "--regions", "us", "--spot", "allowed"});
  CHECK(ended.err == "");
  REQUIRE(ended.status == 0);
  for (const char* part : {"1,200,000 samples an epoch", "cheapest", "(spot)", "Nothing is both cheaper and faster"})
    CHECK_THAT(ended.out, Catch::Contains(part));
}

// 10 epochs of 50,000 samples in batches of 100 are 5,000 steps: 250 s are 0.05 s a step, as it is written in a measurement.
TEST_CASE("rent: past runs are measurements of their steps") {
  Renter renter;
  renter.folder.write("runs.csv",
                      "model,dataset,instance,workers,batch_size,samples,epochs,time_s,accuracy,asynchronous\n"
                      "resnet18,cifar10,p3.2xlarge,1,100,50000,10,250,0.9,0\n"
                      "resnet18,cifar10,p3.8xlarge,4,400,50000,10,80,0.9,0\n"
                      "resnet18,cifar10,p3.8xlarge,4,400,50000,10,80,0.8,1\n");
  renter.folder.write("steps.csv",
                      "model,dataset,device,instance,nodes,workers_per_node,batch_per_worker,step_s\n"
                      "resnet18,cifar10,v100,p3.2xlarge,1,1,100,0.05\nresnet18,cifar10,v100,p3.8xlarge,1,4,100,0.064\n");
  const std::vector<std::string> asked{"resnet18", "--dataset", "cifar10", "--epochs", "10",
                                       "--clouds", "aws",       "--csv",   "all.csv"};
  const Ended steps = renter.rent(with(asked, {"--from", "steps.csv"}));
  REQUIRE(steps.status == 0);
  const std::string of_steps = text_of(renter.folder.path() + "/all.csv");
  const Ended runs = renter.rent(with(asked, {"--from", "runs.csv"}));
  CHECK(runs.err == "");
  REQUIRE(runs.status == 0);
  CHECK(text_of(renter.folder.path() + "/all.csv") == of_steps);
  CHECK_THAT(runs.out, Catch::Contains("1 left out: of servers or asynchronous workers"));
  renter.folder.write("runs.csv",
                      "model,dataset,instance,workers,batch_size,samples,epochs,time_s,accuracy\n"
                      "resnet18,cifar10,p3.2xlrge,1,100,50000,10,250,0.9\n");
  renter.refused(with(asked, {"--from", "runs.csv"}), {"p3.2xlrge", "did you mean \"p3.2xlarge\""});
}

TEST_CASE("rent: limits that nothing keeps are refused with what there is; bad options with what they should be") {
  Renter renter;
  renter.refused({"resnet50", "--accuracy", "0.74", "--deadline", "1min"},
                 {"90 % confidence", "the soonest is --deadline", "found deadline 60 s"});
  renter.refused({"resnet50", "--accuracy", "0.74", "--budget", "0.01"}, {"the least is --budget"});
  renter.refused({"resnet50", "--accuracy", "0.74", "--deadline", "soon"}, {"--deadline", "as 12h, 90min, 1d or 3600s", "soon"});
  // Twelve what? Seconds were meant by nobody who was asked.
  renter.refused({"resnet50", "--accuracy", "0.74", "--deadline", "12"}, {"--deadline", "with its unit", "found \"12\""});
  renter.refused({"resnet50"}, {"--epochs"});
  // One mistake, one line.
  const Ended epochs = renter.rent({"resnet50", "--epochs", "1000000000"});
  CHECK_THAT(epochs.err, Catch::Contains("1000000, found 1"));
  CHECK(std::ranges::count(epochs.err, '\n') == 1);
  CHECK(std::ranges::count(renter.rent({"resnet50", "--epochs", "0"}).err, '\n') == 1);
  renter.refused({}, {"a model, a network's file or a job's"});
  renter.refused({"resnet50", "--watch", "log"}, {"--resume"});
  renter.refused({"resnet50", "--epochs", "1", "--spot-mean-up", "2"},
                 {"--spot-mean-up", "--spot allowed or --spot only", "neither"});
}

TEST_CASE("rent: own measurements come first, and narrow the interval") {
  Renter renter;
  renter.folder.write(
      "steps.csv",
      "model,dataset,device,batch_per_worker,step_s\nresnet18,cifar10,v100,64,0.05\nresnet18,cifar10,v100,128,0.09\n");
  const Ended ended = renter.rent(
      {"resnet18", "--dataset", "cifar10", "--epochs", "10", "--deadline", "1d", "--from", "steps.csv", "--account", "own.json"});
  CHECK(ended.status == 3);  // no such account: told before anything else
  renter.folder.write("own.json", R"({"instances": {"p3.2xlarge": {"nodes": 1}}, "only_listed": true})");
  const Ended measured = renter.rent(
      {"resnet18", "--dataset", "cifar10", "--epochs", "10", "--deadline", "1d", "--from", "steps.csv", "--account", "own.json"});
  CHECK_THAT(measured.out, Catch::Contains("this very model measured on the device") && Catch::Contains("between 0.81 and 1.23"));
}

TEST_CASE("rent: a training under way is compared with its plan") {
  Renter renter;
  renter.folder.write("own.json",
                      R"({"instances": {"p3.2xlarge": {"nodes": 1}, "p3.8xlarge": {"nodes": 1}}, "only_listed": true})");
  REQUIRE(renter
              .rent({"resnet18", "--dataset", "cifar10", "--epochs", "30", "--deadline", "1d", "--account", "own.json", "--state",
                     "state.json"})
              .status == 0);
  // 1,000 steps of 10,000 in 1,000 s: a second a step, far from what was predicted.
  renter.folder.write("log",
                      "{\"time_s\": 100, \"step\": 0, \"of\": 10000}\n{\"time_s\": 1100, \"step\": 1000, \"of\": 10000}\n");
  const Ended told = renter.rent({"--resume", "state.json", "--watch", "log"});
  CHECK(told.err == "");
  for (const char* part :
       {"step 1000 of 10000 (10 %), 1 s a step", "stay", "change batch", "change machine", "The plan has drifted"})
    CHECK_THAT(told.out, Catch::Contains(part));
  // Limits of now take the place of the plan's: after 1,000 s nothing is done within 20 minutes, or for a dollar cent.
  const auto row_of = [](const Ended& ended) {
    const std::size_t at = ended.out.find("\nstay");
    return ended.out.substr(at, ended.out.find('\n', at + 1) - at);
  };
  CHECK_THAT(row_of(told), Catch::EndsWith("kept"));
  const Ended later = renter.rent({"--resume", "state.json", "--watch", "log", "--deadline", "20min", "--budget", "0.01"});
  CHECK(later.status == 0);
  CHECK_THAT(row_of(later), Catch::Contains("missed") && Catch::EndsWith("exceeded"));
  CHECK_THAT(later.out, Catch::Contains("deadline and budget are not both kept"));
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--spot", "only"}, {"--accuracy", "0.9"}, {"--state", "new.json"}, {"resnet50"}}) {
    const Ended ended = renter.rent(with({"--resume", "state.json", "--watch", "log"}, option));
    CHECK(ended.status == 2);
    CHECK_THAT(ended.err,
               Catch::Contains((option.size() == 1 ? "model" : option.front()) + ": beside --resume the plan's own holds"));
  }
  // What was chosen with a power limit is found again, and the training runs as planned.
  const Ended limited = renter.rent({"resnet18", "--dataset", "cifar10", "--epochs", "30", "--account", "own.json",
                                     "--power-limits", "--state", "limited.json"});
  REQUIRE(limited.status == 0);
  std::string state = text_of(renter.folder.path() + "/limited.json");
  CHECK_THAT(state, Catch::Contains("\"power_limits\": true"));
  const std::string none = "\"power_limit_w\": 0,";
  if (const std::size_t at = state.find(none); at != state.npos) state.replace(at, none.size(), "\"power_limit_w\": 255,");
  renter.folder.write("limited.json", state);
  CHECK_THAT(renter.rent({"--resume", "limited.json", "--watch", "log"}).out, Catch::Contains("stay"));
  renter.folder.write("short", "{\"time_s\": 100, \"step\": 0, \"of\": 10000}\n");
  renter.refused({"--resume", "state.json", "--watch", "short"}, {"two lines"});
  // A clock that went back, steps that there are not, steps that took no time.
  renter.folder.write("back",
                      "{\"time_s\": 1000, \"step\": 10, \"of\": 100}\n{\"accuracy\": 0.5}\n"
                      "{\"time_s\": 990, \"step\": 20, \"of\": 100}\n");
  renter.refused({"--resume", "state.json", "--watch", "back"}, {"back:3: time_s: expected a date that is not before 1000"});
  renter.folder.write("beyond", "{\"time_s\": 1, \"step\": 1, \"of\": 5}\n{\"time_s\": 2, \"step\": 6, \"of\": 5}\n");
  renter.refused({"--resume", "state.json", "--watch", "beyond"}, {"beyond:2: step: expected at most the 5 of \"of\", found 6"});
  renter.folder.write("at once", "{\"time_s\": 1, \"step\": 1, \"of\": 5}\n{\"time_s\": 1, \"step\": 2, \"of\": 5}\n");
  renter.refused({"--resume", "state.json", "--watch", "at once"}, {"two lines", "further on and later"});
  // What the command line refuses, a file may not say either.
  const std::string kept = text_of(renter.folder.path() + "/state.json");
  for (const auto& [from, to] : {std::pair{"\"confidence\": 90", "\"confidence\": 100"},
                                 {"\"spot\": \"no\"", "\"spot\": \"yes\""},
                                 {"\"spot_mean_up_h\": 24", "\"spot_mean_up_h\": 0"}}) {
    std::string other = kept;
    const std::size_t at = other.find(from);
    REQUIRE(at != other.npos);
    renter.folder.write("other.json", other.replace(at, std::string_view(from).size(), to));
    renter.refused({"--resume", "other.json", "--watch", "log"}, {"other.json:2:", "/options/"});
  }
  renter.folder.write("state.json", R"({"options": {"model": "resnet18"}})");
  renter.refused({"--resume", "state.json", "--watch", "log"}, {"a key \"chosen\""});
}

TEST_CASE("catalogue prices: a list renews instances, a further region is one of its own, and results name the date") {
  Renter renter;
  renter.folder.write("list.csv",
                      "instance,region,price,date\np3.2xlarge,us-east-1,1.5,2026-11-01\np3.2xlarge,eu-west-1,1.75,2026-11\n");
  const Ended ended = run_program(renter.folder.path(), {"catalogue", "prices", "list.csv", "-o", "prices.json"});
  CHECK(ended.status == 0);
  CHECK_THAT(ended.out, Catch::Contains("p3.2xlarge@eu-west-1") && Catch::Contains("3.06"));
  renter.folder.write("own.json", R"({"instances": {"p3.2xlarge": {"nodes": 1}}, "only_listed": true})");
  const Ended rented =
      renter.rent({"resnet18", "--dataset", "cifar10", "--epochs", "3", "--account", "own.json", "--catalogue", "prices.json"});
  CHECK_THAT(rented.out, Catch::Contains("Prices of 2026-11-01"));
  // The list says nothing of spot: what there was stays, and is told; of another region there was none.
  CHECK_THAT(ended.out, Catch::Contains("kept of"));
  CHECK_THAT(text_of(renter.folder.path() + "/prices.json"), Catch::Contains("spot_price_usd_per_hour"));
  CHECK_THAT(renter
                 .rent({"resnet18", "--dataset", "cifar10", "--epochs", "3", "--account", "own.json", "--catalogue",
                        "prices.json", "--spot", "only"})
                 .out,
             Catch::Contains("p3.2xlarge (spot)"));
  renter.folder.write("bad.csv", "instance,region,price,date\np3.2xlrge,us-east-1,-1,2026-13-01\n");
  const Ended bad = run_program(renter.folder.path(), {"catalogue", "prices", "bad.csv", "-o", "x.json"});
  CHECK(bad.status == 3);
  for (const char* part : {"bad.csv:2: instance", "p3.2xlarge", "bad.csv:2: date", "bad.csv:2: price"})
    CHECK_THAT(bad.err, Catch::Contains(part));
}

TEST_CASE("catalogue prices: a region in letters of another case is that region") {
  Renter renter;
  const auto prices = [&](const std::string& rows) {
    renter.folder.write("list.csv", "instance,region,price,date\n" + rows);
    return run_program(renter.folder.path(), {"catalogue", "prices", "list.csv", "-o", "prices.json"});
  };
  const std::string lower = prices("p3.2xlarge,us-east-1,1.5,2026-11\np3.2xlarge,eu-north1,2,2026-11\n").out;
  const std::string file = text_of(renter.folder.path() + "/prices.json");
  CHECK_THAT(lower, !Catch::Contains("p3.2xlarge@us-east-1"));
  CHECK(prices("p3.2xlarge,US-East-1,1.5,2026-11\np3.2xlarge,EU-North1,2,2026-11\n").out == lower);
  CHECK(text_of(renter.folder.path() + "/prices.json") == file);
  // A region that the catalogue does not know is as the list wrote it first.
  CHECK_THAT(prices("p3.2xlarge,Moon-1,1.5,2026-11\np3.8xlarge,moon-1,6,2026-11\n").out, Catch::Contains("p3.8xlarge@Moon-1"));
  const Ended twice = prices("p3.2xlarge,us-east-1,1.5,2026-11\np3.2xlarge,US-EAST-1,1.5,2026-11\n");
  CHECK(twice.status == 3);
  CHECK_THAT(twice.err, Catch::Contains("list.csv:3: instance: expected an instance in a region that is given once"));
}

TEST_CASE("rent: prices that the account says are called its own") {
  Renter renter;
  const auto rented = [&](const std::string& instances) {
    renter.folder.write("own.json", R"({"only_listed": true, "instances": {)" + instances + "}}");
    return renter.rent({"resnet18", "--dataset", "cifar10", "--epochs", "3", "--account", "own.json", "--csv", "all.csv"}).out;
  };
  CHECK_THAT(rented(R"("p3.8xlarge": {"price_usd_per_hour": 0})"), Catch::Contains("\nPrices are the account's; your own:"));
  CHECK_THAT(text_of(renter.folder.path() + "/all.csv"), !Catch::Contains("2022-12"));
  CHECK_THAT(rented(R"("p3.8xlarge": {"price_usd_per_hour": 0}, "p3.2xlarge": {"price_usd_per_hour": 4})"),
             Catch::Contains("\nPrices are the account's; your own:"));
  CHECK_THAT(rented(R"("p3.8xlarge": {"nodes": 1})"), Catch::Contains("\nPrices of 2022-12; your own:"));
}

TEST_CASE("results of a run name when the prices held: below the tables, in the summary, in the report") {
  const TemporaryFolder folder;
  folder.write("list.csv", "instance,region,price,date\np3.2xlarge,us-east-1,1.5,2026-11-01\np3.2xlarge,eu-west-1,2,2026-12\n");
  REQUIRE(run_program(folder.path(), {"catalogue", "prices", "list.csv", "-o", "prices.json"}).status == 0);
  folder.write("s.json", R"({ "cluster": { "catalogues": ["prices.json"],
      "instances": [ { "name": "mine", "devices": [ { "device": "v100" } ], "price_usd_per_hour": 1 } ],
      "pools": [ { "name": "here", "instance": "p3.2xlarge", "nodes": 1 },
        { "name": "there", "instance": "p3.2xlarge@eu-west-1", "nodes": 1 },
        { "name": "own", "instance": "mine", "nodes": 1,
          "prices_usd_per_hour": { "steps": [ { "time_s": 0, "value": 1 } ] } } ] },
    "jobs": [ { "model": "resnet18", "dataset": "cifar10", "epochs": 1 } ], "policies": [ "manual" ] })");
  const Ended ended = run_program(folder.path(), {"run", "s.json", "--out", "out"});
  REQUIRE(ended.status == 0);
  // The third pool has prices of its own: no date is missing of it.
  CHECK_THAT(ended.out, Catch::Contains("\nPrices of 2026-11-01 to 2026-12.\n"));
  CHECK_THAT(text_of(folder.path() + "/out/summary.json"),
             Catch::Contains("\"price_usd_per_hour\": 1.5, \"price_date\": \"2026-11-01\"") &&
                 Catch::Contains("\"price_usd_per_hour\": 1, \"price_date\": null"));
  // The page is a program that writes it of summary.json.
  CHECK_THAT(text_of(folder.path() + "/out/report.html"), Catch::Contains(", price of ${"));
}

TEST_CASE("catalogue prices: what a list cannot mean is refused at its place, and what it leaves standing is told") {
  const TemporaryFolder folder;
  const std::string head = "instance,region,price,date\n";
  const auto list = [&](const std::string& text) {
    folder.write("list.csv", text);
    return run_program(folder.path(), {"catalogue", "prices", "list.csv", "-o", "prices.json"});
  };
  const auto refused = [&](const std::string& text, const std::string& part) {
    INFO(text);
    const Ended ended = list(text);
    CHECK(ended.status == 3);
    CHECK_THAT(ended.err, Catch::Contains(part));
  };
  refused(head + "p3.2xlarge,us-east-1,,2026-05\n", "list.csv:2: price: expected a number from 0 to 1000000, found nothing");
  refused(head + "p3.2xlarge,us-east-1,-1,2026-05\n", "list.csv:2: price: expected");
  refused(head + "p3.2xlarge,us-east-1,2,2026-02-29\n", "list.csv:2: date: expected");  // no leap year
  CHECK(list(head + "p3.2xlarge,us-east-1,2,2028-02-29\n").status == 0);
  refused("instance;region;price;date\np3.2xlarge;us-east-1;2,5;2026-05-01\n", "separated by commas, found semicolons");
  refused(head + "p3.2xlarge,us-east-1,2,2026-05\np3.2xlarge,us-east-1,3,2026-05\n", "list.csv:3: instance: expected");
  refused("instance,region,price,price_usd_per_hour,date\np3.2xlarge,us-east-1,2,2,2026-05\n", "one column of prices");
  refused("instance,region,price,spot_price_usd_per_hour,date\np3.2xlarge,us-east-1,2,2.01,2026-05\n",
          "list.csv:2: spot_price_usd_per_hour: expected at most the price of the same row");
  CHECK(list("\xef\xbb\xbf" + head + "p3.2xlarge,us-east-1,2,2026-05\r\n").status == 0);
  // The catalogue's spot price of a p3.2xlarge, 0.918, is kept below 2 dollars, and dropped where the whole node costs half of
  // one.
  const Ended kept = list(head + "p3.2xlarge,us-east-1,2,2026-05\n");
  CHECK_THAT(kept.out, Catch::Contains("0.918, kept of 2022-12") && !Catch::Contains("Older"));
  const Ended dropped = list(head + "p3.2xlarge,us-east-1,0.5,2026-05\n");
  CHECK_THAT(dropped.out, Catch::Contains("-, the catalogue's 0.918 of 2022-12 is dearer"));
  CHECK_THAT(text_of(folder.path() + "/prices.json"), !Catch::Contains("spot_price_usd_per_hour"));
  // Of a date before the catalogue's; 2022 may be after 2022-12, and another region's date is not its own.
  CHECK_THAT(list(head + "p3.2xlarge,us-east-1,2,2021-05\np2.xlarge,us-east-1,1,2022\ng4dn.xlarge,eu-west-1,1,2020\n").out,
             Catch::EndsWith("Older than the catalogue's price: p3.2xlarge.\n"));
}

TEST_CASE("rent: an account in YAML is the account in JSON") {
  Renter renter;
  renter.folder.write("account.json",
                      R"({"instances": {"dgx-1": {"nodes": 1, "price_usd_per_hour": 0}}, "only_listed": true, "regions": []})");
  renter.folder.write("account.yaml",
                      "# ours\ninstances:\n  dgx-1: {nodes: 1, price_usd_per_hour: 0}\nonly_listed: true\nregions: []\n");
  const Ended json = renter.rent(with(kResnet, {"--account", "account.json"})),
              yaml = renter.rent(with(kResnet, {"--account", "account.yaml"}));
  REQUIRE(yaml.status == 0);
  CHECK(yaml.out == json.out);
  renter.folder.write("wrong.yml", "instances:\n  p4d.24xlrge:\n    nodes: 1\n");
  renter.refused(with(kResnet, {"--account", "wrong.yml"}), {"wrong.yml:2: ", "p4d.24xlrge", "did you mean"});
}

TEST_CASE("rent: what spot nodes have cost is a file, and is printed as what is assumed") {
  Renter renter;
  renter.folder.write("spot.csv", "instance,date,price\np3.8xlarge,2025-01-01,2\np3.8xlarge,2025-01-11,4\n");
  const Ended ended =
      renter.rent(with(kResnet, {"--clouds", "aws", "--spot", "only", "--spot-prices", "spot.csv", "--csv", "all.csv"}));
  REQUIRE(ended.status == 0);
  CHECK_THAT(text_of(renter.folder.path() + "/all.csv"), Catch::Contains("p3.8xlarge"));
  renter.folder.write("account.json", R"({"instances": {"p3.8xlarge": {"nodes": 4}}, "only_listed": true})");
  const Ended one = renter.rent({"resnet50", "--dataset", "imagenet", "--epochs", "5", "--spot", "only", "--spot-prices",
                                 "spot.csv", "--account", "account.json"});
  REQUIRE(one.status == 0);
  // Ten days at 2 $, and as many at 4 $.
  CHECK_THAT(one.out, Catch::Contains("Spot price of p3.8xlarge") && Catch::Contains("3 $/h in the mean") &&
                          Catch::Contains("2 to 4 in 80"));
  renter.refused(with(kResnet, {"--spot-prices", "spot.csv"}), {"--spot-prices", "--spot allowed"});
  renter.folder.write("bad.csv",
                      "instance,date,price\np3.8xlarg,2025-01-01,2\np3.8xlarge,yesterday,2\np3.2xlarge,2025-01-01,1\n");
  renter.refused(with(kResnet, {"--spot", "only", "--spot-prices", "bad.csv"}),
                 {"bad.csv:2: ", "did you mean \"p3.8xlarge\"", "bad.csv:3: ", "2025-03-01", "two prices of p3.2xlarge"});
}

TEST_CASE("rent: a network that PyTorch has printed") {
  Renter renter;
  const std::string file = REHEARSE_SOURCE_DIR "/tests/traces/networks/torch/residual_export.txt";
  const Ended ended = renter.rent({file, "--samples", "50k", "--epochs", "10", "--deadline", "1d"});
  CHECK(ended.err == "");
  CHECK(ended.status == 0);
  CHECK_THAT(ended.out, Catch::Contains("50,000 samples an epoch"));
}

namespace {

/// A record of a training of ResNet-50 on a V100, which took so many hours.
std::string record(const std::string& name, int epochs, double hours, const std::string& more = "") {
  return fmt::format(R"({{"name": "{}", "model": "resnet50", "samples": 1281167, "epochs": {}, "batch_size": 128,
    "instance": "p3.2xlarge", "hours": {}{}}})",
                     name, epochs, hours, more);
}

/// Its measured steps on one V100.
std::string steps(const std::vector<std::pair<int, double>>& rows) {
  std::string text = "model,dataset,device,batch_per_worker,step_s\n";
  for (const auto& [batch, step_s] : rows) text += fmt::format("resnet50,imagenet,v100,{},{}\n", batch, step_s);
  return text;
}

}  // namespace

TEST_CASE("rent --against records: errors, their median and the order, by hand") {
  Renter renter;
  // What rent itself expects of the whole training, at the same samples, in hours.
  const auto expected_h = [&](int epochs, const std::string& precision) {
    REQUIRE(renter
                .rent({"resnet50", "--dataset", "imagenet", "--epochs", std::to_string(epochs), "--batches", "128", "--clouds",
                       "aws", "--csv", "all.csv"})
                .status == 0);
    std::istringstream lines(text_of(renter.folder.path() + "/all.csv"));
    for (std::string line; std::getline(lines, line);) {
      std::vector<std::string> cells;
      std::istringstream row(line);
      for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
      if (cells[0] == "p3.2xlarge" && cells[5] == "1" && cells[9] == precision) return std::stod(cells[13]) / 3600;
    }
    throw std::invalid_argument("no row");
  };
  const double one = expected_h(10, "fp32"), two = expected_h(20, "fp32"), half = expected_h(30, "fp16");
  REQUIRE(one < two);
  REQUIRE(half < two);
  // Measured: as predicted, a quarter of it, four times it: errors 0, +300 and -75 %; log 1, log 4, log 4.
  renter.folder.write("records.json", R"({"about": "by hand", "records": [)" + record("as it is", 10, one) + "," +
                                          record("sooner", 20, two / 4) + "," +
                                          record("later", 30, 4 * half, R"(, "precision": "fp16")") + "]}");
  const Ended ended = renter.rent({"--against", "records.json"});
  INFO(ended.err);
  REQUIRE(ended.status == 0);
  const auto line = [&](const std::string& name) {
    const auto at = ended.out.find("\n" + name);
    REQUIRE(at != std::string::npos);
    return ended.out.substr(at + 1, ended.out.find('\n', at + 1) - at);
  };
  // Checkpoints are in the plan and not in records: a thousandth.
  CHECK_THAT(line("as it is"), Catch::Contains(" +0 % ") || Catch::Contains(" -0 % "));
  CHECK_THAT(line("sooner"), Catch::Contains(" +300 % ") || Catch::Contains(" +299 % "));
  CHECK_THAT(line("later"), Catch::Contains(" -75 % "));
  CHECK_THAT(ended.out, Catch::Contains(", 1 within 30 %") && Catch::Contains(": 1.39 in the median, 1.39 at most"));
  // Two records whose order is turned round.
  renter.folder.write("turned.json",
                      R"({"records": [)" + record("as it is", 10, one) + "," + record("sooner", 20, one / 2) + "]}");
  CHECK_THAT(renter.rent({"--against", "turned.json"}).out, Catch::Contains("2 records: rank correlation -1.00"));
  renter.folder.write("one.json", R"({"records": [)" + record("alone", 10, one) + "]}");
  CHECK_THAT(renter.rent({"--against", "one.json"}).out, Catch::Contains("1 record: rank correlation -,"));
}

TEST_CASE("rent --against: mistakes of records, and options of a plan") {
  Renter renter;
  renter.folder.write("none.json", R"({"records": []})");
  renter.refused({"--against", "none.json"}, {"none.json: expected records, found none"});
  renter.folder.write("hours.json",
                      R"({"records": [{"name": "x", "model": "resnet50", "samples": 1, "epochs": 1, "batch_size": 1,
    "instance": "p3.2xlarge"}]})");
  renter.refused({"--against", "hours.json"}, {"hours.json:1:", "/records/0: expected hours"});
  std::string elsewhere = record("x", 1, 1);
  elsewhere.replace(elsewhere.find("p3.2xlarge"), 10, "p3.3xlarge");
  renter.folder.write("place.json", R"({"records": [)" + elsewhere + "]}");
  renter.refused({"--against", "place.json"}, {"place.json: x: expected an instance of the catalogue", "p3.3xlarge"});
  renter.folder.write("steps.csv", steps({{64, 0.2}}));
  CHECK(renter.rent({"--against", "steps.csv"}).status == 0);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"resnet50"}, {"--deadline", "3h"}, {"--stack", "pytorch-1"}}) {
    const Ended ended = renter.rent(with({"--against", "steps.csv"}, more));
    CHECK(ended.status == 2);
    CHECK_THAT(ended.err, Catch::Contains("beside --against"));
  }
}

TEST_CASE("rent --against measured steps: what the chosen one costs more, by hand") {
  Renter renter;
  const auto said = [&](const std::vector<std::string>& files) {
    std::vector<std::string> options;
    for (const std::string& file : files) options.insert(options.end(), {"--against", file});
    const Ended ended = renter.rent(options);
    INFO(ended.err);
    CHECK(ended.status == 0);
    return ended.out;
  };
  // The first row is known, the second six times as fast as that device is fitted to be: it is not chosen, and not covered. A
  // sample costs 0.35/128 and 0.05/64 of the same price: 3.5 times as much.
  renter.folder.write("two.csv", steps({{128, 0.35}, {64, 0.05}}));
  const std::string two = said({"two.csv"});
  CHECK_THAT(two, Catch::Contains("two.csv: 1 task. From half of the rows the chosen costs 250 % more") &&
                      Catch::Contains("intervals cover 0 % of the rows that were not known") &&
                      Catch::Contains("and 100 % of the chosen. From data sheets alone: 250 % more in the median\n"));
  // A K80 with 0.1 s costs 0.9 $ an hour, the V100 with 0.35 s 3.06 $: 11.9 times as much. Nobody expects it of a K80.
  renter.folder.write("devices.csv", steps({{128, 0.35}}) + "resnet50,imagenet,k80,128,0.1\n");
  CHECK_THAT(said({"devices.csv"}),
             Catch::Contains("With the best device's rows left out altogether: 1090 % more in the median, 1090 % at p90"));
  // Three sets at once, twice and four times the time: logarithms a, a + l, a + 2 l, with l = log 2. Their variance 2/3 l^2, of
  // a sample l^2, for one more 4/3 l^2: 0.80. Without the first the others' is 1/2 l^2, for one more 3/4 l^2: their interval
  // reaches 1.28 x 0.87 l = 1.11 l from a + 1.5 l, and a lies below it; the middle one lies in its own, the last above it.
  for (const int times : {1, 2, 4}) renter.folder.write(fmt::format("x{}.csv", times), steps({{64, 0.2 * times}}));
  const std::string groups = said({"x1.csv", "x2.csv", "x4.csv"});
  CHECK_THAT(groups, Catch::Contains("one worker, 3 groups of set and device") &&
                         Catch::Contains("deviation of the logarithm 0.80;") &&
                         Catch::Contains("cover 33 % of it, and their upper 90 % bounds 67 %"));
  CHECK_THAT(groups, !Catch::Contains("not known"));  // each set's only row is known
}
