#include "workloads/training/architecture_accuracy.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "workloads/layers/structure.hpp"
#include "workloads/training/convergence.hpp"

using namespace rehearse::workloads;

namespace {

struct Published {
  const char* name;
  int blocks, filters;
  double parameters, error;
};

}  // namespace

TEST_CASE("errors of residual networks on CIFAR-10 against published ones") {
  // He et al. (CVPR 2016), Table 6; Zagoruyko and Komodakis (BMVC 2016), Tables 4 and 5. One block is two convolutions.
  const Published published[] = {
      {"ResNet-20", 9, 16, 0.27e6, 0.0875},  {"ResNet-32", 15, 16, 0.46e6, 0.0751},  {"ResNet-56", 27, 16, 0.85e6, 0.0697},
      {"ResNet-110", 54, 16, 1.7e6, 0.0643}, {"WRN-40-2", 18, 32, 2.2e6, 0.0533},    {"WRN-40-4", 18, 64, 8.9e6, 0.0497},
      {"WRN-16-8", 6, 128, 11.0e6, 0.0481},  {"WRN-28-10", 12, 160, 36.5e6, 0.0417},
  };
  double squares = 0;
  for (const Published& p : published) {
    INFO(p.name);
    const CnnStructure structure = residual_cnn(p.blocks, p.filters, 3, 32);
    CHECK(structure_features(make_network(structure)).parameters == Approx(p.parameters).epsilon(0.05));
    CHECK(cnn_error(structure) == Approx(p.error).epsilon(0.16));
    squares += std::pow(std::log(cnn_error(structure) / p.error), 2);
  }
  CHECK(std::sqrt(squares / std::size(published)) < 0.08);
}

TEST_CASE("smaller images, fewer blocks and fewer filters have larger errors") {
  const double error = cnn_error(residual_cnn(9, 16, 3, 32));
  // (16 / 32)^-0.27 = 1.2058; nothing else changes: there are three sizes of image all the same.
  CHECK(cnn_error(residual_cnn(9, 16, 3, 16)) == Approx(1.2058 * error).epsilon(1e-4));
  CHECK(cnn_error(residual_cnn(6, 16, 3, 32)) > error);
  CHECK(cnn_error(residual_cnn(9, 12, 3, 32)) > error);
  CHECK(cnn_error(residual_cnn(1, 1, 1, 8)) == 0.9);
}

TEST_CASE("perplexities of LSTMs on the Penn Treebank against published ones") {
  // Zaremba et al. 2014, Table 1 (validation): two layers of 200, 650, 1500.
  const auto perplexity = [](int layers, int hidden) { return std::exp(lstm_error(layers, hidden) * std::log(10000)); };
  CHECK(perplexity(2, 200) == Approx(120.7).epsilon(0.03));
  CHECK(perplexity(2, 650) == Approx(86.2).epsilon(0.03));
  CHECK(perplexity(2, 1500) == Approx(82.2).epsilon(0.03));
  // (0.47 + 0.05) x (1 + 0.03 x (1 - 0.5))
  CHECK(lstm_error(1, 200) == Approx(0.5278));
}

TEST_CASE("training to another accuracy takes the same steps") {
  const ConvergenceParameters& fit = *find_convergence("resnet18", "cifar10");
  const ConvergenceParameters other = trained_to(fit, 0.8);
  CHECK(mistakes_in(other).empty());
  const double steps = fit.reference_epochs * fit.training_samples / fit.reference_batch;
  const TrainingState end{.progress = steps, .examples = 1.0, .log2_batch_examples = std::log2(fit.reference_batch)};
  TrainingState half = end;
  half.progress /= 2;
  CHECK(accuracy(other, {}, end) == Approx(0.8));
  CHECK(accuracy(other, {}, half) / 0.8 == Approx(accuracy(fit, {}, half) / accuracy(fit, {}, end)));
}
