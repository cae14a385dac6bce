#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "sim/base/errors.hpp"
#include "traces/measurements/convergence_list.hpp"

using namespace rehearse::traces;
namespace sim = rehearse::sim;
namespace workloads = rehearse::workloads;
namespace fs = std::filesystem;
using workloads::Reading;

namespace {

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("rehearse_convergence_" + std::to_string(::getpid()))) {}
  ~Folder() { fs::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

ConvergenceList read(const std::string& text) {
  const Folder folder;
  return read_convergence(folder.write("c.csv", text));
}

/// Lines that were left out, and why.
std::map<std::int64_t, std::string> left_out(const ConvergenceList& list) {
  std::map<std::int64_t, std::string> lines;
  for (const LeftOut& l : list.left_out)
    for (const std::int64_t line : l.lines) lines[line] = l.reason;
  return lines;
}

const std::string kHeader = "model,dataset,batch_size,epoch,metric\n";

}  // namespace

TEST_CASE("trainings: what cannot be used is listed with its line", "[convergence]") {
  const ConvergenceList list = read(kHeader +
                                    "resnet18,cifar10,128,1,0.4\n"        // 2
                                    "resnet18,cifar10,128,1,0.4\n"        // 3: again
                                    "resnet18,cifar10,128,1,0.5\n"        // 4: another metric at the same epoch
                                    "resnet18,cifar10,128,3,0.5\n"        // 5
                                    "resnet18,cifar10,128,2,0.45\n"       // 6: back in time
                                    "resnet18,cifar10,128,4,1.5\n"        // 7
                                    "resnet18,cifar10,128,4,93\n"         // 8: per cent
                                    "resnet18,cifar10,128,4,-0.1\n"       // 9
                                    "resnet18,cifar10,128,4,nan\n"        // 10
                                    "resnet18,cifar10,0,4,0.5\n"          // 11
                                    "resnet18,cifar10,128,-1,0.5\n"       // 12
                                    "resnet18,cifar10,128,,0.5\n"         // 13
                                    ",cifar10,128,4,0.5\n"                // 14
                                    "resnet18,flowers,128,4,0.5\n"        // 15: a dataset of unknown size
                                    "resnet18,cifar10,128,4\n"            // 16
                                    "resnt18,cifar10,256,4,0.5\n"         // 17: kept, but is it a slip?
                                    "resnet18,cifar10,256,1e400,0.5\n");  // 18
  CHECK(list.found == 17);
  REQUIRE(list.rows.size() == 3);
  CHECK(list.rows[1].line == 5);
  CHECK(list.rows[2].model == "resnt18");
  const auto lines = left_out(list);
  REQUIRE(lines.size() == 14);
  CHECK(lines.at(3) == "the same row was given before");
  CHECK(lines.at(4).find("another metric at an epoch of the same run") == 0);
  CHECK(lines.at(6).find("an epoch that does not rise") == 0);
  CHECK(lines.at(8).find("per cent: divide by 100") != std::string::npos);
  CHECK(lines.at(15).find("flowers (give examples and epoch)") != std::string::npos);
  REQUIRE(list.remarked.size() == 1);
  CHECK(list.remarked[0].lines == std::vector<std::int64_t>{17});
  CHECK(to_string(list).find("did you mean \"resnet18\"?") != std::string::npos);
  CHECK(to_string(list).find("17 measurements, 3 used") != std::string::npos);
}

