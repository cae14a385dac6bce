#include <lzma.h>
#include <rapidcheck/catch.h>

#include <set>

#include "tests/traces/jobs/trace_file.hpp"
#include "traces/jobs/to_job.hpp"

using namespace rehearse;
using namespace rehearse::tests;
using Catch::Matchers::Contains;

namespace {

std::string xz(const std::string& text) {
  std::string packed(text.size() + 1024, '\0');
  std::size_t used = 0;
  REQUIRE(::lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                    reinterpret_cast<std::uint8_t*>(packed.data()), &used, packed.size()) == LZMA_OK);
  packed.resize(used);
  return packed;
}

/// An xz file that says it was packed with a dictionary of this size: (2 | b & 1) << b / 2 + 11 bytes (the format's
/// section 5.3.1).
std::string with_dictionary(std::string packed, int b) {
  const std::size_t header = 12, bytes = 4 * (static_cast<std::size_t>(packed[header]) + 1);
  const std::size_t filter = packed.find("\x21\x01", header);  // LZMA2, one byte of properties
  REQUIRE(filter < header + bytes - 4);
  packed[filter + 2] = static_cast<char>(b);
  const std::uint32_t sum = ::lzma_crc32(reinterpret_cast<const std::uint8_t*>(&packed[header]), bytes - 4, 0);
  for (std::size_t i = 0; i < 4; ++i) packed[header + bytes - 4 + i] = static_cast<char>(sum >> 8 * i);
  return packed;
}

