// The graph command: what it prints and writes, and what it refuses.
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/cli/program.hpp"
#include "tests/traces/networks/onnx_bytes.hpp"

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("graph: a model unrolled, written, and read back") {
  const TemporaryFolder folder;
  const Ended unrolled =
      run_program(folder.path(), {"graph", "rnnlm", "--unroll", "--groups", "12", "--dot", "g.dot", "--json", "g.json"});
  CHECK(unrolled.status == 0);
  CHECK(unrolled.err == "");
  CHECK(contains(unrolled.out, "rnnlm, batch 64, unrolled: 813 operations"));
  CHECK(contains(unrolled.out, "175 by chains"));
  CHECK(contains(unrolled.out, "12 after coarsening"));
  CHECK(text_of(folder.path() + "/g.dot").starts_with("digraph \"rnnlm\" {"));
  const Ended again = run_program(folder.path(), {"graph", "g.json"});
  CHECK(again.status == 0);
  const auto times = [](const std::string& out) { return out.substr(out.find("one after the other"), 100); };
  CHECK(times(again.out) == times(unrolled.out));
}

TEST_CASE("graph: the layers of any network's file, recognised by its content, then its operations") {
  const TemporaryFolder folder;
  // 3 x 3 x 3 x 4 + 4, and 10 x (64 + 1); 8 x 8 x 4 x 27, and 640.
  const std::string words = "762 weights, 7552 multiply-adds a sample; input 3 x 8 x 8, output 10.\n";
  folder.write("net", onnx_bytes::small_onnx());
  folder.write("layers.txt", R"({"name": "l", "layers": [{"type": "input", "channels": 3, "height": 8, "width": 8},
    {"type": "conv", "name": "first", "filters": 4, "kernel": 3, "pad": 1}, {"type": "relu"}, {"type": "max_pool"}, {"type": "flatten"},
    {"type": "dense", "units": 10}]})");
  for (const char* const file : {"net", "layers.txt"}) {
    const Ended ended = run_program(folder.path(), {"graph", file, "--json", "g.json"});
    INFO(ended.err);
    CHECK(ended.status == 0);
    CHECK(contains(ended.out, words));
    CHECK(contains(ended.out, "one after the other on k80"));
    CHECK(run_program(folder.path(), {"graph", "g.json"}).status == 0);
  }
  const std::string layers = run_program(folder.path(), {"graph", "layers.txt"}).out;
  CHECK(contains(layers, "first      Conv        4 x 8 x 8      112          6,912\n"));
  CHECK(contains(layers, "all                                   762          7,552\n"));
  const std::string resnet = run_program(folder.path(), {"graph", "resnet50"}).out;
  CHECK(contains(resnet,
                 "Read: 175 layers (54 with matrix products), 25.56 M weights, 4.089 G multiply-adds a sample; input 3 x 224 "
                 "x 224, output 1000.\n"));
  CHECK(contains(resnet, "  25,557,032  4,089,184,256\n"));
  // GPT-2's last layer has the table's weights.
  CHECK(contains(run_program(folder.path(), {"graph", "gpt2", "--batch", "1"}).out, "  shared "));
}

TEST_CASE("graph: in TensorFlow's operations, with the paper's counts beside") {
  const TemporaryFolder folder;
  const Ended paper = run_program(folder.path(), {"graph", "nmt", "--granularity", "tensorflow"});
  CHECK(paper.status == 0);
  CHECK(contains(paper.out, "nmt in TensorFlow's operations, batch 64: 20596 operations"));
  CHECK(contains(paper.out, "graph: 21130 operations, of which a step runs 20596 (Mirhoseini et al. 2017: 22097, -4.4 %)"));
  const Ended small = run_program(folder.path(), {"graph", "rnnlm", "--granularity", "tensorflow", "--steps", "3", "--hidden",
                                                  "8", "--vocabulary", "20", "--json", "t.json"});
  CHECK(small.status == 0);
  CHECK(run_program(folder.path(), {"graph", "t.json"}).status == 0);
}

TEST_CASE("graph: mistakes end with status 3, wrong usage with 2") {
  const TemporaryFolder folder;
  const auto refused = [&](std::vector<std::string> arguments, int status, std::string_view part) {
    arguments.insert(arguments.begin(), "graph");
    const Ended ended = run_program(folder.path(), arguments);
    CHECK(ended.status == status);
    CHECK(ended.out == "");
    INFO(ended.err);
    CHECK(contains(ended.err, part));
  };
  refused({"rnlm"}, 3, "did you mean \"rnnlm\"?");
  refused({"rnnlm", "--device", "k8"}, 3, "did you mean \"k80\"?");
  refused({"absent.json"}, 3, "absent.json");
  refused({"absent.onnx"}, 3, "absent.onnx");
  folder.write("net.h5", "\x89HDF\r\n\x1A\n");
  refused({"net.h5"}, 3, "open(\"model.json\", \"w\").write(model.to_json())");
  folder.write("notes.txt", "no network");
  refused({"notes.txt"}, 3, "expected a network");
  refused({"absent.txt", "--format", "pipedream"}, 3, "absent.txt");
  refused({"rnnlm", "--batch", "0"}, 2, "--batch");
  refused({"rnnlm", "--format", "onnx"}, 2, "--format");
  refused({"rnnlm", "--granularity", "kernels"}, 2, "--granularity");
  refused({"rnnlm", "--steps", "3"}, 3, "with --granularity tensorflow");
  refused({"vgg16", "--granularity", "tensorflow", "--steps", "3"}, 3, "sizes of rnnlm or nmt alone");
  refused({"rnnlm", "--granularity", "tensorflow", "--dataset", "ptb"}, 3, "no dataset");
  const std::string many = "999999";
  CHECK(run_program(folder.path(), {"graph", "rnnlm", "--groups", many}).status == 3);
  CHECK(contains(run_program(folder.path(), {"graph", "rnnlm", "--groups", many}).err, "groups, one for each operation at most"));
}