TEST_CASE("trainings: all columns", "[convergence]") {
  const std::string header =
      "run,model,dataset,batch_size,epoch,metric,learning_rate,examples,reading,noise_scale,progress,phase,optimizer,source\n";
  const ConvergenceList list = read(header +
                                    "a,mine,flowers,64,1,0.2,0.1,6000,,50,90,0,adamw,\"a, \"\"b\"\"\"\n"
                                    "a,mine,flowers,64,2,0.3,0.1,12000,evaluation,60,180,1,adamw,\n"
                                    "b,mine,flowers,64,1,0.2,0.1,6000,,,,,adamw,\n"               // another run
                                    "a,mine,cifar10,64,7,0.9,0.1,,reached,,,,sgd,\n"              // 5
                                    "a,mine,cifar10,64,,0.95,0.1,,never,,,,sgd,\n"                // 6
                                    "a,mine,cifar10,64,0,0.95,0.1,,reached,,,,sgd,\n"             // 7: at once
                                    "a,mine,flowers,64,3,0.4,0.2,18000,,60,200,1,adamw,\n"        // 8: another rate
                                    "a,mine,flowers,64,3,0.4,0.1,11000,,60,200,1,adamw,\n"        // 9: fewer examples
                                    "a,mine,flowers,64,3,0.4,0.1,18000,,60,170,1,adamw,\n"        // 10: less progress
                                    "a,mine,flowers,64,3,0.4,0.1,18000,,60,200,0,adamw,\n"        // 11: an earlier phase
                                    "a,mine,flowers,64,3,0.4,0.1,18000,,0,200,1,adamw,\n"         // 12: no noise
                                    "a,mine,flowers,64,3,0.4,0.1,18000,,60,200,1,adamm,\n"        // 13
                                    "a,mine,flowers,64,3,0.4,0,18000,,60,200,1,adamw,\n"          // 14: no rate
                                    "a,mine,flowers,64,3,0.4,0.1,18000,seen,60,200,1,adamw,\n");  // 15
  REQUIRE(list.rows.size() == 5);
  CHECK(list.rows[0].adaptive);
  CHECK(list.rows[0].source == "a, \"b\"");
  CHECK(list.rows[1].phase == 1);
  CHECK(list.rows[3].reading == Reading::reached);
  CHECK(!list.rows[3].adaptive);
  CHECK(list.rows[4].reading == Reading::never);
  CHECK(std::isnan(list.rows[4].epoch));
  const auto lines = left_out(list);
  std::vector<std::int64_t> numbers;
  for (const auto& [line, reason] : lines) numbers.push_back(line);
  CHECK(numbers == std::vector<std::int64_t>{7, 8, 9, 10, 11, 12, 13, 14, 15});
  CHECK(lines.at(13).find("did you mean \"adam\"?") != std::string::npos);
  // Written out and read again it is the same.
  std::string again = convergence_header();
  for (const auto& p : list.rows) again += convergence_row(p);
  const ConvergenceList second = read(again);
  REQUIRE(second.rows.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) CHECK(convergence_row(second.rows[i]) == convergence_row(list.rows[i]));
}

TEST_CASE("trainings: files that cannot be read at all", "[convergence]") {
  CHECK_THROWS_AS(read("model,dataset,batch_size,epoch\nresnet18,cifar10,1,1\n"), sim::InputError);  // no metric
  CHECK_THROWS_AS(read("model,dataset,batch_size,epoch,metric,colour\nresnet18,cifar10,1,1,1,red\n"), sim::InputError);
  CHECK_THROWS_AS(read(kHeader), sim::InputError);
  CHECK_THROWS_AS(read(kHeader + "resnet18,cifar10,128,1,2\n"), sim::InputError);  // nothing is left
  CHECK_THROWS_AS(read_convergence("/nowhere/c.csv"), sim::InputError);
  const Folder folder;
  CHECK(is_convergence(folder.write("c.csv", kHeader)));
  CHECK(!is_convergence(folder.write("m.csv", "device,step_s\n")));
}

