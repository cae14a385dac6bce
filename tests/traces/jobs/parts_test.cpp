// Instances with a part of a GPU, in every trace that has them: parts stay parts.
#include <fmt/format.h>

#include <cmath>

#include "sim/base/random.hpp"
#include "tests/traces/jobs/trace_file.hpp"

using namespace rehearse;
using namespace rehearse::tests;
using Catch::Matchers::Contains;

namespace {

/// GPU-seconds of all jobs that are kept.
double gpu_seconds(std::string_view format, const std::string& path) {
  traces::TraceStream stream(traces::trace_reader(format), path, {}, kModels);
  double sum = 0;
  while (const traces::TraceJob* job = stream.next()) sum += gpus_held(*job) * job->duration_s;
  return sum;
}

}  // namespace

TEST_CASE("three instances of half a GPU, one of a half and eight of a quarter are four GPUs") {
  // (3 x 0.5 + 1 x 0.5 + 8 x 0.25) x 100 s.
  CHECK(gpu_seconds("alibaba-pai-2020", REHEARSE_SOURCE_DIR "/tests/traces/jobs/files/pai2.csv") == 400);
}

TEST_CASE("GPU-seconds of generated Alibaba traces are instances x part x length") {
  sim::Random random(7);
  const auto whole = [&](int low, int high) {
    return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low + 1)));
  };
  std::string pai, pods = "name,num_gpu,gpu_milli,creation_time,scheduled_time,deletion_time\n",
                   services = "instance_sn,gpu_request,creation_time,scheduled_time,deletion_time\n",
                   spot = "job_name,gpu_request,worker_num,submit_time,duration\n";
  double of_pai = 0, of_pods = 0, of_services = 0, of_spot = 0;
  for (int i = 0; i < 300; ++i) {
    const int instances = whole(1, 40), length_s = whole(1, 5000),
              hundredths = random.below(4) == 0 ? 100 * whole(1, 8) : whole(1, 250);
    const int gpus = whole(1, 8), thousandths = random.below(2) == 0 ? 1000 : whole(1, 1000);
    pai += fmt::format("j{},worker,{}.0,Terminated,10.0,{}.0,600.0,29.3,{}.0,MISC\n", i, instances, 10 + length_s, hundredths);
    of_pai += instances * (hundredths / 100.0) * length_s;
    pods += fmt::format("p{},{},{},5,10,{}\n", i, gpus, thousandths, 10 + length_s);
    of_pods += gpus * (thousandths / 1000.0) * length_s;
    services += fmt::format("s{},{},5,10,{}\n", i, hundredths / 100.0, 10 + length_s);
    of_services += hundredths / 100.0 * length_s;
    spot += fmt::format("w{},{},{},5,{}\n", i, hundredths / 100.0, instances, length_s);
    of_spot += instances * (hundredths / 100.0) * length_s;
  }
  const auto check = [](std::string_view format, const std::string& text, double expected) {
    const TraceFile file(text);
    CHECK(gpu_seconds(format, file.path()) == Approx(expected).epsilon(1e-9));
    // The native CSV says the same.
    const Imported got = import_file(format, file.path());
    const TraceFile native(got.csv, ".csv");
    CHECK(gpu_seconds("native", native.path()) == Approx(expected).epsilon(1e-9));
  };
  check("alibaba-pai-2020", pai, of_pai);
  check("alibaba-gpu-2023", pods, of_pods);
  check("alibaba-gpu-2025", services, of_services);
  check("alibaba-spot-2026", spot, of_spot);
}

TEST_CASE("instances of one and a half GPUs are parts of equal size, and that is said") {
  const Imported got = import_text("alibaba-pai-2020", "j,worker,2.0,Terminated,10.0,20.0,600.0,29.3,150.0,MISC\n");
  CHECK_THAT(got.csv, Contains("\nj/worker,10,4,10,MISC,0.75,"));
  CHECK_THAT(got.report, Contains("1 kept all the same: plan_gpu") && Contains("read as parts of equal size"));
  CHECK_THAT(
      import_text("alibaba-gpu-2023", "name,num_gpu,gpu_milli,creation_time,scheduled_time,deletion_time\np,1,1500,1,2,3\n")
          .report,
      Contains("gpu_milli"));
}

TEST_CASE("only jobs with a duration hold several parts") {
  const Imported got = import_text("native",
                                   "job_id,submit_s,gpus,gpu_fraction,duration_s,model,steps,batch_size\n"
                                   "a,0,3,0.5,10,,,\n"
                                   "b,0,1,0.5,,resnet50,10,64\n"
                                   "c,0,2,0.5,,resnet50,10,64\n");
  CHECK(got.counts.jobs == 2);
  CHECK_THAT(got.report, Contains("gpu_fraction: expected a part of one GPU: only a job with duration_s has several"));
}