std::string many_jobs(int count) {
  std::string text = "job_id,submit_s,gpus,duration_s\n";
  for (int i = 0; i < count; ++i) text += "job-" + std::to_string(i) + "," + std::to_string(10 * i) + ",1,5\n";
  return text;
}

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.insert(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

TEST_CASE("xz files are read the same, several in a row too, and damaged ones are refused") {
  const std::string text = many_jobs(50000);
  const std::string half = "job-x,1,1,5\n";
  CHECK(import_text("native", xz(text)).csv == text);
  CHECK(import_text("native", xz(text) + xz(half)).csv == text + half);
  const std::string packed = xz(text);
  CHECK_THAT(refusal("native", packed.substr(0, packed.size() / 2)), Contains("unexpected end of the xz file"));
  std::string damaged = packed;
  damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
  CHECK_THAT(refusal("native", damaged), Contains("damaged xz data"));
}

TEST_CASE("an xz file may want 128 MiB to unpack, but not 384") {
  const std::string text = many_jobs(10);
  CHECK(import_text("native", with_dictionary(xz(text), 30)).csv == text);
  CHECK_THAT(refusal("native", with_dictionary(xz(text), 33)), Contains("it needs more than 256 MiB to unpack"));
}

TEST_CASE("a native trace that is imported stays as it is") {
  const std::string text =
      "job_id,submit_s,gpus,duration_s,model,user,gpu_type,gpu_fraction,cpus,memory_bytes,partition,walltime_s,after,status\n"
      "a,0.25,2,1e-05,,\"x, \"\"y\"\"\",V100,0.5,1.5,1e+09,p,10,,ok\n"
      "b,1,,,,,,,,,,,,\n"
      "c,1,1,3,anything,,,,,,,,a,\n";
  const Imported got = import_text("native", text);
  std::string expected = text;
  expected.erase(expected.find("b,1"), std::string("b,1,,,,,,,,,,,,\n").size());  // it has no work
  expected.replace(expected.find("1e+09"), 5, "1000000000");
  CHECK(got.csv == expected);
  CHECK_THAT(got.report, Contains("1 dropped: duration_s: expected the job's work"));
}

TEST_CASE("what is chosen of a trace") {
  const std::string text = many_jobs(1000);
  SECTION("dates: from is in, to is out") {
    const Imported got = import_text("native", text, {.from_s = 20, .to_s = 40});
    CHECK(got.csv == "job_id,submit_s,gpus,duration_s\njob-2,20,1,5\njob-3,30,1,5\n");
    CHECK_THAT(got.report, Contains("2 jobs, 0 rows dropped, 998 left out") && Contains("outside --from and --to: 998 rows"));
  }
  SECTION("load: half the time between submissions, from the first or from --from") {
    CHECK_THAT(import_text("native", text, {.from_s = 20, .to_s = 40, .scale_load = 2}).csv,
               Contains("job-2,20,1,5\njob-3,25,1,5\n"));
    CHECK_THAT(import_text("native", "job_id,submit_s,gpus,duration_s\na,100,1,5\nb,200,1,5\n", {.scale_load = 0.5}).csv,
               Contains("a,100,1,5\nb,300,1,5\n"));
  }
  SECTION("sample: by name and seed, whatever stands around the job") {
    const Imported a = import_text("native", text, {.sample = 0.3, .seed = 1});
    const Imported b = import_text("native", many_jobs(500), {.sample = 0.3, .seed = 1});
    const Imported other = import_text("native", text, {.sample = 0.3, .seed = 2});
    // Binomial: 300 +- 4 x sqrt(1000 x 0.3 x 0.7) = 300 +- 58.
    CHECK(a.counts.jobs > 242);
    CHECK(a.counts.jobs < 358);
    CHECK(a.csv.starts_with(b.csv));
    CHECK(a.csv != other.csv);
    const std::set<std::string> all = lines_of(text);
    for (const std::string& line : lines_of(a.csv)) CHECK(all.count(line) == 1);
  }
  SECTION("models: the user's names first") {
    const std::string tiresias = "job_id,num_gpu,submit_time,duration,model_name\n1,8,30,147,vgg11\n2,8,30,147,inception3\n";
    CHECK_THAT(import_text("tiresias", tiresias, {.models = {{"vgg11", "vgg16"}, {"inception3", "mine"}}}).csv,
               Contains("1,30,8,147,vgg16,\n2,30,8,147,mine,\n"));
  }
}

TEST_CASE("scaled dates that no job can have drop the row") {
  CHECK_THAT(import_text("native", "job_id,submit_s,gpus,duration_s\na,5,1,5\nb,8000000000,1,5\n", {.scale_load = 0.1}).report,
             Contains("1 dropped: submit_s: expected a date from 0 to 2^33 s also after --scale-load"));
}

TEST_CASE("a file that is missing says where it is had") {
  CHECK_THROWS_WITH(import_file("philly", "/nowhere/philly.csv"), Contains("petuum/adaptdl"));
}

TEST_CASE("the columns of every format of the table are native ones") {
  for (const traces::TraceReaderEntry& entry : traces::trace_readers()) {
    CAPTURE(entry.name);
    std::size_t named = entry.columns.empty() ? 0 : 1;
    for (const char c : entry.columns) named += c == ',';
    if (entry.columns.empty()) continue;
    std::size_t found = 0;
    for (const traces::JobField& column : traces::job_fields())
      found += ("," + std::string(entry.columns) + ",").find("," + std::string(column.name) + ",") != std::string::npos;
    CHECK(found == named);
  }
}

TEST_CASE("other people's traces are jobs of a scenario") {
  const TraceFile file(
      "ResNet-18 (batch size 64)\tpython3 main.py\t--num_steps\t1\t3948\t7.500000\t4\n"
      "ResNet-50 (batch size 16)\tpython3 main.py\t--num_steps\t1\t10\t2.500000\t1\n");
  workloads::ProfileTable profiles;
  const traces::TraceOptions options{.models = {{"resnet18", "imagenet"}, {"resnet50", "imagenet"}},
                                     .datasets = {"imagenet", "cifar10"}};
  const traces::JobList list = traces::read_trace("gavel", file.path(), options, profiles);
  REQUIRE(list.jobs.size() == 2);
  CHECK(list.origin_s == 2.5);
  CHECK(list.jobs[0].name == "gavel-2");
  CHECK(list.jobs[1].submit_s == 5);
  CHECK(list.jobs[1].work == sim::Work::steps);
  CHECK(list.jobs[1].steps == 987);
  CHECK(list.jobs[1].batch_size == 256);
  CHECK(list.jobs[1].profile->dataset == "cifar10");
  const TraceFile bad("x\n");
  CHECK_THROWS_WITH(traces::read_trace("gavel", bad.path(), options, profiles), Contains("7, 10, 11 or 12 fields"));
}
