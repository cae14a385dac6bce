// What PyTorch prints of a program: kept files of torch.export (of 2.5's format) and of FX, and text that is none.
#include <fmt/format.h>
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/scenarios/temporary_folder.hpp"
#include "traces/networks/network_file.hpp"
#include "traces/networks/torch_program.hpp"
#include "workloads/layers/structure.hpp"

using namespace rehearse;
using namespace rehearse::traces;
using Catch::Contains;

namespace {

const std::string kTorchFiles = REHEARSE_SOURCE_DIR "/tests/traces/networks/torch/";

std::string kept(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(kTorchFiles + name).rdbuf();
  return text.str();
}

std::string told(const std::string& text) {
  try {
    (void)read_torch(text, "net.txt");
    return "fine";
  } catch (const sim::InputError& error) {
    return error.what();
  }
}

/// A forward of these lines, on an image.
std::string forward(const std::string& lines, const std::string& arguments = "x: \"f32[1, 3, 8, 8]\"") {
  return "def forward(self, " + arguments + "):\n" + lines + "    return x\n";
}

}  // namespace

TEST_CASE("the same residual network from torch.export, from FX and from layers of our own") {
  const TemporaryFolder folder;
  const workloads::Network layers = read_network(folder.write("n.json", R"({"name": "n", "layers": [
    {"type": "input", "name": "x", "channels": 3, "height": 32, "width": 32},
    {"type": "conv", "name": "c", "filters": 16, "kernel": 3, "pad": 1, "bias": false}, {"type": "batch_norm"}, {"type": "relu", "name": "r"},
    {"type": "conv", "name": "d", "filters": 16, "kernel": 3, "pad": 1, "bias": false}, {"type": "add", "inputs": ["d", "r"]},
    {"type": "max_pool"}, {"type": "global_pool"}, {"type": "flatten"}, {"type": "dropout"}, {"type": "dense", "units": 10}]})"));
  for (const std::string name : {"residual_export.txt", "residual_fx.txt"}) {
    INFO(name);
    const workloads::Network net = read_network(kTorchFiles + name);
    CHECK(net.only_costs);
    REQUIRE(net.layers.size() == layers.layers.size());
    for (std::size_t i = 0; i < net.layers.size(); ++i) {
      CHECK(net.layers[i].spec.index() == layers.layers[i].spec.index());
      CHECK(net.layers[i].inputs == layers.layers[i].inputs);
    }
    CHECK(infer_shapes(net) == infer_shapes(layers));
    // 16 x 27, 32 of the normalisation, 16 x 144, 10 x 16 + 10.
    CHECK(structure_features(net).parameters == 432 + 32 + 2304 + 170);
    CHECK(structure_features(net).flops() == structure_features(layers).flops());
  }
}

TEST_CASE("what torch.fx of PyTorch 1.13 prints, as it is but for the input's type") {
  const workloads::Network net = read_network(kTorchFiles + "fx_1_13.txt");
  // 16 x 27 + 16, 32, twice 16 x 144, and 10 x 1,025 behind the view that flattens 16 x 8 x 8.
  CHECK(structure_features(net).parameters == 448 + 32 + 2 * 2304 + 10250);
}

TEST_CASE("an encoder's products, attention and views from torch.export") {
  const workloads::Network net = read_network(kTorchFiles + "encoder_export.txt");
  // 64,000 of the table, 128 of the normalisation, 3 x 4,160, 256 x 65 and 64 x 257; nothing of the transposed weight twice.
  CHECK(structure_features(net).parameters == 64000 + 128 + 3 * 4160 + 16640 + 16448);
  int attentions = 0;
  for (const workloads::Layer& layer : net.layers)
    if (const auto* attention = std::get_if<workloads::Attention>(&layer.spec)) {
      ++attentions;
      CHECK(attention->heads == 8);
      CHECK(layer.inputs.size() == 3);
    }
  CHECK(attentions == 1);
  const std::vector<workloads::Shape> shapes = infer_shapes(net);
  CHECK(shapes[shapes.size() - 2] == workloads::Shape{64, 1, 1});  // before the loss
}

