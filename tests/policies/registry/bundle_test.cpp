#include "policies/registry/bundle.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "policies/registry/registry.hpp"
#include "sim/base/errors.hpp"
#include "tests/policies/configure/strategies.hpp"

using namespace rehearse::policies;
namespace sim = rehearse::sim;
using rehearse::tests::Bundled;
using rehearse::tests::configuration;
using rehearse::tests::real_cluster;
using rehearse::tests::RealWorld;

namespace {

template <class Entry>
void check_entries(const std::vector<Entry>& entries) {
  std::set<std::string> names;
  for (const Entry& entry : entries) {
    INFO(entry.name);
    CHECK(names.insert(entry.name).second);
    CHECK_FALSE(entry.help.empty());
    CHECK(entry.help.find('\n') == std::string::npos);
    CHECK(find_strategy(entries, entry.name) == &entry);
    for (const ParameterDeclaration& parameter : entry.parameters) {
      INFO(parameter.name);
      CHECK_FALSE(parameter.help.empty());
      if (const double* number = std::get_if<double>(&parameter.fallback)) {
        CHECK(*number >= parameter.low);
        CHECK(*number <= parameter.high);
      }
      if (const std::string* text = std::get_if<std::string>(&parameter.fallback); text && !parameter.choices.empty())
        CHECK(std::count(parameter.choices.begin(), parameter.choices.end(), *text) == 1);
    }
  }
  CHECK(find_strategy(entries, "no such strategy") == nullptr);
}

const RealWorld& small() {
  static const RealWorld real(real_cluster({{"slow", "k80", 4, 1, 0.9}, {"fast", "v100", 2, 4, 12}}), {{"resnet18", "cifar10"}});
  return real;
}

sim::Job job(std::string name = "j") {
  return {.name = std::move(name), .profile = &small().profile(), .work = sim::Work::train, .target_accuracy = 0.8};
}

}  // namespace

TEST_CASE("whoever watches sees how many configurations a strategy has had predicted") {
  Bundled bundled(small());
  sim::AtWork at_work;
  BundleInputs inputs = bundled.inputs();
  inputs.at_work = &at_work;
  const PolicySpec one{.name = "one a job"}, each{.name = "each candidate", .configure = {"random-feasible", {}}};
  Bundle manual(one, inputs);
  manual.configure(job(), 0);
  CHECK(at_work.predicted == 1);
  manual.configure(job("k"), 0);
  CHECK(at_work.predicted == 2);
  Bundle every(each, inputs);
  const std::size_t candidates = every.configure(job(), 0).ranked.size();
  REQUIRE(candidates > 10);
  CHECK(at_work.predicted == 2 + candidates);
}

TEST_CASE("two strategies of one name are found at the start of the program") {
  CHECK_NOTHROW(check_registry());
  std::vector<QueueEntry> queues = queue_strategies();
  queues.push_back(queues.front());
  CHECK_THROWS_WITH(check_names("queue", queues),
                    Catch::Contains("two queue strategies are registered as \"" + queues.front().name + "\""));
}

TEST_CASE("every strategy has its own name, its help and defaults within their limits, and can be made", "[registry]") {
  check_entries(configure_strategies());
  check_entries(place_strategies());
  check_entries(threads_strategies());
  check_entries(queue_strategies());
  for (const ConfigureEntry& entry : configure_strategies()) {
    INFO(entry.name);
    const Parameters defaults(entry.parameters, {});
    REQUIRE((entry.make != nullptr) + (entry.make_oracle != nullptr) + (entry.make_agent != nullptr) == 1);
    // Only what is named an oracle may see the world.
    CHECK((entry.make_oracle != nullptr) == (entry.name.find("oracle") != std::string::npos));
    if (entry.make != nullptr)
      CHECK(entry.make(defaults) != nullptr);
    else if (entry.make_agent != nullptr)
      CHECK(entry.make_agent(defaults, nullptr) != nullptr);
    else
      CHECK(entry.make_oracle(defaults) != nullptr);
  }
  for (const PlaceEntry& entry : place_strategies()) CHECK(entry.make(Parameters(entry.parameters, {}), {}) != nullptr);
  for (const ThreadsEntry& entry : threads_strategies()) CHECK(entry.make(Parameters(entry.parameters, {}), 1) != nullptr);
  for (const QueueEntry& entry : queue_strategies()) CHECK(entry.make(Parameters(entry.parameters, {})) != nullptr);
}

