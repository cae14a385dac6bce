// What PyTorch prints of a program: kept files of torch.export (of 2.5's format), printed modules, and text that is none.
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
using workloads::Shape;

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
std::string forward(const std::string& lines, const std::string& arguments = "x: \"f32[2, 3, 8, 8]\"",
                    const std::string& result = "a") {
  return "def forward(self, " + arguments + "):\n" + lines + "    return (" + result + ",)\n# torch.ops.aten";
}

/// Of what the lines above return.
Shape result(const workloads::Network& net) {
  const workloads::Layer& loss = net.layers.back();
  REQUIRE(std::holds_alternative<workloads::Loss>(loss.spec));
  return infer_shapes(net)[static_cast<std::size_t>(loss.inputs[0])];
}

}  // namespace

TEST_CASE("the same residual network from torch.export and from layers of our own") {
  const TemporaryFolder folder;
  const workloads::Network layers = read_network(folder.write("n.json", R"({"name": "n", "layers": [
    {"type": "input", "name": "x", "channels": 3, "height": 32, "width": 32},
    {"type": "conv", "name": "c", "filters": 16, "kernel": 3, "pad": 1, "bias": false}, {"type": "batch_norm"}, {"type": "relu", "name": "r"},
    {"type": "conv", "name": "d", "filters": 16, "kernel": 3, "pad": 1, "bias": false}, {"type": "add", "inputs": ["d", "r"]},
    {"type": "max_pool"}, {"type": "global_pool"}, {"type": "dropout"}, {"type": "dense", "units": 10}]})"));
  const workloads::Network net = read_network(kTorchFiles + "residual_export.txt");
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

TEST_CASE("printed modules have no shapes, and are refused with the command that writes them") {
  const TemporaryFolder folder;
  for (const std::string& text :
       {kept("fx_1_13.txt"), kept("lstm_fx.txt"), std::string("Net(\n  (conv1): Conv2d(3, 16, kernel_size=(3, 3))\n)\n"),
        std::string("Sequential(\n  (0): Sequential(\n    (0): Linear(in_features=3, out_features=4)\n  )\n)\n")})
    CHECK_THROWS_WITH(read_network(folder.write("net.txt", text)),
                      Contains("rehearse_torch.py my_model.py:Net --input") && Contains("net.txt"));
}

TEST_CASE("an encoder's products, attention and views from torch.export") {
  const workloads::Network net = read_network(kTorchFiles + "encoder_export.txt");
  // 64,000 of the table, 128 of the normalisation, 3 x 4,160, 256 x 65 and 64 x 257; nothing of the transposed weight twice.
  CHECK(structure_features(net).parameters == 64000 + 128 + 3 * 4160 + 16640 + 16448);
  // 32 steps of 3 x 64 x 64, 64 x 256 and 256 x 64; 8 heads of 32 x 32 x 8, twice.
  CHECK(structure_features(net).flops() / 2 == 32.0 * (12288 + 16384 + 16384) + 2.0 * 8 * 32 * 32 * 8);
  int attentions = 0;
  for (const workloads::Layer& layer : net.layers)
    if (const auto* attention = std::get_if<workloads::Attention>(&layer.spec)) {
      ++attentions;
      CHECK(attention->heads == 8);
      CHECK(layer.inputs.size() == 3);
    }
  CHECK(attentions == 1);
  CHECK(result(net) == Shape{64, 1, 1});
}

TEST_CASE("convolutions over steps, and a head on the last state, from torch.export") {
  const workloads::Network steps = read_network(kTorchFiles + "conv1d_export.txt");
  // 64 x 16 x 9 and 128 x 64 x 9 at 16,000 steps.
  CHECK(structure_features(steps).parameters == 9216 + 73728);
  CHECK(structure_features(steps).flops() / 2 == 16000.0 * (9216 + 73728));
  CHECK(result(steps) == Shape{128, 16000, 1});
  // 1,024 (128 + 256 + 2) of the recurrent layer with two biases a gate, and a head of 257 a class; 35 steps.
  for (const auto& [name, classes] :
       {std::pair("last_state_export.txt", 10000), std::pair("last_state_wide_export.txt", 4000000)}) {
    const workloads::Network net = read_network(kTorchFiles + name);
    CHECK(structure_features(net).parameters == 395264 + 257.0 * classes);
    CHECK(structure_features(net).flops() / 2 == 35.0 * 1024 * 384 + 256.0 * classes);
    CHECK(result(net) == Shape{classes, 1, 1});
  }
}