TEST_CASE("recurrent layers and convolutions over steps of PyTorch") {
  const workloads::Network lstm =
      read_torch("GraphModule(\n  (rnn): LSTM(8, 4, num_layers=2, batch_first=True, bidirectional=True)\n)\n" +
                     forward("    rnn = self.rnn(x);  x = None\n    getitem = rnn[0]\n    getitem_1 = rnn[1]\n    last = "
                             "getitem[(slice(None, None, None), -1)]\n",
                             "x: f32[5, 20, 8]"),
                 "net.txt");
  // A layer has two directions of 16 gates x (8 + 4 + 1), the second 16 x (8 + 4 + 1) as well.
  CHECK(structure_features(lstm).parameters == 4 * 16 * 13);
  CHECK(infer_shapes(lstm)[lstm.layers.size() - 2] == workloads::Shape{8, 1, 1});
  const workloads::Network steps =
      read_torch("GraphModule(\n  (c): Conv1d(3, 5, kernel_size=(4,), stride=(2,), padding=(1,))\n)\n" +
                     forward("    c = self.c(x)\n", "x : \"f32[1, 3, 100]\""),
                 "net.txt");
  CHECK(infer_shapes(steps)[1] == workloads::Shape{5, 50, 1});
}

TEST_CASE("what a program needs and lacks is told by its line") {
  CHECK_THAT(told(forward("", "x : torch.Tensor")),
             Contains("net.txt:1: expected the type of x behind its name") && Contains("f32[1, 3, 224, 224]"));
  CHECK_THAT(told(forward("    y = self.conv(x)\n")), Contains("net.txt:2: expected a module of the tree above forward"));
  const std::string both = told(forward("    a = torch.fft.fft2(x)\n    b = torch.ops.aten.roll.default(x, 1)\n"));
  CHECK_THAT(both, Contains("net.txt:2: expected an operation that is supported") && Contains("net.txt:3: ") && Contains("roll"));
  CHECK_THAT(told(forward("    a = torch.relu(x\n")), Contains("net.txt:2: expected a statement of FX"));
  CHECK_THAT(told(forward("    a = torch.ops.aten.conv2d.default(x, w)\n")), Contains("a weight whose type is printed"));
  // Windows of 3 without zeros leave 6 x 6 of 8 x 8.
  CHECK_THAT(told(forward("    a: \"f32[1, 4, 8, 8]\" = torch.ops.aten.conv2d.default(x, p_w)\n",
                          "p_w: \"f32[4, 3, 3, 3]\", x: \"f32[1, 3, 8, 8]\"")),
             Contains("net.txt:2: expected 4 x 6 x 6 numbers a sample"));
  CHECK_THAT(told(forward("    a = torch.ops.aten.conv2d.default(x, p_w, None, [1, 1], [0, 0], [2, 2])\n",
                          "p_w: \"f32[4, 3, 3, 3]\", x: \"f32[1, 3, 8, 8]\"")),
             Contains("a window without dilation"));
  CHECK_THAT(told(forward("    a = torch.nn.functional.max_pool2d(x, 3, 2, ceil_mode = True)\n")), Contains("no ceil_mode"));
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(read_network(folder.write("net.pt2", "PK\x03\x04")), Contains("print(torch.export.export(model, (x,)))"));
}

TEST_CASE("symbolic batches, older signatures and texts with brackets") {
  // s0 is not known, so that nothing is held against it; before 2.2 weights had no names of their own.
  const std::string old =
      forward("    a: f32[s0, 4] = torch.ops.aten.linear.default(arg1_1, arg0_1);  arg1_1 = arg0_1 = None\n",
              "arg0_1: f32[4, 8], arg1_1: f32[s0, 8]") +
      "Graph signature: ExportGraphSignature(parameters=['fc.weight'], user_inputs=['arg1_1'], user_outputs=['a'])\n";
  CHECK(structure_features(read_torch(old, "net.txt")).parameters == 32);
  CHECK(told(forward("    a = torch.relu(x)  # code: f((\n    b = torch.gelu(a, approximate = 'ta(nh')\n")) == "fine");
}

TEST_CASE("cut, changed and nested programs are read or refused, and nothing else") {
  rc::prop("mutated programs", [&] {
    std::string text = kept(*rc::gen::element<std::string>("residual_export.txt", "residual_fx.txt", "encoder_export.txt"));
    for (int edits = *rc::gen::inRange(1, 8); edits > 0 && !text.empty(); --edits) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      const std::string piece =
          *rc::gen::element<std::string>("(", ")", "[", "]", "\"", "'", ",", "=", "None", "-1", "99999999999", "\n", "x", ".",
                                         ":", "0", "self", "1e999", "\xff", std::string(1, '\0'));
      text.replace(at, *rc::gen::inRange<std::size_t>(0, 30), piece);
    }
    CHECK_FALSE(told(text).empty());
  });
  CHECK_THAT(told(forward("    a = " + std::string(100000, '(') + "\n")), Contains("net.txt:2: "));
  CHECK_THAT(told(forward("    a = " + std::string(100000, '-') + "1\n")), Contains("net.txt:2: "));
  CHECK_THAT(told("def forward(self"), Contains("a network with layers"));
  CHECK_THAT(told("  (a): B(\n" + std::string(1000, ')')), Contains("a network with layers"));
}
