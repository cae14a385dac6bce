// Damaged files of every format: no crash, no hang, every row accounted for. Mutations are drawn from a fixed seed, so that a
// failure comes again.
#include <sstream>

#include "sim/base/random.hpp"
#include "tests/traces/jobs/trace_file.hpp"

using namespace rehearse;
using namespace rehearse::tests;

namespace {

struct Seed {
  const char* format;
  std::string text;
};

std::vector<Seed> seeds() {
  return {
      {"native", "job_id,submit_s,gpus,duration_s,after,user\na,0,1,5,,\"x,y\"\nb,1.5,2,1e3,a,\n"},
      {"elasticflow-rigid", "job_id,submission_time,model_name,deadline,num_gpu,duration\na,5,vgg16,900,2,100\n"},
      {"philly", "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"},
      {"philly-json",
       R"([{"jobid": "a", "submitted_time": "2017-10-07 01:11:39", "attempts": [{"start_time": "2017-10-07 01:11:50",
           "end_time": "2017-10-07 01:12:50", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]}, {"jobid": "\u00e9"}])"},
      {"tiresias", "job_id,num_gpu,submit_time,duration,model_name\n0,1,0,164,vgg19\n"},
      {"gavel", "ResNet-18 (batch size 64)\tpython3 main.py\t--num_steps\t1\t3948\t7.500000\t4\n"},
      {"swf",
       "; User: 1 alice\n1 0 5 100 4 -1 -1 4 200 512 1 1 -1 -1 -1 3 -1 -1\n2 1 5 100 4 -1 -1 4 200 512 1 1 -1 -1 -1 3 1 -1\n"},
      {"batsim",
       R"({"jobs": [{"id": 1, "subtime": 10, "walltime": 100, "res": 4, "profile": "a", "dependencies": [2]}],
           "profiles": {"a": {"type": "delay", "delay": 20.25}}})"},
      {"helios",
       "job_id,user,vc,gpu_num,cpu_num,state,submit_time,start_time,end_time,duration\n"
       "1,u,v,1,4,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848\n"},
      {"alibaba-pai-2020", "4f05,tensorflow,2.0,Terminated,1739162.0,1739200.0,600.0,29.296875,50.0,MISC\n"},
      {"alibaba-gpu-2023",
       "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
       "p1,6000,12288,1,460,,LS,Running,427061,12902960,427061\n"},
  };
}

/// A few changes: bytes, pieces doubled or cut out, numbers and tokens that parsers trip over.
std::string mutated(std::string text, sim::Random& random) {
  static const std::string kTokens[] = {"1e999",
                                        "-0",
                                        "nan",
                                        "inf",
                                        "-1",
                                        "99999999999999999999",
                                        "0x10",
                                        "\"",
                                        ",",
                                        "\n",
                                        "\r\n",
                                        "\t",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        "\\",
                                        "\xFF",
                                        "\xEF\xBB\xBF",
                                        std::string(1, '\0'),
                                        ";",
                                        " ",
                                        "1e-320",
                                        "; User: ",
                                        "2017-02-30 25:61:61",
                                        "null",
                                        "\\ud800"};
  for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
    const std::size_t at = random.below(text.size() + 1), length = random.below(12);
    switch (random.below(5)) {
      case 0:
        text.insert(at, kTokens[random.below(std::size(kTokens))]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(random.below(text.size() + 1), length));
        break;
      case 3:
        text.resize(at);
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
    }
  }
  return text;
}

}  // namespace

TEST_CASE("the seeds of the mutations are good, and of every format") {
  std::size_t formats = 0;
  for (const Seed& seed : seeds()) {
    CAPTURE(seed.format);
    CHECK(import_text(seed.format, seed.text).counts.jobs > 0);
    ++formats;
  }
  CHECK(formats == traces::trace_readers().size());
}

TEST_CASE("damaged traces are read or refused") {
  sim::Random random(2026);
  std::int64_t read = 0, refused = 0;
  for (const Seed& seed : seeds())
    for (int i = 0; i < 400; ++i) {
      const std::string text = mutated(seed.text, random);
      INFO(seed.format << ": " << text);
      try {
        const Imported got = import_text(seed.format, text);
        REQUIRE(got.counts.rows <= static_cast<std::int64_t>(text.size()));
        // What was kept is a native trace without a mistake.
        if (got.counts.jobs > 0) REQUIRE(import_text("native", got.csv).counts.rows_dropped == 0);
        ++read;
      } catch (const sim::InputError& error) {
        REQUIRE_FALSE(std::string(error.what()).empty());
        ++refused;
      }
    }
  CHECK(read > 1000);
  CHECK(refused > 300);
}
