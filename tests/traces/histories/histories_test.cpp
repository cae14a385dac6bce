#include <rapidcheck/catch.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "traces/histories/history_list.hpp"

using namespace rehearse::traces;
using rehearse::workloads::PastRun;
namespace sim = rehearse::sim;
namespace fs = std::filesystem;

namespace {

class File {
 public:
  explicit File(const std::string& text)
      : path_(fs::temp_directory_path() / ("rehearse_history_" + std::to_string(::getpid()) + ".csv")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() { fs::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

std::string complaint(const HistoryFormat& format, const std::string& text) {
  const File file(text);
  try {
    format.read(file.path());
  } catch (const sim::InputError& error) {
    std::string what = error.what();
    for (std::size_t at = what.find(file.path()); at != std::string::npos; at = what.find(file.path()))
      what.replace(at, file.path().size(), "h.csv");
    return what;
  }
  return "";
}

const HistoryFormat& native() { return history_formats()[0]; }
const HistoryFormat& trimtuner() { return history_formats()[1]; }

/// As files were before a run's precision and rule for the learning rate had columns.
const std::string kNative = "model,dataset,instance,workers,batch_size,samples,epochs,time_s,accuracy";
const std::string kTrimTuner =
    "n_workers,learning_rate,batch_size,synchronism,training_time,n_ps,acc,vm_flavor,training_set_size,total_iterations\n";

bool same(const PastRun& a, const PastRun& b) {
  return native_history_row(a) == native_history_row(b) && std::isnan(a.price_usd_per_hour) == std::isnan(b.price_usd_per_hour);
}

}  // namespace

TEST_CASE("a native history: what is not said has its default", "[histories]") {
  const File file(kNative + "\nresnet18,cifar10,vm,4,128,50000,10,900,0.9\n");
  const HistoryList list = read_native_history(file.path());
  REQUIRE(list.runs.size() == 1);
  const PastRun& run = list.runs.front();
  CHECK(run.workers == 4);
  CHECK(run.accuracy == 0.9);
  CHECK_FALSE(run.censored);
  CHECK_FALSE(run.asynchronous);
  CHECK(run.servers == 0);
  CHECK(run.precision == sim::Precision::fp32);
  CHECK(run.lr_rule == sim::LrRule::adascale);
  CHECK(run.learning_rate == 0);
  CHECK(std::isnan(run.price_usd_per_hour));
  CHECK(list.report.rows == 1);
}

TEST_CASE("a native history without precision and rate rule says what its runs count as", "[histories]") {
  const std::string row = "resnet18,cifar10,vm,4,128,50000,10,900,0.9";
  const File old_file(kNative + "\n" + row + "\n");
  CHECK(read_native_history(old_file.path()).report.notes ==
        std::vector<std::string>{"without column precision: all runs count as fp32",
                                 "without column lr_rule: all runs count as adascale"});
  const File half_old(kNative + ",precision\n" + row + ",fp16\n");
  const HistoryList half = read_native_history(half_old.path());
  CHECK(half.report.notes == std::vector<std::string>{"without column lr_rule: all runs count as adascale"});
  CHECK(half.runs.front().precision == sim::Precision::fp16);
  const File whole(kNative + ",precision,lr_rule\n" + row + ",fp16,linear-warmup\n" + row + ",,\n");
  const HistoryList list = read_native_history(whole.path());
  CHECK(list.report.notes.empty());
  CHECK(list.runs[0].lr_rule == sim::LrRule::linear_warmup);
  CHECK(list.runs[1].precision == sim::Precision::fp32);
  CHECK(complaint(native(), kNative + ",precision\n" + row + ",fp64\n") ==
        "h.csv:2: precision: expected fp32 or fp16 or bf16 or tf32 or tf32-convolutions, found \"fp64\"");
  CHECK(native_history_header().starts_with(
      "model,dataset,precision,lr_rule,instance,workers,batch_size,samples,epochs,time_s,accuracy,"));
}

TEST_CASE("a native history: a recipe is the program's or the scenario's own", "[histories]") {
  const std::string row = "resnet50,imagenet,vm,4,128,50000,10,900,0.9";
  CHECK(complaint(native(), kNative + ",recipe\n" + row + ",\n" + row + ",lars-smothing\n") ==
        "h.csv:3: recipe: expected a recipe (rehearse list recipes, or the scenario's own), or nothing, found "
        "\"lars-smothing\"; did you mean \"lars-smoothing\"?");
  const File file(kNative + ",recipe\n" + row + ",ours\n");
  const std::vector<std::string> own{"ours"};
  CHECK(read_native_history(file.path(), own).runs.front().recipe == "ours");
  CHECK_THROWS_AS(read_native_history(file.path()), sim::InputError);
}

TEST_CASE("a native history: a recipe, and runs that ended at a target", "[histories]") {
  const std::string row = "resnet50,imagenet,vm,4,128,50000,10,900,0.9";
  const File file(kNative + ",recipe,target_accuracy\n" + row + ",lars-smoothing,0.9\n" + row + ",,\n");
  const HistoryList list = read_native_history(file.path());
  CHECK(list.runs[0].recipe == "lars-smoothing");
  CHECK(list.runs[0].target_accuracy == 0.9);
  CHECK(list.runs[1].recipe.empty());
  CHECK(list.runs[1].target_accuracy == 0);
  const sim::Profile profile{.model = "resnet50", .dataset = "imagenet"};
  CHECK_FALSE(is_of(list.runs[0], profile));
  CHECK(is_of(list.runs[1], profile));
  for (const char* wrong : {"0", "90", "-0.1", "nan", "soon"})
    CHECK(complaint(native(), kNative + ",target_accuracy\n" + row + "," + wrong + "\n").find("h.csv:2: target_accuracy: ") !=
          std::string::npos);
}

TEST_CASE("a native history is the user's own: all of its mistakes, with their lines", "[histories]") {
  CHECK(complaint(native(), kNative + "\n") == "h.csv:1: expected at least one past run");
  CHECK(complaint(native(), kNative + ",sync\n").find("sync") != std::string::npos);
  const std::string said = complaint(native(), kNative +
                                                   ",censored,price_usd_per_hour\n"
                                                   ",cifar10,vm,4,128,50000,10,900,0.9,0,1\n"      // 2: no model
                                                   "m,cifar10,vm,0,128,50000,10,900,0.9,0,1\n"     // 3: no workers
                                                   "m,cifar10,vm,1,128,50000,10,900,90,0,1\n"      // 4: percent
                                                   "m,cifar10,vm,1,128,50000,10,900,0.9,yes,1\n"   // 5
                                                   "m,cifar10,vm,1,128,50000,10,900,0.9,0,-1\n"    // 6
                                                   "m,cifar10,vm,1,128,50000,10,900,0.9,0,free\n"  // 7
                                                   "m,cifar10,vm,1,128,50000,10,nan,0.9,0,1\n"     // 8
                                                   "m,cifar10,vm,1,128\n"                          // 9
                                                   "m,cifar10,vm,1,128,50000,10,900,0.9,0,1\n");
  for (int line = 2; line <= 9; ++line) CHECK(said.find("h.csv:" + std::to_string(line) + ":") != std::string::npos);
  CHECK(said.find("h.csv:10:") == std::string::npos);
}

TEST_CASE("a native history reads back as it was written", "[histories]") {
  rc::prop("any run", [](std::uint64_t seed) {
    sim::Random random(seed);
    const std::vector<std::string> names{"a", "b c", "quoted \"x\"", "comma, y", "ünï"};
    const auto name = [&] { return names[random.below(names.size())]; };
    PastRun run{.model = name(),
                .dataset = name(),
                .precision = static_cast<sim::Precision>(random.below(2)),
                .lr_rule = static_cast<sim::LrRule>(random.below(4)),
                .instance = name(),
                .workers = 1 + static_cast<int>(random.below(1000)),
                .batch_size = random.uniform(1, 1e4),
                .samples = random.uniform(1, 1e7),
                .epochs = random.uniform(0.01, 300),
                .time_s = random.uniform(1e-3, 1e6),
                .accuracy = random.uniform(),
                .asynchronous = random.below(2) == 1,
                .censored = random.below(2) == 1,
                .servers = static_cast<int>(random.below(4))};
    if (random.below(2) == 1) run.learning_rate = random.uniform(1e-6, 1);
    if (random.below(2) == 1) run.price_usd_per_hour = random.uniform(1e-3, 100);
    const File file(native_history_header() + native_history_row(run));
    const HistoryList list = read_native_history(file.path());
    RC_ASSERT(list.runs.size() == 1u);
    RC_ASSERT(same(list.runs.front(), run));
    RC_ASSERT(list.runs.front().model == run.model);
    RC_ASSERT(list.runs.front().precision == run.precision);
    RC_ASSERT(list.runs.front().lr_rule == run.lr_rule);
  });
}

// 8 workers and 1 server of a t2.small ($0.023 an hour), and the bookkeeper ($0.3712): 9 x 0.023 + 0.3712 = $0.5782.
// 17 batches of 256, all workers' together, on 1000 samples are 17 x 256/1000 = 4.352 passes; a step takes 8 x 256 = 2048.
TEST_CASE("TrimTuner's runs: price, passes and global batch", "[histories]") {
  const File file(kTrimTuner + "8,0.00001,256,async,4.03,1,0.165,t2.small,1000,17\n" +
                  "8,0.00001,16,sync,595,1,0.3,t2.small,60000,600\n" + "8,0.00001,16,sync,594.9,1,0.3,t2.small,60000,600\n");
  const HistoryList list = trimtuner().read(file.path());
  REQUIRE(list.runs.size() == 3);
  const PastRun& run = list.runs[0];
  CHECK(run.price_usd_per_hour == Approx(0.5782));
  CHECK(run.epochs == Approx(4.352));
  CHECK(run.batch_size == 2048);
  CHECK(run.samples == 1000);
  CHECK(run.asynchronous);
  CHECK(run.servers == 1);
  CHECK(run.learning_rate == 1e-5);
  CHECK(run.accuracy == 0.165);
  CHECK_FALSE(run.censored);
  CHECK(list.runs[1].censored);
  CHECK_FALSE(list.runs[1].asynchronous);
  CHECK_FALSE(list.runs[2].censored);
  REQUIRE(list.report.repaired.size() == 1);
  CHECK(list.report.repaired[0].rows == 1);
  CHECK(list.report.repaired[0].examples[0].line == 3);
}

TEST_CASE("TrimTuner's runs: what cannot be used is dropped, and told", "[histories]") {
  const File file(kTrimTuner + "8,0.001,256,async,4,1,0.1,t2.small,1000,17\n" +
                  "8,0.001,256,async,4,1,0.1,t2.small,1000,17\n" +    // 3: again
                  "8,0.001,256,async,4,1,0.1,t2.tiny,1000,17\n" +     // 4
                  "8,0.001,256,perhaps,4,1,0.1,t2.small,1000,17\n" +  // 5
                  "8,0.001,256,async,0,1,0.1,t2.small,1000,17\n" +    // 6
                  "8,0.001,256,async,4,1,1.1,t2.small,1000,17\n" +    // 7
                  "8,0.001,256,async,4,1,0.1,t2.small,1000,0\n");     // 8: no batch was ever done
  const HistoryList list = trimtuner().read(file.path());
  CHECK(list.runs.size() == 1);
  CHECK(list.report.rows == 7);
  CHECK(list.report.rows_dropped == 6);
  std::vector<std::int64_t> lines;
  for (const ImportReason& reason : list.report.dropped) lines.push_back(reason.examples.front().line);
  CHECK(lines == std::vector<std::int64_t>{3, 4, 5, 6, 7, 8});
  CHECK(complaint(trimtuner(), kTrimTuner) == "h.csv:1: expected at least one past run");
  CHECK(complaint(trimtuner(), "n_workers\n1\n").find("vm_flavor") != std::string::npos);
  CHECK(complaint(trimtuner(), kTrimTuner + "8,0.001,256,async,4,1,0.1,t2.tiny,1000,17\n").starts_with("h.csv:2: vm_flavor:"));
}

TEST_CASE("TrimTuner's own file", "[histories]") {
  const char* data = std::getenv("REHEARSE_DATA");
  if (data == nullptr) {
    WARN("skipped: REHEARSE_DATA is not set");
    return;
  }
  const HistoryList list = trimtuner().read(std::string(data) + "/trimtuner/cnn.csv");
  CHECK(list.runs.size() == 1440);
  CHECK(list.report.rows_dropped == 0);
  CHECK(std::count_if(list.runs.begin(), list.runs.end(), [](const PastRun& run) { return run.censored; }) == 376);
  // total_iterations counts the batches of all workers in synchronous runs as well: divided by the workers they are most often
  // whole, a row being the mean of repeated runs. Asynchronous runs end anywhere.
  const auto whole_steps = [&](bool asynchronous) {
    double runs = 0, whole = 0;
    for (const PastRun& run : list.runs) {
      if (run.asynchronous != asynchronous || run.workers < 8) continue;
      const double steps = run.epochs * run.samples / run.batch_size;
      ++runs;
      whole += std::abs(steps - std::round(steps)) < 1e-6 ? 1 : 0;
    }
    return whole / runs;
  };
  CHECK(whole_steps(false) > 0.5);
  CHECK(whole_steps(true) < 0.1);
}