namespace {

/// Two layers in both directions, from which `lines` take `results`.
std::string recurrent(const std::string& input, const std::string& batch_first, const std::string& lines,
                      const std::string& results) {
  std::string arguments, list;
  for (const char* const layer : {"0", "1"})
    for (const char* const way : {"", "r"}) {
      const std::string features = *layer == '0' ? "8" : "8";
      for (const std::string& weight : {std::string("w"), std::string("u"), std::string("b"), std::string("c")}) {
        const std::string name = "p_" + weight + layer + way, width = weight == "w"   ? ", " + features
                                                                      : weight == "u" ? ", 4"
                                                                                      : "";
        arguments += name + ": \"f32[16" + width + "]\", ";
        list += (list.empty() ? "" : ", ") + name;
      }
    }
  return forward(
      "    lstm = torch.ops.aten.lstm.input(x, [z, z], [" + list + "], True, 2, 0.5, True, True, " + batch_first + ")\n" + lines,
      arguments + "p_w: \"f32[3, 16]\", c_z: \"f32[4, 5, 4]\", x: \"" + input + "\"", results);
}

}  // namespace

TEST_CASE("recurrent layers of torch.export, steps or the batch first, and each of their results") {
  // Two layers of two directions with 16 (8 + 4 + 2) each; 20 steps of 16 (8 + 4).
  const double weights = 4 * 16 * 14, products = 20.0 * 4 * 16 * 12;
  for (const auto& [input, output, first] :
       {std::tuple("f32[5, 20, 8]", "f32[5, 20, 8]", "True"), std::tuple("f32[20, 5, 8]", "f32[20, 5, 8]", "False")}) {
    const std::string item = "    a: \"" + std::string(output) + "\" = lstm[0]\n";
    const workloads::Network net = read_torch(recurrent(input, first, item, "a"), "net.txt");
    CHECK(structure_features(net).parameters == weights);
    CHECK(structure_features(net).flops() / 2 == products);
    CHECK(result(net) == Shape{8, 20, 1});
  }
  // The last step of all; the last states of the last layer side by side; all cells.
  const std::string last = "    g: \"f32[5, 20, 8]\" = lstm[0]\n    a: \"f32[5, 8]\" = torch.ops.aten.select.int(g, 1, -1)\n";
  CHECK(result(read_torch(recurrent("f32[5, 20, 8]", "True", last, "a"), "net.txt")) == Shape{8, 1, 1});
  const std::string states =
      "    h: \"f32[4, 5, 4]\" = lstm[1]\n    b: \"f32[5, 4]\" = torch.ops.aten.select.int(h, 0, 2)\n"
      "    c: \"f32[5, 4]\" = torch.ops.aten.select.int(h, 0, 3)\n    a: \"f32[5, 8]\" = torch.ops.aten.cat.default([b, c], 1)\n";
  CHECK(result(read_torch(recurrent("f32[5, 20, 8]", "True", states, "a"), "net.txt")) == Shape{8, 1, 1});
  const std::string cells =
      "    h: \"f32[4, 5, 4]\" = lstm[2]\n    t: \"f32[5, 4, 4]\" = torch.ops.aten.transpose.int(h, 0, 1)\n"
      "    a: \"f32[5, 16]\" = torch.ops.aten.reshape.default(t, [5, 16])\n";
  const workloads::Network all = read_torch(recurrent("f32[5, 20, 8]", "True", cells, "a"), "net.txt");
  CHECK(structure_features(all).parameters == weights);
  CHECK(result(all).elements() == 16);
}