TEST_CASE("who chooses what a learner measures: its own way, nobody, or the value of information", "[registry]") {
  const auto probing = [](const char* strategy, const char* how) {
    return learning_of(*find_strategy(configure_strategies(), strategy), {{"probing", std::string(how)}}).probing;
  };
  for (const ConfigureEntry& entry : configure_strategies()) {
    const bool learns = std::any_of(entry.parameters.begin(), entry.parameters.end(),
                                    [](const ParameterDeclaration& parameter) { return parameter.name == "probing"; });
    INFO(entry.name);
    CHECK(learns == (entry.uses_history && entry.name.find("staged") != 0));
    if (!learns) continue;
    CHECK(probing(entry.name.c_str(), "random") == Probing::random);
    CHECK(probing(entry.name.c_str(), "active") == Probing::active);
  }
  CHECK(probing("bayes-opt", "own") == Probing::own);
  CHECK(probing("static-isotonic-shared", "own") == Probing::own);
  CHECK(probing("static-isotonic", "own") == Probing::active);  // its own way
}

TEST_CASE("a prior factor multiplies what static-isotonic believes in", "[registry]") {
  const ConfigureEntry& entry = *find_strategy(configure_strategies(), "static-isotonic");
  const Learning usual = learning_of(entry, {}), wide = learning_of(entry, {{"prior_factor", 2.0}});
  CHECK(wide.envelope.time_noise == Approx(2 * usual.envelope.time_noise));
  CHECK(wide.envelope.epoch_noise == Approx(2 * usual.envelope.epoch_noise));
  CHECK(wide.margins.time == Approx(2 * usual.margins.time));
  CHECK(wide.margins.epochs == Approx(2 * usual.margins.epochs));
  CHECK(wide.envelope.probability == usual.envelope.probability);
  CHECK(wide.spread_factor == 2);
  for (const char* name : {"parametric", "bayes-opt", "staged-mpc", "staged-rl", "static-isotonic"}) {
    const auto& parameters = find_strategy(configure_strategies(), name)->parameters;
    CHECK(std::count_if(parameters.begin(), parameters.end(), [](const auto& p) { return p.name == "prior_factor"; }) == 1);
  }
}

TEST_CASE("parameters: given values go before defaults, undeclared ones are our own bug", "[registry]") {
  const std::vector<ParameterDeclaration> declared{
      {.name = "share", .fallback = 0.5}, {.name = "eager", .fallback = true}, {.name = "kind", .fallback = std::string("a")}};
  const Parameters p(declared, {{"share", 0.25}, {"kind", std::string("b")}});
  CHECK(p.number("share") == 0.25);
  CHECK(p.flag("eager"));
  CHECK(p.text("kind") == "b");
  CHECK_THROWS_AS(p.number("eager"), sim::CheckFailed);
  CHECK_THROWS_AS(p.number("other"), sim::CheckFailed);
}

