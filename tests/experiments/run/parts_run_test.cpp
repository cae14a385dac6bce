// Jobs that hold parts of several GPUs, under every queue: what they hold and pay for is their parts.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <map>

#include "experiments/load.hpp"
#include "experiments/run/run.hpp"
#include "policies/registry/registry.hpp"
#include "sim/base/random.hpp"
#include "sim/io/csv.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

struct Held {
  int jobs = 0;
  double device_s = 0, cost_usd = 0;
};

/// By queue: of all jobs of the trace, on the cluster of the scenario with every queue.
std::map<std::string, Held> replayed(const std::string& pool, const std::string& format, const std::string& trace) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/trace") << trace;
  std::string policies;
  for (const policies::QueueEntry& entry : policies::queue_strategies())
    policies += fmt::format("{}{{ \"name\": \"{}\", \"queue\": \"{}\" }}", policies.empty() ? "" : ", ", entry.name, entry.name);
  const auto scenario =
      scenarios::load_scenario(folder.write("s.json", fmt::format(R"({{ "name": "parts", "cluster": {{ "pools": [ {} ] }},
        "jobs": [ {{ "trace": "trace", "format": "{}" }} ], "policies": [ {} ] }})",
                                                                  pool, format, policies)),
                               {});
  const std::string out = folder.path() + "/out";
  scenarios::run_scenario(*scenario, {.out = out, .processes = 1});
  std::map<std::string, Held> held;
  sim::CsvReader rows(out + "/jobs.csv", {.required = {"policy", "state", "device_s", "cost_usd"}});
  while (sim::CsvRow* row = rows.next()) {
    Held& of = held[std::string(row->text("policy"))];
    if (row->text("state") == "finished") ++of.jobs;
    of.device_s += row->number("device_s");
    of.cost_usd += row->number("cost_usd");
  }
  return held;
}

}  // namespace

TEST_CASE("three halves, a half and eight quarters of GPUs for 100 s are 400 GPU-seconds under every queue") {
  // At 24.48 dollars an hour for 8 GPUs: 400 x 3.06 / 3600 = 0.34 dollars.
  const auto held = replayed(R"({ "name": "v100", "instance": "p3.16xlarge", "nodes": 2 })", "alibaba-pai-2020",
                             "j1,worker,3.0,Terminated,1739162.0,1739262.0,600.0,29.3,50.0,MISC\n"
                             "j2,worker,1.0,Terminated,1739162.0,1739262.0,600.0,29.3,50.0,MISC\n"
                             "j3,worker,8.0,Terminated,1739162.0,1739262.0,600.0,29.3,25.0,MISC\n");
  CHECK(held.size() == policies::queue_strategies().size());
  for (const auto& [queue, sum] : held) {
    CAPTURE(queue);
    CHECK(sum.jobs == 3);
    CHECK(sum.device_s == Approx(400).epsilon(1e-9));
    CHECK(sum.cost_usd == Approx(0.34).epsilon(1e-9));
  }
}

TEST_CASE("GPU-seconds of a replay are the sum of parts x part x length, where they fit two GPUs") {
  // Up to 16 parts of 1/8: jobs of equal size are as many eighths as fit the two GPUs, others wait.
  sim::Random random(11);
  std::string trace = "job_id,submit_s,gpus,gpu_fraction,duration_s,user\n";
  double expected = 0;
  for (int i = 0; i < 30; ++i) {
    const int eighths = 1 + static_cast<int>(random.below(7)), length_s = 1 + static_cast<int>(random.below(500));
    const int most = 2 * (8 / eighths), parts = 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(most)));
    trace += fmt::format("{},{},{},{},{},u{}\n", i, 20 * i, parts, eighths / 8.0, length_s, i % 3);
    expected += parts * eighths / 8.0 * length_s;
  }
  for (const auto& [queue, sum] : replayed(R"({ "name": "v100", "instance": "p3.2xlarge", "nodes": 2 })", "native", trace)) {
    CAPTURE(queue);
    CHECK(sum.jobs == 30);
    CHECK(sum.device_s == Approx(expected).epsilon(1e-6));  // dates are multiples of 2^-20 s
  }
}
