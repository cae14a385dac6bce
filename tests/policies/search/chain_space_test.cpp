#include <catch2/catch.hpp>
#include <cmath>

#include "policies/search/spaces.hpp"
#include "tests/policies/search/chains.hpp"

using namespace rehearse;
using namespace rehearse::policies;
using rehearse::tests::Chains;

TEST_CASE("candidates of a chain space") {
  const Chains chains;
  const ChainSpace& space = *chains.space;
  const Genes genes{1, 0, 1, 0};
  CHECK(space.name(genes) == "layers=6 pool=a workers=2 batch=128");
  CHECK(space.configuration(genes).groups == std::vector<sim::Group>{{.pool = 0, .workers = 2, .batch_per_worker = 64}});
  CHECK(space.architecture(genes) == 1);
  const Measures whole = space.measure(genes, 1), third = space.measure(genes, 1.0 / 3), least = space.measure(genes, 1e-9);
  REQUIRE(whole.fits);
  CHECK(space.epochs(1) == 9);
  CHECK(space.epochs(1.0 / 3) == 3);
  CHECK(space.epochs(1e-9) == 1);
  // Only the accuracy hangs on how long it has trained.
  CHECK(whole.accuracy > third.accuracy);
  CHECK(third.accuracy > least.accuracy);
  CHECK(whole.training_s == third.training_s);
  CHECK(whole.gpu_hours == Approx(2 * whole.training_s / 3600));
  // A GPU of the node is a quarter of its price.
  CHECK(whole.cost_usd == Approx(2 * whole.training_s / 3600));
  // Latency and memory are the architecture's and the batch's, wherever it is trained.
  const Measures elsewhere = space.measure({1, 1, 0, 0}, 1);
  CHECK(elsewhere.latency_s == whole.latency_s);
  CHECK(elsewhere.training_s < whole.training_s);
  CHECK(space.measure({0, 0, 1, 0}, 1).latency_s < whole.latency_s);
  CHECK(space.measure({1, 1, 0, 1}, 1).memory_bytes > elsewhere.memory_bytes);
}

TEST_CASE("candidates that do not fit") {
  const Chains chains;
  CHECK_FALSE(chains.space->measure({0, 1, 1, 0}, 1).fits);  // two workers, one device
  // 8192 samples of 64 filters at 32 x 32 in 4-byte numbers are 2.1 GB a layer: over the 12 GB of a K80.
  CHECK_FALSE(chains.space->measure({1, 0, 0, 1}, 1).fits);
  CHECK(chains.space->measure({1, 0, 0, 0}, 1).fits);
}
