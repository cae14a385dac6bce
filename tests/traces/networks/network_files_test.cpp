#include <rapidcheck/catch.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/scenarios/temporary_folder.hpp"
#include "tests/traces/networks/onnx_bytes.hpp"
#include "traces/graphs/graph_json.hpp"
#include "traces/networks/network_file.hpp"
#include "workloads/layers/structure.hpp"
#include "workloads/zoo/zoo.hpp"

using namespace rehearse;
using namespace rehearse::traces;
using namespace onnx_bytes;

namespace {

workloads::Network json(const std::string& text) {
  const TemporaryFolder folder;
  return read_network(folder.write("model.json", text));
}

std::string mistakes(const std::string& text) {
  try {
    json(text);
  } catch (const sim::InputError& error) {
    return error.what();
  }
  return "none";
}

const char* const kSequential = R"({"class_name": "Sequential", "config": {"name": "small", "layers": [
  {"class_name": "InputLayer", "config": {"batch_input_shape": [null, 8, 8, 3], "name": "in"}},
  {"class_name": "Conv2D", "config": {"name": "conv", "filters": 4, "kernel_size": [3, 3], "strides": [1, 1], "padding": "same",
                                      "activation": "relu", "use_bias": true}},
  {"class_name": "MaxPooling2D", "config": {"name": "pool", "pool_size": [2, 2], "strides": [2, 2], "padding": "valid"}},
  {"class_name": "Flatten", "config": {"name": "flat"}},
  {"class_name": "Dense", "config": {"name": "out", "units": 10, "activation": "softmax"}}]}})";

}  // namespace

TEST_CASE("the same small network from Keras, from ONNX and from layers of our own") {
  // 4 (27 + 1) + 10 (64 + 1) = 762 parameters; 2 (64 x 4 x 27 + 640) = 15,104 FLOPs
  const TemporaryFolder folder;
  const char* const layers = R"({"name": "small", "layers": [
    {"type": "input", "channels": 3, "height": 8, "width": 8}, {"type": "conv", "filters": 4, "kernel": 3, "pad": 1}, {"type": "relu"},
    {"type": "max_pool"}, {"type": "flatten"}, {"type": "dense", "units": 10}]})";
  for (const workloads::Network& net : {json(kSequential), json(layers), read_network(folder.write("m.onnx", small_onnx()))}) {
    const workloads::StructureFeatures f = structure_features(net);
    CHECK(f.parameters == 762);
    CHECK(f.flops() == 15104);
    CHECK(f.conv_layers == 1);
    CHECK(f.dense_layers == 1);
  }
}

TEST_CASE("a network's file is recognised by what it holds, whatever its name, and is unpacked") {
  const TemporaryFolder folder;
  const auto parameters = [&](const std::string& name, const std::string& bytes) {
    return structure_features(read_network(folder.write(name, bytes))).parameters;
  };
  for (const std::string name : {"m.onnx", "m.json", "m", "m.pb", "m.onnx.gz"}) {
    CAPTURE(name);
    CHECK(parameters(name, small_onnx()) == 762);
    CHECK(parameters(name, kSequential) == 762);
  }
  const std::string packed = folder.path() + "/packed.onnx";
  gzFile const file = gzopen(packed.c_str(), "wb");
  const std::string bytes = small_onnx();
  REQUIRE(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size()));
  gzclose(file);
  CHECK(structure_features(read_network(packed)).parameters == 762);
}

TEST_CASE("what is no network's file says what it is") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& name, const std::string& bytes, const char* found) {
    CAPTURE(name);
    CHECK_THROWS_WITH(read_network(folder.write(name, bytes)), Catch::Contains("expected a network") && Catch::Contains(found));
  };
  refused("a.txt", "model,batch\n", "\"model,batch");
  refused("a.h5", "\x89HDF\r\n\x1A\n", "model.to_json()");
  refused("a.tflite", std::string("\x1C\0\0\0TFL3", 8), "tf2onnx");
  refused("a.json", to_json(workloads::zoo_graph("alexnet")), "operations of one step");
  std::filesystem::create_directory(folder.path() + "/saved");
  folder.write("saved/saved_model.pb", std::string("\x08\x01\x12\x02\x0A\x00", 6));
  CHECK_THROWS_WITH(read_network(folder.path() + "/saved"), Catch::Contains("--saved-model"));
}