TEST_CASE("shapes that are printed are read as they are") {
  const auto read = [](const std::string& lines, const std::string& arguments = "x: \"f32[2, 24, 28, 28]\"") {
    return read_torch(forward(lines, arguments), "net.txt");
  };
  // A shuffle of channels: the same image again, its numbers moved.
  const workloads::Network shuffle = read(
      "    v: \"f32[2, 3, 8, 28, 28]\" = torch.ops.aten.view.default(x, [2, 3, 8, 28, 28])\n"
      "    t: \"f32[2, 8, 3, 28, 28]\" = torch.ops.aten.transpose.int(v, 1, 2)\n"
      "    c: \"f32[2, 8, 3, 28, 28]\" = torch.ops.aten.clone.default(t)\n"
      "    a: \"f32[2, 24, 28, 28]\" = torch.ops.aten.view.default(c, [2, 24, 28, 28])\n");
  REQUIRE(shuffle.layers.size() == 3);
  CHECK(std::get<workloads::Rearrange>(shuffle.layers[1].spec).moves);
  CHECK(result(shuffle) == Shape{24, 28, 28});
  // Halves of channels, of which the second is multiplied by a number a channel.
  const workloads::Network halves = read(
      "    chunk = torch.ops.aten.chunk.default(x, 2, 1)\n    l: \"f32[2, 12, 28, 28]\" = chunk[0]\n    r: \"f32[2, 12, 28, "
      "28]\" = chunk[1]\n"
      "    m: \"f32[2, 12, 1, 1]\" = torch.ops.aten.mean.dim(l, [2, 3], True)\n    a: \"f32[2, 12, 28, 28]\" = "
      "torch.ops.aten.mul.Tensor(r, m)\n");
  CHECK(kind_name(halves.layers[3].spec) == "GlobalPool");
  CHECK(result(halves) == Shape{12, 28, 28});
  // Height joined with height, and a mean over the channels.
  CHECK(result(read("    a: \"f32[2, 24, 56, 28]\" = torch.ops.aten.cat.default([x, x], 2)\n")) == Shape{24, 56, 28});
  CHECK(result(read("    a: \"f32[2, 1, 28, 28]\" = torch.ops.aten.mean.dim(x, [1], True)\n")) == Shape{1, 28, 28});
  // ceil_mode: windows of 3 by 2 over 28 stand 14 times, the last over the edge; dilated ones of 3 by 4 reach over 9: 20.
  CHECK(result(read(
            "    a: \"f32[2, 24, 14, 14]\" = torch.ops.aten.max_pool2d.default(x, [3, 3], [2, 2], [0, 0], [1, 1], True)\n")) ==
        Shape{24, 14, 14});
  CHECK(result(read("    a: \"f32[2, 6, 20, 20]\" = torch.ops.aten.conv2d.default(x, p_w, None, [1, 1], [0, 0], [4, 4], 2)\n",
                    "p_w: \"f32[6, 12, 3, 3]\", x: \"f32[2, 24, 28, 28]\"")) == Shape{6, 20, 20});
  // 27 x 2 - 2 + 3 + 1 = 56.
  CHECK(
      result(read("    a: \"f32[2, 6, 56, 56]\" = torch.ops.aten.conv_transpose2d.input(x, p_w, None, [2, 2], [1, 1], [1, 1])\n",
                  "p_w: \"f32[24, 6, 3, 3]\", x: \"f32[2, 24, 28, 28]\"")) == Shape{6, 56, 56});
  // Weights that a table and a product share count once: 50 x 6, and 50 biases.
  const workloads::Network tied = read(
      "    e: \"f32[2, 9, 6]\" = torch.ops.aten.embedding.default(p_w, x)\n    a: \"f32[2, 9, 50]\" = "
      "torch.ops.aten.linear.default(e, p_w, p_b)\n",
      "p_w: \"f32[50, 6]\", p_b: \"f32[50]\", x: \"i64[2, 9]\"");
  CHECK(structure_features(tied).parameters == 350);
  CHECK(structure_features(tied).flops() / 2 == 9 * 300);
  // Positions that are added: 12 rows of 6, of which 9 are looked up.
  const workloads::Network positions = read(
      "    e: \"f32[2, 9, 6]\" = torch.ops.aten.embedding.default(p_w, x)\n    s: \"f32[9, 6]\" = "
      "torch.ops.aten.slice.Tensor(p_p, 0, 0, 9)\n"
      "    a: \"f32[2, 9, 6]\" = torch.ops.aten.add.Tensor(e, s)\n",
      "p_w: \"f32[50, 6]\", p_p: \"f32[12, 6]\", x: \"i64[2, 9]\"");
  CHECK(structure_features(positions).parameters == 300 + 72);
  // Scores of two tensors: 4 heads of 9 x 9 x 5.
  const workloads::Network scores = read(
      "    t: \"f32[2, 4, 5, 9]\" = torch.ops.aten.transpose.int(x, 2, 3)\n    a: \"f32[2, 4, 9, 9]\" = "
      "torch.ops.aten.matmul.default(x, t)\n",
      "x: \"f32[2, 4, 9, 5]\"");
  CHECK(structure_features(scores).flops() / 2 == 4 * 81 * 5);
}