TEST_CASE("a policy's stream depends on its kind, the seed and the job, not on its name", "[bundle]") {
  Bundled bundled(small());
  const auto ranked = [&](const PolicySpec& spec, const std::string& of, std::uint64_t seed = 1) {
    std::vector<sim::Configuration> order;
    for (const sim::Choice& choice : Bundle(spec, bundled.inputs(seed)).configure(job(of), 0).ranked)
      order.push_back(choice.configuration);
    return order;
  };
  const PolicySpec spec{.name = "one", .configure = {"random-feasible", {}}};
  PolicySpec renamed = spec, with_own_seed = spec;
  renamed.name = "two";
  with_own_seed.policy_seed = 2;
  const auto here = ranked(spec, "j");
  CHECK(here == ranked(spec, "j"));
  CHECK(here == ranked(renamed, "j"));
  CHECK(here != ranked(spec, "k"));
  CHECK(here != ranked(spec, "j", 2));
  CHECK(ranked(with_own_seed, "j") == ranked(spec, "j", 2));
  // What was asked before changes nothing.
  Bundle busy(spec, bundled.inputs());
  busy.configure(job("other"), 0);
  CHECK(busy.configure(job("j"), 0).ranked.front().configuration == here.front());
}

TEST_CASE("every strategy answers a menu of the grid, with predictions", "[bundle]") {
  Bundled bundled(small());
  bundled.history = RunHistory({{.model = "resnet18",
                                 .dataset = "cifar10",
                                 .instance = "node of fast",
                                 .workers = 2,
                                 .batch_size = 128,
                                 .samples = 50'000,
                                 .epochs = 20,
                                 .time_s = 400,
                                 .accuracy = 0.85}});
  for (const ConfigureEntry& entry : configure_strategies()) {
    INFO(entry.name);
    const sim::Menu menu = bundled.menu(entry.name, job());
    REQUIRE_FALSE(menu.ranked.empty());
    CHECK(menu.feasible == menu.ranked.front().predicted.feasible);
    for (const sim::Choice& choice : menu.ranked) CHECK(sim::could_ever_fit(small().cluster, choice.configuration));
  }
}

TEST_CASE("bayes-opt takes manual's choice or one that was measured", "[bundle]") {
  Bundled bundled(small());
  std::vector<PastRun> runs;
  for (const int workers : {1, 2, 4})
    runs.push_back({.model = "resnet18",
                    .dataset = "cifar10",
                    .instance = "node of fast",
                    .workers = workers,
                    .batch_size = 128,
                    .samples = 50'000,
                    .epochs = 20,
                    .time_s = 400.0 / workers,
                    .accuracy = 0.85});
  bundled.history = RunHistory(runs);
  const auto ranked = [&](const std::string& recommends) {
    const PolicySpec spec{.name = "p", .configure = {"bayes-opt", {{"recommends", recommends}}}};
    return Bundle(spec, bundled.inputs()).configure(job(), 0).ranked;
  };
  const sim::Configuration manual = bundled.menu("manual", job()).ranked.front().configuration;
  CHECK(ranked("measured").size() <= 4);
  CHECK(ranked("predicted").size() > 4);
  for (const sim::Choice& choice : ranked("measured")) {
    const sim::Configuration& c = choice.configuration;
    const bool was_measured = c.batch_size() == 128 && (c.workers() == 1 || c.workers() == 2 || c.workers() == 4);
    CHECK((c == manual || was_measured));
  }
}

TEST_CASE("the manual reference is the manual choice alone in the world", "[bundle]") {
  Bundled bundled(small(), {});
  const PolicySpec spec{.name = "oracle", .configure = {"oracle", {}}};
  Bundle oracle(spec, bundled.inputs());
  const double reference = oracle.manual_alone_usd(job());
  const sim::Menu manual = bundled.menu("manual", job());
  CHECK(reference == bundled.truth(job(), manual.ranked.front()).cost_usd);
  CHECK(reference > 0);
  const PolicySpec same{.name = "manual"};
  CHECK(Bundle(same, bundled.inputs()).manual_alone_usd(job()) == reference);
  // A rigid job: what its own run costs, in the first pool that has the GPUs: 8 of 2 nodes of 4 at 12 dollars an hour.
  const sim::Job rigid{.name = "r", .gpus = 8, .duration_s = 3600};
  CHECK(oracle.manual_alone_usd(rigid) == Approx(24));
  const sim::Job fits_nowhere{.name = "r", .gpus = 9, .duration_s = 3600};
  CHECK(std::isnan(oracle.manual_alone_usd(fits_nowhere)));
  // VGG-16 with 512 samples a K80: no pool holds the batch that its user insists on with one GPU.
  const RealWorld one(real_cluster({{"slow", "k80", 1, 1, 0.9}}), {{"vgg16", "imagenet"}});
  Bundled too_small(one);
  const PolicySpec any{.name = "oracle", .configure = {"oracle", {}}};
  CHECK(std::isnan(
      Bundle(any, too_small.inputs())
          .manual_alone_usd(
              {.name = "v", .profile = &one.profile(), .work = sim::Work::steps, .gpus = 1, .steps = 10, .batch_size = 512})));
}