TEST_CASE("trained numbers of normalisations and recurrent layers, and first states") {
  const auto weights = [](const std::string& layer) {
    return structure_features(json(R"({"layers": [{"type": "input", "name": "x", "channels": 5, "height": 9},
      {"type": "last_step", "name": "v"}, {"type": "dense", "name": "s", "units": 4, "bias": false}, )" +
                                   layer + "]}"))
               .parameters -
           20;
  };
  // 5 channels with a factor and a sum each; gates x 4 x (5 + 4 + biases).
  CHECK(weights(R"({"type": "layer_norm", "inputs": ["x"]})") == 10);
  CHECK(weights(R"({"type": "layer_norm", "shift": false, "inputs": ["x"]})") == 5);
  CHECK(weights(R"({"type": "batch_norm", "scale": false, "shift": false, "inputs": ["x"]})") == 0);
  CHECK(weights(R"({"type": "gru", "units": 4, "inputs": ["x"]})") == 3 * 4 * 10);
  CHECK(weights(R"({"type": "lstm", "units": 4, "biases": 2, "inputs": ["x", "s", "s"]})") == 4 * 4 * 11);
  CHECK_THAT(
      mistakes(R"({"layers": [{"type": "input", "name": "x", "channels": 5, "height": 9}, {"type": "last_step", "name": "v"},
    {"type": "lstm", "units": 4, "inputs": ["x", "v"]}]})"),
      Catch::Contains("states of as many numbers as there are hidden units"));
}

TEST_CASE("layers of our own are written as they are read") {
  // Every kind of layer, each number unlike its default.
  const char* const all[] = {
      R"({"name": "a \"b\"", "layers": [{"type": "input", "name": "x", "channels": 4, "height": 16, "width": 12},
        {"type": "conv", "name": "c", "filters": 8, "kernel": 5, "stride": 2, "pad": 2, "groups": 2, "bias": false},
        {"type": "batch_norm"}, {"type": "relu", "name": "r"}, {"type": "average_pool", "name": "p", "kernel": 3, "stride": 1, "pad": 1},
        {"type": "add", "name": "s", "inputs": ["p", "r"]}, {"type": "concat", "inputs": ["s", "r"]},
        {"type": "max_pool", "kernel": 4, "stride": 3, "pad": 1}, {"type": "gelu"}, {"type": "dropout"}, {"type": "global_pool"},
        {"type": "flatten"}, {"type": "dense", "units": 7, "bias": false}, {"type": "loss"}]})",
      R"({"name": "n", "layers": [{"type": "input", "height": 9}, {"type": "embedding", "vocabulary": 50, "units": 6},
        {"type": "lstm", "units": 4, "bidirectional": true}, {"type": "gru", "units": 6}, {"type": "vanilla", "units": 8, "name": "v"},
        {"type": "lstm", "units": 9, "projection": 8}, {"type": "layer_norm", "name": "q"}, {"type": "attention", "heads": 2, "inputs": ["q", "v", "v"]}, {"type": "last_step"},
        {"type": "dense", "units": 3}]})",
      R"({"name": "t", "only_costs": true, "layers": [{"type": "input", "name": "x", "channels": 5, "height": 9},
        {"type": "batch_norm", "scale": false}, {"type": "layer_norm", "shift": false, "name": "n"},
        {"type": "gru", "name": "a", "units": 4, "biases": 2}, {"type": "last_step", "name": "s"},
        {"type": "lstm", "units": 4, "biases": 0, "inputs": ["n", "s", "s"]}]})",
      R"({"name": "m", "layers": [{"type": "input", "name": "x", "channels": 4, "height": 12, "width": 10},
        {"type": "conv", "name": "c", "filters": 4, "kernel": [3, 2], "stride": [1, 2], "pad": [2, 0], "dilation": [2, 1], "end": [0, 1]},
        {"type": "conv", "name": "d", "filters": 4, "kernel": [3, 2], "pad": [1, 1], "end": [0, -1], "shares": "c"},
        {"type": "max_pool", "kernel": 3, "stride": 2, "end": 1}, {"type": "transposed_conv", "filters": 6, "kernel": 3, "stride": 2, "end": -1, "groups": 2, "bias": false},
        {"type": "local_response_norm", "size": 3}, {"type": "upsample", "factor": 3}, {"type": "resize", "channels": 6, "height": 7, "width": 8},
        {"type": "slice", "name": "s", "channels": 3, "height": 7, "width": 8}, {"type": "reduce", "name": "r", "channels": 3, "height": 7},
        {"type": "multiply", "inputs": ["s", "r"]}, {"type": "concat", "name": "w", "axis": "width", "inputs": ["s", "r"]},
        {"type": "transpose", "name": "t", "channels": 3, "height": 9, "width": 7}, {"type": "product", "inputs": ["w", "t"]},
        {"type": "reshape", "channels": 7, "height": 3, "width": 7}, {"type": "detach"}, {"type": "to_sequence"},
        {"type": "lstm", "units": 5, "bidirectional": true, "sum_directions": true}, {"type": "dense", "units": 3}]})"};
  for (const char* const text : all) {
    const workloads::Network net = json(text), again = json(layers_json(net));
    CHECK(layers_json(again) == layers_json(net));
    CHECK(again.name == net.name);
    REQUIRE(again.layers.size() == net.layers.size());
    for (std::size_t i = 0; i < net.layers.size(); ++i) {
      CHECK(again.layers[i].inputs == net.layers[i].inputs);
      CHECK(again.layers[i].shares == net.layers[i].shares);
      CHECK(kind_name(again.layers[i].spec) == kind_name(net.layers[i].spec));
    }
    CHECK(infer_shapes(again) == infer_shapes(net));
    CHECK(structure_features(again).parameters == structure_features(net).parameters);
    CHECK(structure_features(again).flops() == structure_features(net).flops());
  }
}