TEST_CASE("what a program needs and lacks is told by its line") {
  CHECK_THAT(told(forward("", "x : torch.Tensor")),
             Contains("net.txt:1: expected the type of x behind its name") && Contains("f32[1, 3, 224, 224]"));
  CHECK_THAT(told(forward("    y = self.conv(x)\n")), Contains("net.txt:2: expected a program of torch.export"));
  const std::string both = told(forward("    a = torch.fft.fft2(x)\n    b = torch.ops.aten.roll.default(x, 1)\n"));
  CHECK_THAT(both, Contains("net.txt:2: expected an operation that is supported") && Contains("net.txt:3: ") && Contains("roll"));
  CHECK_THAT(told(forward("    a = torch.relu(x\n")), Contains("net.txt:2: expected a statement of torch.export"));
  CHECK_THAT(told(forward("    a = torch.ops.aten.conv2d.default(x, w)\n")), Contains("a weight whose type is printed"));
  CHECK_THAT(told(forward("    a = torch.ops.aten.view.default(x, [2, 192])\n")),
             Contains("net.txt:2: expected the printed type of its result"));
  const std::string weights = "p_w: \"f32[4, 3, 3, 3]\", x: \"f32[2, 3, 8, 8]\"";
  // Windows of 3 without zeros leave 6 x 6 of 8 x 8.
  CHECK_THAT(told(forward("    a: \"f32[2, 4, 7, 7]\" = torch.ops.aten.conv2d.default(x, p_w)\n", weights)),
             Contains("net.txt:2: expected 4 x"));
  CHECK_THAT(told(forward("    a: \"f32[2, 4, 3, 3]\" = torch.ops.aten.conv2d.default(x, p_w)\n", weights)),
             Contains("net.txt:2: expected 4 x 6 x 6"));
  CHECK_THAT(told(forward("    a: \"f32[2, 5, 6, 6]\" = torch.ops.aten.conv2d.default(x, p_w)\n", weights)),
             Contains("net.txt:2: expected 4 x 6 x 6"));
  CHECK_THAT(told(forward("    a: \"f32[2, 3, 9, 8]\" = torch.ops.aten.relu.default(x)\n")),
             Contains("net.txt:2: expected 3 x 8 x 8"));
  // Weights of 5 channels on 3; a product of 9 features on 8.
  CHECK_THAT(told(forward("    a = torch.ops.aten.conv2d.default(x, p_w)\n", "p_w: \"f32[4, 5, 3, 3]\", x: \"f32[2, 3, 8, 8]\"")),
             Contains("weights for 3 channels"));
  CHECK_THAT(told(forward("    a = torch.ops.aten.linear.default(x, p_w)\n", "p_w: \"f32[4, 9]\", x: \"f32[2, 8]\"")),
             Contains("9 features"));
  // Results that no layer makes are no reason to stop, but what reads them is.
  const std::string indices =
      "    m = torch.ops.aten.max_pool2d_with_indices.default(x, [2, 2])\n    i = m[1]\n    a: \"f32[2, 3, 4, 4]\" = m[0]\n";
  CHECK(told(forward(indices)) == "fine");
  CHECK_THAT(told(forward(indices + "    b = torch.ops.aten.mul.Tensor(a, i)\n")),
             Contains("net.txt:5: expected results that layers make"));
  CHECK_THAT(told(forward("    a: \"f32[3, 8, 8]\" = torch.ops.aten.select.int(x, 0, 0)\n")), Contains("net.txt:2: "));
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(read_network(folder.write("net.txt", "no program")), Contains("print(torch.export.export(model, (x,)))"));
}

TEST_CASE("symbolic batches, older signatures and texts with brackets") {
  // s0 is not known, so that nothing is held against it; before 2.2 weights had no names of their own.
  const std::string old =
      forward("    a: f32[s0, 4] = torch.ops.aten.linear.default(arg1_1, arg0_1);  arg1_1 = arg0_1 = None\n",
              "arg0_1: f32[4, 8], arg1_1: f32[s0, 8]") +
      "\nGraph signature: ExportGraphSignature(parameters=['fc.weight'], user_inputs=['arg1_1'], user_outputs=['a'])\n";
  CHECK(structure_features(read_torch(old, "net.txt")).parameters == 32);
  CHECK(told(forward("    a = torch.relu(x)  # code: f((\n    b = torch.gelu(a, approximate = 'ta(nh')\n")) == "fine");
}

TEST_CASE("cut, changed and nested programs are read or refused, and nothing else") {
  rc::prop("mutated programs", [&] {
    std::string text =
        kept(*rc::gen::element<std::string>("residual_export.txt", "last_state_export.txt", "encoder_export.txt", "lstm_fx.txt"));
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
  CHECK_THAT(told("def forward(self  # torch.ops.aten"), Contains("a network with layers"));
  CHECK_THAT(told("  (a): B(\n" + std::string(1000, ')')), Contains("rehearse_torch.py"));
}