TEST_CASE("the manual reference is priced by the scenario's billing", "[bundle]") {
  // A rigid job of 3 GPUs for an hour, in the pool of two nodes of 4 at 12 dollars: 3/4 of a node, a whole one, or both.
  for (const auto& [billing, usd] :
       {std::pair{sim::Billing::allocated, 9.0}, {sim::Billing::node, 12.0}, {sim::Billing::pool, 24.0}}) {
    Bundled bundled(small());
    bundled.costs.billing = billing;
    const PolicySpec spec{.name = "manual"};
    CHECK(Bundle(spec, bundled.inputs()).manual_alone_usd({.name = "r", .gpus = 3, .duration_s = 3600, .pool = 1}) ==
          Approx(usd));
  }
}

TEST_CASE("a job that breaks its limits is never charged nothing while some choice could run", "[bundle]") {
  // VGG-16 at batch 512 fits no single K80, which is what the trace gave it; with 8 GPUs it would run.
  const RealWorld real(real_cluster({{"slow", "k80", 8, 1, 0.9}}), {{"vgg16", "imagenet"}});
  Bundled bundled(real);
  const sim::Job traced{.name = "t",
                        .profile = &real.profile(),
                        .work = sim::Work::steps,
                        .gpus = 1,
                        .duration_s = 3600,
                        .steps = 1000,
                        .batch_size = 512};
  REQUIRE_FALSE(bundled.truth(traced, {.configuration = configuration(0, 1, 512)}).fits);
  REQUIRE(bundled.truth(traced, {.configuration = configuration(0, 8, 64)}).fits);
  const PolicySpec spec{.name = "manual"};
  CHECK(Bundle(spec, bundled.inputs()).manual_alone_usd(traced) > 0);
}

TEST_CASE("a policy whose knobs are not all free chooses among what differs from manual in the free ones", "[bundle]") {
  Bundled bundled(small());
  const auto menu = [&](const FreeKnobs& free) {
    return Bundle({.name = "p", .configure = {"oracle", {}}, .free = free}, bundled.inputs()).configure(job(), 0).ranked;
  };
  const sim::Choices all = menu({});
  const sim::Choices manual = menu({.pool = false, .workers = false, .batch = false});
  REQUIRE(manual.size() == 1);
  const sim::Group& start = manual.front().configuration.groups.front();
  CHECK(manual.front().configuration == bundled.menu("manual", job()).ranked.front().configuration);
  for (const bool pool : {false, true}) {
    for (const bool workers : {false, true}) {
      for (const bool batch : {false, true}) {
        INFO(pool << workers << batch);
        std::size_t expected = 0;
        for (const sim::Choice& choice : all) {
          const sim::Group& group = choice.configuration.groups.front();
          expected += (pool || group.pool == start.pool) && (workers || group.workers == start.workers) &&
                      (batch || choice.configuration.batch_size() == manual.front().configuration.batch_size());
        }
        CHECK(menu({.pool = pool, .workers = workers, .batch = batch}).size() == expected);
        CHECK((expected > 1) == (pool || workers || batch));
      }
    }
  }
}