TEST_CASE("layers of our own share parameters of equal number") {
  const auto shared = [](const std::string& units) {
    return R"({"layers": [{"type": "input", "channels": 4}, {"type": "dense", "units": 4, "name": "a"}, {"type": "dense", "units": 4,
      "shares": "a", "name": "b"}, {"type": "dense", "units": )" +
           units + R"(, "shares": "b"}]})";
  };
  const workloads::Network net = json(shared("4"));
  CHECK(net.layers[3].shares == 1);
  CHECK(structure_features(net).parameters == 20);         // 4 (4 + 1), once
  CHECK(structure_features(net).flops() == 2.0 * 3 * 16);  // three times
  CHECK_THAT(mistakes(shared("5")), Catch::Contains("as many parameters as layer \"b\" has, 20"));
  CHECK_THAT(mistakes(R"({"layers": [{"type": "input"}, {"type": "dense", "units": 4, "shares": "x"}]})"),
             Catch::Contains("the name of an earlier layer"));
  CHECK_THAT(mistakes(R"({"layers": [{"type": "input"}, {"type": "max_pool", "kernel": [2, 2, 2]}]})"),
             Catch::Contains("a list of height and width"));
}

TEST_CASE("a functional Keras model with a shortcut, in both spellings of its inputs") {
  const auto functional = [](const std::string& nodes_of_conv, const std::string& nodes_of_add) {
    return R"({"class_name": "Functional", "config": {"name": "f", "layers": [
      {"class_name": "InputLayer", "name": "in", "config": {"batch_shape": [null, 16, 16, 8], "name": "in"}, "inbound_nodes": []},
      {"class_name": "ZeroPadding2D", "name": "zeros", "config": {"name": "zeros", "padding": [[1, 1], [1, 1]]}, "inbound_nodes": [[["in", 0, 0, {}]]]},
      {"class_name": "Conv2D", "name": "conv", "config": {"name": "conv", "filters": 8, "kernel_size": [3, 3], "padding": "valid",
        "use_bias": false}, "inbound_nodes": )" +
           nodes_of_conv + R"(},
      {"class_name": "Add", "name": "add", "config": {"name": "add"}, "inbound_nodes": )" +
           nodes_of_add + R"(},
      {"class_name": "GlobalAveragePooling2D", "name": "mean", "config": {"name": "mean"}, "inbound_nodes": [[["add", 0, 0, {}]]]}]}})";
  };
  const std::string old = functional(R"([[["zeros", 0, 0, {}]]])", R"([[["in", 0, 0, {}], ["conv", 0, 0, {}]]])");
  const auto tensor = [](const std::string& name) {
    return R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 16, 16, 8], "keras_history": [")" + name +
           R"(", 0, 0]}})";
  };
  const std::string recent = functional(R"([{"args": [)" + tensor("zeros") + R"(], "kwargs": {}}])",
                                        R"([{"args": [[)" + tensor("in") + "," + tensor("conv") + R"(]], "kwargs": {}}])");
  for (const std::string& text : {old, recent}) {
    const workloads::Network net = json(text);
    const workloads::StructureFeatures f = structure_features(net);
    CHECK(f.parameters == 8 * 72);
    CHECK(f.square3_flops == 2.0 * 256 * 8 * 72);
    CHECK(infer_shapes(net)[net.layers.size() - 2].channels == 8);  // before the loss
  }
}