TEST_CASE("Pollux's trainings, by hand", "[convergence]") {
  const Folder folder;
  folder.write("traces/cifar10/validation-256.csv",
               "progress,iteration,metric,grad_sqr,grad_var\n390,300,0.4,2.0,3.0\n780,500,0.5,0,1e-6\n");
  folder.write("traces/deepspeech2/validation-40.csv", "progress,iteration,metric,grad_sqr,grad_var\n357,300,75.0,1.0,2.0\n");
  folder.write("traces/imagenet/validation-400.csv",
               "progress,iteration,metric,grad_sqr,grad_var\n192175,100000,0.6,1,1\n198581,102000,0.7,1,1\n");
  folder.write("traces/ncf/validation-256.csv", "progress,iteration,metric,grad_sqr,grad_var\n1,1,0.5,1,1\n");
  folder.write("traces/cifar10/placements.csv", "not read");
  const auto lists = read_pollux_convergence({folder.path()});
  REQUIRE(lists.size() == 4);
  const auto& cifar = lists[0].rows;
  REQUIRE(cifar.size() == 2);
  CHECK(cifar[0].model == "resnet18");
  CHECK(cifar[0].examples == 300 * 256);
  CHECK(cifar[0].epoch == Approx(300 * 256 / 50000.0));
  CHECK(cifar[0].noise_scale == Approx(128 * 1.5));  // variance over squared norm, at the smallest batch
  CHECK(std::isnan(cifar[1].noise_scale));
  CHECK(lists[1].rows[0].metric == Approx(0.25));  // a word error rate
  // 1,281,167 / 200 = 6,405.8 steps an epoch: 192,175 steps end the 30th, 198,581 the 31st.
  CHECK(lists[2].rows[0].phase == 0);
  CHECK(lists[2].rows[1].phase == 1);
  CHECK(lists[3].rows.empty());
  CHECK(left_out(lists[3]).at(2) == "a model outside the zoo: ncf");
  CHECK_THROWS_AS(read_pollux_convergence({folder.write("cifar10/epochs.csv", "a\n1\n")}), sim::InputError);
  CHECK_THROWS_AS(read_pollux_convergence({folder.write("cifar10/validation-x.csv", "a\n1\n")}), sim::InputError);
  CHECK_THROWS_AS(read_pollux_convergence({folder.path() + "/traces/absent"}), sim::InputError);
}

TEST_CASE("Zeus's trainings, by hand", "[convergence]") {
  const Folder folder;
  std::string text =
      "dataset,network,batch_size,optimizer,learning_rate,run,target_metric,target_epoch\n"
      "cifar100,shufflenetv2,128,adadelta,1e-1,1,0.6,18\n"    // 2
      "cifar100,shufflenetv2,128,adadelta,1e-1,1,0.65,nan\n"  // 3
      "librispeech,deepspeech2,16,adamw,7.5e-5,1,35.0,13\n"   // 4
      "movielens-1m,ncf,16,adam,1e-3,1,0.4,13\n"              // 5
      "cifar100,shufflenetv2,128,adadelta,1e-1,1,0.7,soon\n"  // 6
      "cifar100,shufflenetv2,128,adadelta,1e-1,1,1.7,3\n";    // 7
  // A rate that is lowered after epoch 30: three targets at once. At another batch the run of the same name is its own.
  for (const double target : {0.5, 0.55, 0.6}) text += fmt::format("imagenet,resnet50,128,adadelta,1e-1,4,{},31\n", target);
  text += "imagenet,resnet50,256,adadelta,1e-1,4,0.5,31\n";
  const ConvergenceList list = read_zeus_convergence({folder.write("summary_train.csv", text)}).front();
  REQUIRE(list.rows.size() == 4);
  CHECK(list.rows[0].reading == Reading::reached);
  CHECK(list.rows[0].learning_rate == 0.1);
  CHECK(list.rows[0].adaptive);
  CHECK(list.rows[1].reading == Reading::never);
  CHECK(list.rows[2].metric == 0.65);
  CHECK(list.rows[3].batch == 256);
  const auto lines = left_out(list);
  CHECK(lines.size() == 6);
  CHECK(lines.at(8).find("a run whose rate was lowered on the way") == 0);
  CHECK(lines.contains(5));
  CHECK(lines.contains(7));
}
