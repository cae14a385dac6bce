// The zoo against published figures. Multiply-adds are those of convolutions and matrix products, half of their FLOPs.
#include "workloads/zoo/zoo.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>

#include "sim/base/errors.hpp"
#include "workloads/layers/account.hpp"
#include "workloads/zoo/models.hpp"

using namespace rehearse::workloads;
namespace sim = rehearse::sim;

namespace {

struct Published {
  const char* model;
  double parameters, multiply_adds;
};

}  // namespace

TEST_CASE("parameters are the published ones, to the last one where they are printed so", "[zoo]") {
  // torchvision's weights (alexnet: 61,100,840 and so on); Inception-v3 there has 27,161,264 with its auxiliary head of
  // 3,326,696.
  CHECK(zoo_graph("alexnet").parameters == 61'100'840);
  CHECK(zoo_graph("vgg16").parameters == 138'357'544);
  CHECK(zoo_graph("vgg19").parameters == 143'667'240);
  CHECK(zoo_graph("resnet18").parameters == 11'689'512);
  CHECK(zoo_graph("resnet34").parameters == 21'797'672);
  CHECK(zoo_graph("resnet50").parameters == 25'557'032);
  CHECK(zoo_graph("resnet101").parameters == 44'549'160);
  CHECK(zoo_graph("resnet152").parameters == 60'192'808);
  CHECK(zoo_graph("inception-v3").parameters == 27'161'264 - 3'326'696);
  // ResNet-18 with CIFAR's stem: 11,173,962 in the usual implementations.
  CHECK(zoo_graph("resnet18", "cifar10").parameters == 11'173'962);
  // GPT-2 small with its tied classifier; BERT-base for question answering (no pooler, two outputs).
  CHECK(zoo_graph("gpt2").parameters == 124'439'808);
  CHECK(zoo_graph("bert").parameters == 108'893'186);
  // PyTorch's DCGAN example: 3,576,704 + 2,765,568; its discriminator is applied three times here, and counted once.
  CHECK(zoo_graph("dcgan").parameters == 3'576'704 + 2'765'568);
  // ResNet-32: 0.46 M (He et al., table 6), 464,154 without projections; two of them, 16 x 32 + 64 and 32 x 64 + 128 numbers.
  CHECK(zoo_graph("resnet32").parameters == 464'154 + 16 * 32 + 64 + 32 * 64 + 128);
  // Zaremba's large model: 10,000 x 1500 + 2 x 4 x 1500 x (3000 + 1) + (1500 + 1) x 10,000, "66 million".
  CHECK(zoo_graph("rnnlm").parameters == 15e6 + 36'012'000 + 15'010'000);
  // LSTM-8192-1024, "1.8 B": two tables of 793,471 x 1024, a bias a word, and 151,060,480 numbers of the recurrent layers
  // (Kuchaiev and Ginsburg 2017, Table 1), twice 4 x 8192 x (1024 + 1024 + 1) + 8192 x 1024.
  CHECK(zoo_graph("big-lstm").parameters == 2 * 793'471.0 * 1024 + 793'471 + 151'060'480);
  CHECK(2 * (4 * 8192 * 2049 + 8192 * 1024) == 151'060'480);
  // GNMT of MLPerf v0.5: 160,671,297 with cuDNN's second bias (9 x 4096 numbers) and normalised additive attention.
  CHECK(zoo_graph("nmt").parameters == Approx(160'671'297 - 9 * 4096).epsilon(2e-4));
  // Trainable parameters of the usual Keras port; with the running means and variances of its batch norms 62,001,757, the numbers
  // in the authors' yolov3.weights. PASCAL VOC has 60 outputs fewer for each of three scales' anchors.
  CHECK(zoo_graph("yolov3").parameters == 61'949'149);
  CHECK(zoo_graph("yolov3", "voc").parameters == 61'949'149 - 180.0 * (1024 + 512 + 256 + 3));
  // Ioffe and Szegedy print no count; the authors' released weights have 11.2 M.
  CHECK(zoo_graph("inception-v2").parameters == Approx(11.2e6).epsilon(0.01));
}

TEST_CASE("DeepSpeech-2's parameters, by hand", "[zoo]") {
  // 161 frequencies -> 81 -> 41. Convolutions 32 x (1 x 451 + 1) and 32 x (32 x 231 + 1), two batch norms of 64; first GRU
  // 2 x 3 x 800 x (32 x 41 + 800 + 1), four of 2 x 3 x 800 x (800 + 800 + 1), five batch norms of 1600, 800 x 29.
  const double expected = 32 * 452 + 32 * (32 * 231 + 1) + 2 * 64 + 4800.0 * 2113 + 4 * 4800.0 * 1601 + 5 * 1600 + 800 * 29;
  CHECK(zoo_graph("deepspeech2").parameters == expected);
}

TEST_CASE("forward multiply-adds are the published ones", "[zoo]") {
  // torchvision's table of models (GFLOPS there are multiply-adds); Inception-v2: "2.0 G" is Szegedy's figure for BN-Inception.
  const Published rows[] = {{"alexnet", 0, 0.714e9},   {"vgg16", 0, 15.47e9},     {"vgg19", 0, 19.63e9},
                            {"resnet18", 0, 1.814e9},  {"resnet34", 0, 3.664e9},  {"resnet50", 0, 4.089e9},
                            {"resnet101", 0, 7.801e9}, {"resnet152", 0, 11.51e9}, {"inception-v3", 0, 5.713e9}};
  for (const Published& row : rows) {
    INFO(row.model);
    CHECK(account_of(zoo_network(row.model)).multiply_adds == Approx(row.multiply_adds).epsilon(0.003));
  }
  // Darknet prints 65.864 billion operations for yolov3.cfg at 416 x 416, two a multiply-add (the paper's table 3: 65.86).
  CHECK(account_of(zoo_network("yolov3")).multiply_adds == 65'864'075'264 / 2.0);
  CHECK(account_of(zoo_network("inception-v2")).multiply_adds == Approx(2.0e9).epsilon(0.03));
  // 0.56 G multiply-adds of the usual CIFAR ResNet-18, 69 M of ResNet-32.
  CHECK(account_of(zoo_network("resnet18", "cifar10")).multiply_adds == Approx(0.556e9).epsilon(0.005));
  CHECK(account_of(zoo_network("resnet32")).multiply_adds == Approx(69e6).epsilon(0.01));
  // 35 x (2 x 4 x 1500 x 3000 + 1500 x 10,000)
  CHECK(account_of(zoo_network("rnnlm")).multiply_adds == 35.0 * (36e6 + 15e6));
  // 20 x (2 x (4 x 8192 x 2048 + 8192 x 1024) + 1024 x 793,471)
  CHECK(account_of(zoo_network("big-lstm")).multiply_adds == 20.0 * (150'994'944 + 812'514'304));
  // BERT: 384 x (12 x 12 x 768^2 + 2 x 768) and twice 12 x 384^2 x 768 of attention.
  CHECK(account_of(zoo_network("bert")).multiply_adds == 384.0 * (144.0 * 768 * 768 + 1536) + 2 * 12.0 * 384 * 384 * 768);
}

TEST_CASE("a training step is about three forward passes", "[zoo]") {
  for (const ZooEntry& entry : zoo()) {
    INFO(entry.name);
    double forward = 0, backward = 0;
    const sim::OpGraph graph = zoo_graph(entry.name);
    for (const sim::Op& op : graph.ops)
      if (op.matrix.m.at(1) > 0) (op.phase == sim::Phase::forward ? forward : backward) += op.flops.at(1);
    CHECK(backward / forward > 1.75);  // the first layer has no data gradient
    CHECK(backward / forward <= 2.0001);
  }
}

TEST_CASE("the registry", "[zoo]") {
  std::set<std::string_view> names;
  for (const ZooEntry& entry : zoo()) {
    INFO(entry.name);
    CHECK(names.insert(entry.name).second);
    CHECK(entry.build(dataset(entry.dataset)).name == entry.name);
    CHECK(entry.global_batch > 0);
    CHECK(!entry.global_batch_source.empty());
    CHECK(zoo_graph(entry.name).input_bytes.at(2) == 2 * dataset(entry.dataset).bytes_per_sample);
  }
  try {
    zoo_entry("resnet5O");
    FAIL("an unknown model");
  } catch (const sim::InputError& error) {
    CHECK(error.mistakes().at(0).nearest == "resnet50");
  }
  CHECK_THROWS_AS(dataset("image-net"), sim::InputError);
  CHECK_THROWS_AS(zoo_graph("rnnlm", "imagenet"), sim::InputError);        // an image is no sequence of tokens
  CHECK_THROWS_AS(zoo_graph("inception-v3", "cifar10"), sim::InputError);  // too small for its windows
}