TEST_CASE("recurrent Keras layers") {
  const workloads::Network net = json(R"({"class_name": "Sequential", "config": {"name": "text", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, 20], "name": "in"}},
    {"class_name": "Embedding", "config": {"name": "e", "input_dim": 1000, "output_dim": 16}},
    {"class_name": "Bidirectional", "config": {"name": "b", "layer": {"class_name": "LSTM", "config": {"units": 8, "return_sequences": true}}}},
    {"class_name": "GRU", "config": {"name": "g", "units": 4, "return_sequences": false}},
    {"class_name": "Dense", "config": {"name": "d", "units": 2, "activation": "linear"}}]}})");
  const workloads::StructureFeatures f = structure_features(net);
  CHECK(f.recurrent_layers == 2);
  CHECK(f.recurrent_steps == 60);  // two directions of twenty, and twenty
  // 16,000; 2 x 32 (16 + 8 + 1); 12 (16 + 4 + 1); 2 (4 + 1)
  CHECK(f.parameters == 16000 + 1600 + 252 + 10);
}

TEST_CASE("what is not supported is named, all of it at once") {
  const std::string told = mistakes(R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_input_shape": [null, 8, 8, 3], "name": "in"}},
    {"class_name": "Conv3D", "config": {"name": "deep"}},
    {"class_name": "Capsule", "config": {"name": "odd"}}]}})");
  CHECK_THAT(told, Catch::Contains("layer \"deep\", a Conv3D"));
  CHECK_THAT(told, Catch::Contains("layer \"odd\", a Capsule"));
  CHECK_THAT(mistakes(R"({"class_name": "Sequential", "config": {"layers": [
    {"class_name": "InputLayer", "config": {"batch_input_shape": [null, null, null, 3], "name": "in"}}]}})"),
             Catch::Contains("an input of fixed size"));
  CHECK_THAT(mistakes(R"({"layers": [{"type": "input", "height": 4}, {"type": "conv", "filters": 2, "kernel": 9}]})"),
             Catch::Contains("layer \"conv2\""));
  CHECK_THAT(mistakes(R"({"layers": [{"type": "input"}, {"type": "dens", "units": 2}]})"), Catch::Contains("dense"));
  CHECK_THAT(mistakes("{"), Catch::Contains("model.json"));
  CHECK_THROWS_AS(read_network("/nowhere/model.onnx"), sim::InputError);
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(read_network(folder.write("none.onnx", "")),
                    Catch::Contains("a network") && Catch::Contains("an empty file"));
}
