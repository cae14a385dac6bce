#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/base/errors.hpp"
#include "sim/io/json.hpp"
#include "traces/measurements/measurement_list.hpp"
#include "traces/measurements/native.hpp"
#include "traces/networks/subject_json.hpp"

using namespace rehearse::traces;
namespace sim = rehearse::sim;
namespace workloads = rehearse::workloads;
namespace fs = std::filesystem;

namespace {

/// A folder of one file, whose path tells readers what is in it.
class File {
 public:
  File(const std::string& path, const std::string& text)
      : folder_(fs::temp_directory_path() / ("rehearse_measurements_" + std::to_string(::getpid()))) {
    path_ = folder_ / path;
    fs::create_directories(path_.parent_path());
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() { fs::remove_all(folder_); }
  std::string path() const { return path_.string(); }

 private:
  fs::path folder_, path_;
};

MeasurementList native(const std::string& text) {
  const File file("m.csv", text);
  return read_native_measurements(file.path(), {{"k80", "v100", "t4"}, {"p3.2xlarge"}});
}

const std::string kHeader = "model,dataset,device,nodes,workers_per_node,batch_per_worker,sync,step_s\n";

}  // namespace

TEST_CASE("native measurements: what cannot be used is listed with its line", "[measurements]") {
  const MeasurementList list = native(kHeader +
                                      "resnet50,imagenet,v100,1,1,32,ring,0.1\n"        // 2
                                      "resnet5,imagenet,v100,1,1,32,ring,0.1\n"         // 3: no such model
                                      "resnet50,imagenet,v1000,1,1,32,ring,0.1\n"       // 4: no such device
                                      "resnet50,imagenet,v100,1,1,32,ring,0\n"          // 5
                                      "resnet50,imagenet,v100,1,1,32,ring,-1\n"         // 6
                                      "resnet50,imagenet,v100,1,1,32,ring,0.1\n"        // 7: again
                                      "resnet50,imagenet,v100,1,1,32,ring,0.2\n"        // 8: repeated, another time
                                      "resnet50,imagenet,v100,1,1,32,ring,soon\n"       // 9
                                      "resnet50,imagenet,v100,1,1,32,rink,0.1\n"        // 10
                                      "resnet50,imagenet,v100,1,1\n"                    // 11: too few fields
                                      "resnet50,imagenet,k80,2,4,8,servers-sync,1\n");  // 12
  CHECK(list.found == 11);
  REQUIRE(list.rows.size() == 3);
  CHECK(list.rows[0].line == 2);
  CHECK(list.rows[1].line == 8);
  CHECK(list.rows[2].workers == 8);
  CHECK(list.rows[2].sync == sim::Sync{sim::SyncKind::servers_sync, 1});
  std::vector<std::int64_t> lines;
  for (const LeftOut& l : list.left_out) lines.insert(lines.end(), l.lines.begin(), l.lines.end());
  std::sort(lines.begin(), lines.end());
  CHECK(lines == std::vector<std::int64_t>{3, 4, 5, 6, 7, 9, 10, 11});
  REQUIRE(list.remarked.size() == 1);
  CHECK(list.remarked[0].lines == std::vector<std::int64_t>{8});
  const std::string text = to_string(list);
  CHECK(text.find("11 measurements, 3 used") != std::string::npos);
  CHECK(text.find("did you mean \"resnet50\"?") != std::string::npos);
  CHECK(text.find("lines 5, 6") != std::string::npos);
}

TEST_CASE("native measurements: files that cannot be read at all", "[measurements]") {
  CHECK_THROWS_AS(native("model,step_s\nresnet50,1\n"), sim::InputError);                        // no device
  CHECK_THROWS_AS(native("device,step_s,colour\nv100,1,red\n"), sim::InputError);                // an unknown column
  CHECK_THROWS_AS(native(kHeader + "resnet50,imagenet,v100,1,1,32,ring,0\n"), sim::InputError);  // nothing is left
  CHECK_THROWS_AS(native(kHeader), sim::InputError);
}

TEST_CASE("native rows read back the same", "[measurements]") {
  const std::string op_header =
      "device,step_s,op,structure,model,batch_per_worker,precision,threads,power_limit_w,source,spread\n";
  const MeasurementList first = native(
      op_header +
      R"(v100,1e-5,"{""gemm"": [1760, 16, 1760]}",,,,,,,"a, ""b""",)"
      "\n"
      R"(v100,2e-5,"{""conv"": {""batch"": 4, ""height"": 161, ""width"": 700, ""channels"": 1, ""filters"": 32, ""kernel"": [5, 20], ""stride"": [2, 2], ""pass"": ""filter_gradient""}}",,,,,,,,)"
      "\n"
      R"(v100,3e-5,"{""rnn"": {""cell"": ""gru"", ""batch"": 4, ""hidden"": 161, ""steps"": 7}}",,,,,,,,)"
      "\n"
      R"(t4,0.1,,"{""rnn"": {""layers"": 2, ""hidden"": 200, ""vocabulary"": 33278, ""classes"": 33278}}",my-lm,20,fp16,,150,,)"
      "\n"
      R"(t4,0.1,,"{""cnn"": {""filters"": 8}}",my-cnn,20,,4,,,)"
      "\n"
      R"(v100,4e-5,"{""elementwise"": {""numbers"": 30000000, ""inputs"": 2}}",,,,,8,,,0.025)"
      "\n");
  REQUIRE(first.rows.size() == 6);
  CHECK(first.rows[0].source == "a, \"b\"");
  CHECK(subject(first.rows[1]) == "conv filter gradient");
  CHECK(first.rows[3].precision == sim::Precision::fp16);
  CHECK(std::isnan(first.rows[0].spread));
  CHECK((subject(first.rows[5]) == "elementwise" && first.rows[5].threads == 8 && first.rows[5].spread == 0.025));
  std::string again = native_header();
  for (const workloads::Measurement& m : first.rows) again += native_row(m);
  const MeasurementList second = native(again);
  REQUIRE(second.rows.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(native_row(second.rows[i]) == native_row(first.rows[i]));
}

TEST_CASE("hostile kernels and structures are mistakes of their row", "[measurements]") {
  const std::string good = "v100,1e-5,\"{\"\"gemm\"\": [1, 2, 3]}\",,\n";
  for (const char* op : {"{", "[]", "{\"\"gemm\"\": [1, 2]}", "{\"\"gemm\"\": [1, 2, 0]}", "{\"\"gemm\"\": [1, 2, 3.5]}",
                         "{\"\"gemm\"\": [1, 2, 3], \"\"conv\"\": {}}", "{\"\"conv\"\": {\"\"batch\"\": 1}}", "{\"\"fft\"\": 3}",
                         "{\"\"elementwise\"\": {\"\"numbers\"\": 0}}", "{\"\"elementwise\"\": {\"\"inputs\"\": 2}}",
                         "{\"\"elementwise\"\": {\"\"numbers\"\": 1e13}}",
                         "{\"\"conv\"\": {\"\"batch\"\": 1, \"\"height\"\": 2, \"\"width\"\": 2, \"\"channels\"\": 1, "
                         "\"\"filters\"\": 1, \"\"kernel\"\": [3, 3]}}"}) {
    INFO(op);
    const MeasurementList list = native("device,step_s,op,model,dataset\n" + good + "v100,1e-5,\"" + op + "\",,\n");
    CHECK(list.rows.size() == 1);
    REQUIRE(list.left_out.size() == 1);
    CHECK(list.left_out[0].lines == std::vector<std::int64_t>{3});
  }
  // A row is a model or a kernel.
  CHECK(native("device,step_s,op,model,dataset\n" + good + "v100,1,,,\n").left_out.size() == 1);
}

TEST_CASE("products side by side, softmax and layer norm: shapes there and back, and what they ask of a device",
          "[measurements]") {
  const MeasurementList list = native(
      "device,step_s,op\n"
      "v100,1e-3,\"{\"\"gemm\"\": [64, 32, 16, 8]}\"\n"
      "v100,1e-3,\"{\"\"softmax\"\": [100, 512]}\"\n"
      "v100,1e-3,\"{\"\"softmax\"\": [100, 10240]}\"\n"
      "v100,1e-3,\"{\"\"layer_norm\"\": [100, 512]}\"\n");
  REQUIRE(list.rows.size() == 4);
  const auto work = [&](std::size_t i) { return workloads::kernel_work(*list.rows[i].kernel).front(); };
  CHECK(subject(list.rows[0]) == "batched gemm");
  CHECK(work(0).products == 8);
  CHECK(work(0).flops.fixed == 8 * 2 * 64 * 32 * 16);
  CHECK(work(0).bytes.fixed == 8 * 4 * (64 * 16 + 16 * 32 + 64 * 32));
  // A row of 512 stays in registers: read once, written once. One of 10,240 is read three times. Layer norm reads twice.
  CHECK(work(1).bytes.fixed == 2 * 4 * 100 * 512);
  CHECK(work(2).bytes.fixed == 4 * 4.0 * 100 * 10240);
  CHECK(work(3).bytes.fixed == 3 * 4 * 100 * 512);
  std::string again = native_header();
  for (const auto& m : list.rows) again += native_row(m);
  const MeasurementList read = native(again);
  REQUIRE(read.rows.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(native_row(read.rows[i]) == native_row(list.rows[i]));
}

TEST_CASE("NeuSight's kernels: a linear layer is one product, batched ones are several, and the rest are rows or numbers",
          "[measurements]") {
  const File file("kernels.csv",
                  "op,device,b,h,m,n,k,latency_ms,torch,cuda\n"
                  "linear,Tesla T4,4,,128,256,512,0.5,2.1.0,cu121\n"
                  "bmm,Tesla P4,16,,128,64,32,0.25,2.1.0,cu121\n"
                  "add,NVIDIA A100-PCIE-40GB,32,1024,,,,0.1,2.1.0,cu121\n"
                  "relu,NVIDIA A100-PCIE-40GB,2000000,1024,,,,0.1,2.1.0,cu121\n"
                  "softmax,Tesla V100-PCIE-32GB,32,2048,,,,0.1,2.1.0,cu121\n"
                  "ln,Tesla P100-PCIE-16GB,32,2048,,,,0.1,2.1.0,cu121\n"
                  "conv,Tesla T4,1,,1,1,1,0.1,2.1.0,cu121\n"
                  "ln,Tesla K40,32,2048,,,,0.1,2.1.0,cu121\n");
  const MeasurementList list = read_neusight(file.path());
  REQUIRE(list.rows.size() == 6);
  CHECK(list.found == 8);
  const auto& product = std::get<workloads::GemmKernel>(*list.rows[0].kernel);
  CHECK((product.m == 512 && product.n == 256 && product.k == 512 && product.count == 1));
  CHECK(list.rows[0].device == "t4");
  CHECK(list.rows[0].step_s == Approx(5e-4));
  CHECK(std::get<workloads::GemmKernel>(*list.rows[1].kernel).count == 16);
  CHECK(std::get<workloads::ElementwiseKernel>(*list.rows[2].kernel).inputs == 2);
  CHECK(std::get<workloads::ElementwiseKernel>(*list.rows[3].kernel).numbers == 2048000000);
  CHECK(subject(list.rows[4]) == "softmax");
  CHECK(subject(list.rows[5]) == "layer norm");
}

TEST_CASE("every column is documented, and every example can be read", "[measurements]") {
  std::ifstream page(std::string(REHEARSE_SOURCE_DIR) + "/docs/reference/measurements.md");
  const std::string text((std::istreambuf_iterator<char>(page)), {});
  for (const MeasurementColumn& column : measurement_columns()) {
    CAPTURE(column.name);
    CHECK(text.find(std::string(column.name) + " ") != text.npos);
    CHECK(native_header().find(column.name) != std::string::npos);
  }
  for (const MeasurementExample& example : measurement_examples()) {
    CAPTURE(example.of);
    const File file("m.csv", std::string(example.csv));
    const MeasurementList list =
        read_native_measurements(file.path(), {{"k80", "v100", "t4", "p100", "epyc-7r32"}, {"p3.2xlarge", "g4dn.12xlarge"}});
    CHECK(list.left_out.empty());
    CHECK(text.find(example.csv.substr(0, example.csv.find('\n'))) != text.npos);
  }
}

TEST_CASE("a structure may be a list of layers, or a network's file", "[measurements]") {
  const std::string layers =
      R"({"layers": [{"type": "input", "channels": 4, "height": 1, "width": 1}, {"type": "dense", "units": 3}]})";
  const auto quoted = [](std::string json) {
    for (std::size_t at = 0; (at = json.find('"', at)) != json.npos; at += 2) json.insert(at, 1, '"');
    return '"' + json + '"';
  };
  const File network("net.json", layers);
  const File file("m.csv", "model,device,batch_per_worker,step_s,structure\nlist,v100,8,0.1," + quoted(layers) +
                               "\nfile,v100,8,0.1," + quoted(R"({"file": "net.json"})") + "\nnone,v100,8,0.1," +
                               quoted(R"({"file": "net.json", "name": "x"})") + "\ndevice,v100,8,0.1," +
                               quoted(R"({"file": "/dev/zero"})") + "\n");
  std::ofstream(fs::path(file.path()).parent_path() / "net.json") << layers;
  const MeasurementList list = read_native_measurements(file.path(), {{"v100"}, {}});
  REQUIRE(list.rows.size() == 2);
  CHECK(list.left_out.size() == 2);
  const workloads::MeasurementModel model(list.rows);
  CHECK(model.flops(list.rows[0]) == model.flops(list.rows[1]));
  CHECK(model.flops(list.rows[0]) > 0);
  // Written, they are read as they were.
  const File again("m.csv", native_header() + native_row(list.rows[0]));
  CHECK(model.flops(read_native_measurements(again.path(), {{"v100"}, {}}).rows[0]) == model.flops(list.rows[0]));
}

TEST_CASE("TrimTuner's networks are told by the file's name", "[measurements]") {
  const std::string text =
      "n_workers,n_ps,vm_flavor,batch_size,synchronism,training_time,total_iterations,training_set_size,learning_rate\n"
      "8,1,t2.small,256,async,4,16,1000,0.1\n";
  const auto model_in = [&](const char* name) {
    const File file(name, text);
    return read_trimtuner(file.path()).rows[0].model;
  };
  CHECK(model_in("cnn.csv") == "mnist-cnn");
  CHECK(model_in("rnn.csv") == "mnist-rnn");
  CHECK(model_in("multilayer.csv") == "mnist-mlp");
}

TEST_CASE("Gavel: mini-batches a second, summed over the workers", "[measurements]") {
  const File file("g.json", R"json({"k80": {
    "('ResNet-50 (batch size 64)', 4)": {"('A3C', 1)": [1, 2], "null": 2.5},
    "('ResNet-50 (batch size 128)', 1)": {"null": 0.0},
    "('A3C', 1)": {"null": 3.5},
    "('LM (batch size 5)', 1)": {"null": 25.0},
    "ResNet-50": {"null": 1.0}},
   "k80_unconsolidated": {
    "('ResNet-18 (batch size 16)', 1)": {"null": 4.0},
    "('ResNet-18 (batch size 16)', 2)": {"null": 4.0}}})json");
  const MeasurementList list = read_gavel(file.path());
  CHECK(list.found == 7);
  REQUIRE(list.rows.size() == 3);
  // 4 workers, 2.5 mini-batches a second over all: each takes 4 / 2.5 = 1.6 s.
  CHECK(list.rows[0].step_s == 1.6);
  CHECK(list.rows[0].batch_per_worker == 64);
  CHECK((list.rows[0].nodes == 1 && list.rows[0].workers_per_node == 4));
  CHECK(list.rows[1].structure.has_value());
  CHECK(list.rows[1].step_s == 0.04);
  CHECK((list.rows[2].device == "k80" && list.rows[2].nodes == 2 && list.rows[2].workers_per_node == 1));
  CHECK(list.left_out.size() == 4);
}

TEST_CASE("Pollux: digits are GPUs a node", "[measurements]") {
  const File file("imagenet/placements.csv",
                  "placement,local_bsz,step_time,sync_time\n1,20,0.15,0.001\n143,20,0.3,0.1\n"
                  "40,20,0.3,0.1\n,20,0.3,0.1\n2,0,0.3,0.1\n");
  const MeasurementList list = read_pollux(file.path());
  REQUIRE(list.rows.size() == 2);
  CHECK((list.rows[1].nodes == 3 && list.rows[1].workers == 8 && list.rows[1].workers_per_node == 4));
  CHECK(list.rows[1].sync_s == 0.1);
  CHECK(list.found == 5);
  const File other("yolov3/placements.csv", "placement,local_bsz,step_time,sync_time\n1,20,0.15,0.001\n");
  CHECK_THROWS_AS(read_pollux(other.path()), sim::InputError);
}

TEST_CASE("TensorFlow's benchmarks: images a second over all GPUs", "[measurements]") {
  const File file("tf.csv",
                  "platform,gpu,data,batch_per_gpu_note,gpus,InceptionV3,ResNet-50,ResNet-152,AlexNet,VGG16\n"
                  "DGX-1,P100,synthetic,64/64/64/512/64,8,1131,1734,,17822,1081\n"
                  "EC2 p2.8xlarge distributed,K80,synthetic,64/64/32,16,459,751,291,,\n"
                  "DGX-1,H100,synthetic,64,1,1,1,1,1,1\n");
  const MeasurementList list = read_tf_benchmarks(file.path());
  REQUIRE(list.rows.size() == 7);
  CHECK(list.rows[2].model == "alexnet");
  CHECK(list.rows[2].step_s == Approx(512 * 8 / 17822.0));
  CHECK(list.rows[2].device == "p100-sxm2");
  CHECK((list.rows[6].nodes == 2 && list.rows[6].workers_per_node == 8 && list.rows[6].batch_per_worker == 32));
  CHECK(list.left_out.size() == 1);
}

TEST_CASE("DeepBench: milliseconds, and sheets whose filters stand the other way round", "[measurements]") {
  const std::string body =
      "Precision,Float\nDense Matrix Multiplication,,M,N,K,A Transpose,B Transpose,,Time (msec),TERAFLOPS\n"
      ",,1760,16,1760,N,T,,5.5E-2,1.8,,\n";
  const std::string rest = ",,700,161,1,4,32,";
  const std::string tail =
      ",2,2,0.25,N/A*,0.5,,341,79,1\n"
      "Recurrent Layers - LSTM,Source,Hidden Units,N,Timesteps,,Time Forward (msec) ,,\n"
      ",Machine Translation,512,16,25,,1.478,1.688,0.213,0.5\n"
      "All-Reduce,,Size # floats,# chips,,,Mean,,\n,,100000,2,,,0.1,,7\n";
  const File p100("NV_P100_FP32.csv",
                  body + "Convolution,\n,,W,H,C,N,K ,R,S,pad_h,pad_w,Vertical stride,\n" + rest + "5,20,1,2" + tail);
  const File m40("NV_M40_FP32.csv",
                 body + "Convolution,\n,,W,H,C,N,K ,S (Filter width),R,pad_w,pad_h,Horizontal,\n" + rest + "20,5,2,1" + tail);
  for (const File* file : {&p100, &m40}) {
    const MeasurementList list = read_deepbench(file->path());
    REQUIRE(list.rows.size() == 6);  // the data gradient was not measured
    CHECK(list.rows[0].step_s == 5.5e-5);
    CHECK(list.rows[0].source == "deepbench NT");
    const auto& conv = std::get<workloads::ConvKernel>(*list.rows[1].kernel);
    CHECK((conv.height == 161 && conv.width == 700 && conv.window.height == 5 && conv.window.width == 20));
    CHECK((conv.window.pad_height == 1 && conv.window.pad_width == 2));
    CHECK(subject(list.rows[2]) == "conv filter gradient");
    CHECK(list.rows[2].step_s == 5e-4);
    CHECK(subject(list.rows[4]) == "lstm data gradient");
    CHECK(list.found == 8);
  }
  const File unknown("sheet.csv", body);
  CHECK_THROWS_AS(read_deepbench(unknown.path()), sim::InputError);
}

TEST_CASE("TrimTuner and Zeus: runs and epochs become steps", "[measurements]") {
  const File trimtuner(
      "cnn.csv",
      "n_workers,n_ps,vm_flavor,batch_size,synchronism,training_time,total_iterations,training_set_size,learning_rate\n"
      "8,1,t2.small,256,async,4,16,1000,0.1\n8,1,t2.small,256,sync,4,16,1000,0.1\n8,1,t2.small,256,half,4,16,1,0.1\n");
  const MeasurementList runs = read_trimtuner(trimtuner.path());
  REQUIRE(runs.rows.size() == 2);
  CHECK(runs.rows[0].step_s == 2);  // 16 pushes in 4 s, by 8 workers: one each in 2 s
  CHECK(runs.rows[1].step_s == 2);  // 16 mini-batches likewise: two steps of 8
  CHECK(runs.rows[0].instance == "t2.small");
  CHECK(runs.left_out.size() == 1);

  const File zeus("summary_power_v100.csv",
                  "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"
                  "imagenet,resnet50,128,adadelta,100,5005,99.5\ncifar100,shufflenetv2,8,sgd,100,1,99\n");
  const MeasurementList epochs = read_zeus(zeus.path());
  REQUIRE(epochs.rows.size() == 1);
  CHECK(epochs.rows[0].step_s == Approx(0.5));  // ceil(1,281,167 / 128) = 10,010 steps
  CHECK((epochs.rows[0].power_limit_w == 100 && epochs.rows[0].power_w == 99.5));
  CHECK(epochs.left_out.size() == 1);
}
