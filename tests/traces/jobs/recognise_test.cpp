// Files of other programs, and of other formats than the one asked for: read, or named.
#include "traces/jobs/recognise.hpp"

#include "tests/traces/jobs/trace_file.hpp"

using namespace rehearse;
using namespace rehearse::tests;
using Catch::Matchers::Contains;

namespace {

std::string trace_file(const std::string& name) { return REHEARSE_SOURCE_DIR "/tests/traces/jobs/files/" + name; }

/// What an attempt to read the file in this format ends with, in the way that a program sees it.
std::string refused(std::string_view format, const std::string& path) {
  try {
    traces::TraceStream stream(traces::trace_reader(format), path, {}, kModels);
    while (stream.next() != nullptr) {
    }
    if (stream.report().jobs > 0) return {};
    refuse_all(stream.report());
  } catch (const sim::InputError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("shockwave: a job runs for its duration; gavel: it does its steps") {
  const Imported got = import_file("shockwave", trace_file("shockwave.trace"));
  CHECK(got.csv ==
        "job_id,submit_s,gpus,duration_s,model,dataset,priority\n"
        "gavel-1,0,1,1418,,,1\n"
        "gavel-2,55,1,3338,resnet18,cifar10,1\n"
        "gavel-3,1393,4,2465,resnet18,cifar10,1\n");
  CHECK_THAT(got.report, Contains("3 rows change their batch as they train (accordion, gns): their duration has it in"));
  // 57,999 batches of 256 on 4 workers: 14,500 steps (rounded up) at 1,024.
  const Imported steps = import_file("gavel", trace_file("shockwave.trace"));
  CHECK_THAT(steps.csv, Contains("\ngavel-3,1393,4,resnet18,cifar10,1024,14500,1\n"));
  CHECK_THAT(steps.report, Contains("read at the batch that they begin with"));
}

TEST_CASE("shockwave: of 11 fields there is no duration; an unknown mode is refused") {
  const std::string row = "ResNet-18 (batch size 32)\tcmd\tdir\t--num_steps\t1\t1000\t1\tstatic\t1\t-1.0\t55\n";
  CHECK(import_text("gavel", row).counts.jobs == 1);
  const TraceFile eleven(row);
  CHECK_THAT(refused("shockwave", eleven.path()), Contains("a file of the format gavel"));
  const Imported odd =
      import_text("gavel", row + "ResNet-18 (batch size 32)\tcmd\tdir\t--num_steps\t1\t1000\t1\tfast\t1\t-1.0\t55\n");
  CHECK_THAT(odd.report, Contains("mode: expected static, accordion or gns"));
}

TEST_CASE("the workload lists of other simulators are named, with what to do") {
  for (const auto& entry : traces::trace_readers()) {
    CAPTURE(entry.name);
    CHECK_THAT(refused(entry.name, trace_file("sia.csv")),
               Contains("a workload of Pollux's or Sia's simulator") && Contains("num_replicas"));
    CHECK_THAT(refused(entry.name, trace_file("blox.csv")),
               Contains("a job list of Blox's simulator") && Contains("read it as tiresias"));
    CHECK_THAT(refused(entry.name, trace_file("openb_multigpu50.csv")),
               Contains("without dates") && Contains("openb_pod_list_default.csv"));
  }
  const TraceFile renamed("job_id,num_gpu,submit_time,duration,model_name,batch_size\n1,1,12,9447,resnet50,64\n");
  CHECK(import_file("tiresias", renamed.path()).counts.jobs == 1);  // as the message says
}

TEST_CASE("a file that was given the wrong format is named by its own") {
  for (const auto& own : traces::trace_readers()) {
    const std::string path = REHEARSE_SOURCE_DIR "/tests/fuzz/corpus/" + std::string(own.name) + "/good";
    for (const auto& asked : traces::trace_readers()) {
      CAPTURE(own.name, asked.name);
      const std::string message = refused(asked.name, path);
      if (!message.empty() && own.open != asked.open && !traces::what_it_is(path, asked).empty())
        CHECK_THAT(message, Contains(std::string(own.name)));
      if (own.name == asked.name) CHECK(message.empty());
    }
  }
  CHECK_THAT(refused("philly", REHEARSE_SOURCE_DIR "/tests/fuzz/corpus/tiresias/good"),
             Contains("a file of the format tiresias"));
  CHECK_THAT(refused("swf", REHEARSE_SOURCE_DIR "/tests/fuzz/corpus/kubernetes/good"),
             Contains("a file of the format kubernetes"));
  CHECK_THAT(refused("native", REHEARSE_SOURCE_DIR "/tests/fuzz/corpus/gavel/good"), Contains("a file of the format gavel"));
}

TEST_CASE("batsim: a sequence of delays lasts as long as they do together") {
  // 7 x 10 s.
  CHECK_THAT(import_file("batsim", trace_file("seq.json")).csv, Contains("\ns,0,1,70,"));
  const Imported got = import_text("batsim", R"({"jobs": [
      {"id": 1, "subtime": 0, "res": 1, "profile": "twice"}, {"id": 2, "subtime": 0, "res": 1, "profile": "itself"},
      {"id": 3, "subtime": 0, "res": 1, "profile": "other"}, {"id": 4, "subtime": 0, "res": 1, "profile": "lost"}],
      "profiles": {"a": {"type": "delay", "delay": 2}, "b": {"type": "delay", "delay": 3.5}, "c": {"type": "parallel"},
      "pair": {"type": "composed", "repeat": 2, "seq": ["a", "b"]}, "twice": {"type": "composed", "repeat": 2, "seq": ["pair", "a"]},
      "itself": {"type": "composed", "repeat": 2, "seq": ["itself"]}, "other": {"type": "composed", "repeat": 1, "seq": ["a", "c"]},
      "lost": {"type": "composed", "repeat": 1, "seq": ["none"]}}})");
  // 2 x (2 x 5.5 + 2).
  CHECK(got.counts.jobs == 1);
  CHECK_THAT(got.csv, Contains("\n1,0,1,26,"));
  CHECK_THAT(got.report, Contains("3 dropped: profile: expected a profile with a delay"));
}
