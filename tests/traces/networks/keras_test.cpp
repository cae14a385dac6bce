// Keras's model.to_json(): kept files, every key of every class, and random graphs against a count of their own.
#include <fmt/format.h>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/scenarios/temporary_folder.hpp"
#include "traces/networks/network_file.hpp"
#include "workloads/layers/structure.hpp"

using namespace rehearse;
using namespace rehearse::traces;
using Catch::Contains;
using workloads::Shape;

namespace {

workloads::Network keras(const std::string& text) {
  const TemporaryFolder folder;
  return read_network(folder.write("model.json", text));
}

std::string keras_mistakes(const std::string& text) {
  try {
    keras(text);
  } catch (const sim::InputError& error) {
    return error.what();
  }
  return "none";
}

/// Of the layers before the losses.
std::vector<Shape> results(const workloads::Network& net) {
  const std::vector<Shape> shapes = infer_shapes(net);
  std::vector<Shape> made;
  for (const workloads::Layer& layer : net.layers)
    if (std::holds_alternative<workloads::Loss>(layer.spec)) made.push_back(shapes[static_cast<std::size_t>(layer.inputs[0])]);
  return made;
}

double multiply_adds(const workloads::Network& net) { return structure_features(net).flops() / 2; }
double weights(const workloads::Network& net) { return structure_features(net).parameters; }

/// A sequential model of layers behind an input of these sizes.
std::string sequential(const std::string& sizes, const std::string& layers) {
  return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
    {"class_name": "InputLayer", "config": {"batch_shape": [null, )" +
         sizes + R"(], "name": "x"}}, )" + layers + "]}}";
}

std::string layer(const std::string& kind, const std::string& keys) {
  return fmt::format(R"({{"class_name": "{}", "config": {{"name": "l"{}{}}}}})", kind, keys.empty() ? "" : ", ", keys);
}

}  // namespace

TEST_CASE("Keras models have the weights, multiply-adds and results that arithmetic gives") {
  struct Case {
    const char* name;
    double weights, multiply_adds;
    Shape result;
  };
  // Weights of a convolution: filters (window channels + 1); of an LSTM: 4 units (features + units + 1); of a product: units
  // (features + 1). Multiply-adds: the same without the biases, at every place.
  const Case cases[] = {
      // 2 x 2,048 (64 + 512 + 1) and 20,000 (1,024 + 1); 50 steps of 2 x 2,048 x 576 + 20,000 x 1,024
      {"bidir_concat", 2363392 + 20500000, 50 * (2359296.0 + 20480000), {20000, 50, 1}},
      // summed directions: the head reads 512
      {"bidir_sum", 2363392 + 10260000, 50 * (2359296.0 + 10240000), {20000, 50, 1}},
      // 64 (27 + 1), 128 (576 + 1), 10 (128 x 112 x 112 + 1); 224^2 x 27 x 64, 112^2 x 576 x 128, 10 x 1,605,632
      {"channels_first", 1792 + 73856 + 16056330, 86704128.0 + 924844032 + 16056320, {10, 1, 1}},
      {"channels_last", 1792 + 73856 + 16056330, 86704128.0 + 924844032 + 16056320, {10, 1, 1}},
      // 64 x 9 x 16 and 128 x 9 x 64 at 16,000 steps
      {"conv1d", 9216 + 73728, 16000.0 * (9216 + 73728), {128, 16000, 1}},
      // windows of 3 that reach over 17: 64 - 16 = 48 places, and 46
      {"dilated_valid", 1792 + 36928, 48.0 * 48 * 1728 + 46.0 * 46 * 36864, {64, 46, 46}},
      // 10,000 x 128; 512 (128 + 128 + 1); 128 (300 + 1); 2 (256 + 1)
      {"embed_plus_features", 1280000 + 131584 + 38528 + 514, 50.0 * 131072 + 38400 + 512, {2, 1, 1}},
      // 64 (16 x 3 + 1), and as many places as before with one zero more at the end
      {"even_same", 3136, 4096.0 * 3072, {64, 64, 64}},
      {"nested", 1792 + 650, 4096.0 * 1728 + 640, {10, 1, 1}},
      // 1,024 (71 + 256 + 1), 1,024 (94 + 256 + 1), 94 (256 + 1)
      {"seq2seq", 335872 + 359424 + 24158, 20.0 * (1024 * 327 + 1024 * 350 + 94 * 256), {94, 20, 1}},
      // 64 (27 + 1) and 128 (576 + 1) once, run twice; 256 + 1
      {"siamese", 1792 + 73856 + 257, 2.0 * 4096 * (1728 + 73728) + 256, {1, 1, 1}},
      {"siamese_unshared", 2 * (1792 + 73856) + 257, 2.0 * 4096 * (1728 + 73728) + 256, {1, 1, 1}},
      // six of 64 (3 x 64 + 1), at 1,000 steps whatever the dilation
      {"tcn", 6 * 12352, 6.0 * 1000 * 12288, {64, 1000, 1}},
  };
  for (const Case& one : cases) {
    INFO(one.name);
    const workloads::Network net =
        read_network(REHEARSE_SOURCE_DIR "/tests/traces/networks/keras/" + std::string(one.name) + ".json");
    CHECK(net.only_costs);
    CHECK(weights(net) == one.weights);
    CHECK(multiply_adds(net) == one.multiply_adds);
    CHECK(results(net) == std::vector<Shape>{one.result});
  }
}

TEST_CASE("channels first are the same network as channels last") {
  const auto network = [](const std::string& name) {
    return read_network(REHEARSE_SOURCE_DIR "/tests/traces/networks/keras/" + name + ".json");
  };
  const workloads::Network first = network("channels_first"), last = network("channels_last");
  REQUIRE(first.layers.size() == last.layers.size());
  CHECK(infer_shapes(first) == infer_shapes(last));
}

namespace {

/// A class with all keys that Keras writes for it, and an input that it can read.
struct KerasClass {
  const char *kind, *sizes, *keys;
  std::set<std::string> free;  ///< keys whose value changes nothing
};

const std::vector<KerasClass>& keras_classes() {
  static const std::vector<KerasClass> classes{
      {"Dense", "12, 8", R"("units": 5, "activation": "relu", "use_bias": true, "lora_rank": null)", {}},
      {"Conv1D",
       "20, 8",
       R"("filters": 4, "kernel_size": [3], "strides": [1], "padding": "causal", "data_format": "channels_last", "dilation_rate": [2],
          "groups": 2, "activation": "linear", "use_bias": true)",
       {}},
      {"Conv2D",
       "20, 16, 8",
       R"("filters": 4, "kernel_size": [3, 2], "strides": [1, 1], "padding": "valid", "data_format": "channels_last",
          "dilation_rate": [2, 2], "groups": 2, "activation": "linear", "use_bias": true)",
       {}},
      {"Conv2DTranspose",
       "20, 16, 8",
       R"("filters": 4, "kernel_size": [3, 2], "strides": [2, 2], "padding": "valid", "output_padding": null,
          "data_format": "channels_last", "dilation_rate": [1, 1], "groups": 1, "activation": "linear", "use_bias": true)",
       {}},
      {"Conv1DTranspose",
       "20, 8",
       R"("filters": 4, "kernel_size": [3], "strides": [2], "padding": "valid", "output_padding": null, "use_bias": true)",
       {}},
      {"DepthwiseConv2D",
       "20, 16, 8",
       R"("kernel_size": [3, 3], "strides": [1, 1], "padding": "valid", "data_format": "channels_last", "dilation_rate": [1, 1],
          "groups": 1, "activation": "linear", "use_bias": true, "depth_multiplier": 2)",
       {}},
      {"SeparableConv2D",
       "20, 16, 8",
       R"("filters": 6, "kernel_size": [3, 3], "strides": [1, 1], "padding": "valid", "data_format": "channels_last",
          "dilation_rate": [1, 1], "groups": 1, "activation": "linear", "use_bias": true, "depth_multiplier": 2)",
       {}},
      {"MaxPooling2D",
       "20, 16, 8",
       R"("pool_size": [3, 3], "strides": [2, 2], "padding": "valid", "data_format": "channels_last")",
       {}},
      {"AveragePooling1D",
       "20, 8",
       R"("pool_size": [3], "strides": [2], "padding": "valid", "data_format": "channels_last")",
       {}},
      {"GlobalAveragePooling2D", "20, 16, 8", R"("data_format": "channels_last", "keepdims": false)", {"keepdims"}},
      {"ZeroPadding2D", "20, 16, 8", R"("padding": [[1, 2], [3, 4]], "data_format": "channels_last")", {}},
      {"Cropping2D", "20, 16, 8", R"("cropping": [[1, 2], [3, 4]], "data_format": "channels_last")", {}},
      {"UpSampling2D",
       "20, 16, 8",
       R"("size": [2, 4], "data_format": "channels_last", "interpolation": "nearest")",
       {"interpolation"}},
      {"Embedding",
       "20",
       R"("input_dim": 100, "output_dim": 7, "mask_zero": false, "input_length": 20, "sparse": false)",
       {"mask_zero", "input_length"}},
      {"LSTM",
       "12, 8",
       R"("units": 5, "activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": true, "unit_forget_bias": true,
          "dropout": 0.0, "recurrent_dropout": 0.0, "implementation": 2, "return_sequences": false, "return_state": false,
          "go_backwards": false, "stateful": false, "unroll": false, "time_major": false)",
       {"activation", "recurrent_activation", "unit_forget_bias", "implementation", "return_state", "go_backwards", "stateful",
        "unroll"}},
      {"GRU",
       "12, 8",
       R"("units": 5, "use_bias": true, "return_sequences": false, "reset_after": false, "time_major": false, "dropout": 0.0)",
       {}},
      {"BatchNormalization",
       "20, 16, 8",
       R"("axis": [3], "momentum": 0.99, "epsilon": 0.001, "center": true, "scale": true, "synchronized": false)",
       {"momentum", "epsilon", "synchronized"}},
      {"LayerNormalization",
       "12, 8",
       R"("axis": [2], "epsilon": 0.001, "center": true, "scale": true, "rms_scaling": false)",
       {"epsilon"}},
      {"Dropout", "12, 8", R"("rate": 0.5, "noise_shape": null, "seed": null)", {"rate", "noise_shape", "seed"}},
      {"Activation", "12, 8", R"("activation": "relu")", {}},
      {"PReLU", "12, 8", R"("shared_axes": [1])", {}},
      {"Reshape", "12, 8", R"("target_shape": [8, 12])", {}},
      {"Permute", "12, 8", R"("dims": [2, 1])", {}},
      {"RepeatVector", "8", R"("n": 4)", {}},
      {"Rescaling", "12, 8", R"("scale": 2.0, "offset": 0.0)", {"scale", "offset"}},
  };
  return classes;
}

/// Keys and values of an object's text.
std::vector<std::pair<std::string, std::string>> members(const std::string& keys) {
  std::vector<std::pair<std::string, std::string>> all;
  const sim::JsonDocument document = sim::parse_json("{" + keys + "}", "keys");
  for (const sim::JsonMember m : document.root().members()) all.emplace_back(m.key.text(), m.value.json());
  return all;
}

/// Another value of the same kind, and one that makes no sense.
std::vector<std::string> other_values(const std::string& value) {
  if (value == "true") return {"false", "\"maybe\""};
  if (value == "false") return {"true", "[1, 2, 3]"};
  if (value == "null") return {"7", "\"seven\""};
  if (value.starts_with('"')) return {"\"same\"", "\"channels_first\"", "\"nonsense\"", "3"};
  if (value == "[2, 1]") return {"[1, 2]", "[1]"};  // dims
  if (value.starts_with("[[")) return {"[[2, 2], [2, 2]]", "\"all\""};
  if (value.starts_with('[')) return {"[2, 3]", "[5]", "[-7]", "\"all\""};
  return {"3", "4", "-1", "\"many\""};
}

/// The network, or what was refused.
std::string outcome(const std::string& text) {
  try {
    return layers_json(keras(text));
  } catch (const sim::InputError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("every key of every Keras class changes the network, is refused, or is known to cost nothing") {
  for (const KerasClass& one : keras_classes()) {
    INFO(one.kind);
    const std::string as_is = sequential(one.sizes, layer(one.kind, one.keys));
    CHECK(keras_mistakes(as_is) == "none");
    const std::string kept_as_is = outcome(as_is);
    // A key that no version of Keras has is never passed over.
    CHECK_THAT(keras_mistakes(sequential(one.sizes, layer(one.kind, std::string(one.keys) + R"(, "colour": 3)"))),
               Contains("colour") && Contains(one.kind));
    for (const auto& [key, value] : members(one.keys)) {
      INFO(key);
      for (const std::string& other : other_values(value)) {
        std::string keys;
        for (const auto& [name, kept] : members(one.keys))
          keys += fmt::format("{}\"{}\": {}", keys.empty() ? "" : ", ", name, name == key ? other : kept);
        const std::string changed = outcome(sequential(one.sizes, layer(one.kind, keys)));
        CAPTURE(other, changed);
        if (one.free.contains(key))
          CHECK((changed == kept_as_is || changed.find(key) != std::string::npos));
        else if (other != value)
          CHECK(changed != kept_as_is);
      }
    }
  }
}

TEST_CASE("shapes, axes and merges of Keras, each with its arithmetic") {
  const auto shape = [](const std::string& sizes, const std::string& layers) {
    return results(keras(sequential(sizes, layers)))[0];
  };
  // "same" with stride 2 of 7 places: 4. "valid" of 7 with a window of 3: 3.
  CHECK(shape("7, 7, 3", layer("Conv2D", R"("filters": 2, "kernel_size": 3, "strides": 2, "padding": "same")")) ==
        Shape{2, 4, 4});
  CHECK(shape("7, 7, 3", layer("Conv2D", R"("filters": 2, "kernel_size": 3, "strides": 2, "padding": "valid")")) ==
        Shape{2, 3, 3});
  // Zeros at one side alone: 7 + 0 + 1 = 8 rows, (8 - 3) / 2 + 1 = 3.
  CHECK(shape("7, 7, 3", layer("ZeroPadding2D", R"("padding": [[0, 1], [0, 1]])") + "," +
                             layer("Conv2D", R"("filters": 2, "kernel_size": 3, "strides": 2)")) == Shape{2, 3, 3});
  // Where no window takes the zeros, they are copied into place.
  CHECK(shape("7, 7, 3", layer("ZeroPadding2D", R"("padding": [[0, 1], [2, 3]])") + "," +
                             layer("Activation", R"("activation": "relu")")) == Shape{3, 8, 12});
  // Transposed: 7 x 2 = 14 with "same"; 6 x 2 + 3 = 15 without; 6 x 2 + 3 - 2 + 1 = 14 with one row more.
  const std::string turned = R"("filters": 2, "kernel_size": 3, "strides": 2)";
  CHECK(shape("7, 7, 3", layer("Conv2DTranspose", turned + R"(, "padding": "same")")) == Shape{2, 14, 14});
  CHECK(shape("7, 7, 3", layer("Conv2DTranspose", turned + R"(, "padding": "valid")")) == Shape{2, 15, 15});
  CHECK(shape("7, 7, 3", layer("Conv2DTranspose", turned + R"(, "padding": "same", "output_padding": 1)")) == Shape{2, 14, 14});
  // 3 axes as channels: 2 x 7 x 7 x 3 trained numbers; along the last alone 2 x 3.
  CHECK(weights(keras(sequential("7, 7, 3", layer("LayerNormalization", R"("axis": [1, 2, 3])")))) == 294);
  CHECK(weights(keras(sequential("7, 7, 3", layer("BatchNormalization", R"("axis": 3, "scale": false)")))) == 3);
  CHECK(weights(keras(sequential("7, 9, 3", layer("BatchNormalization", R"("axis": 2)")))) == 18);
  // A factor for each of 84 numbers, or for each channel.
  CHECK(weights(keras(sequential("4, 7, 3", layer("PReLU", "")))) == 84);
  CHECK(weights(keras(sequential("4, 7, 3", layer("PReLU", R"("shared_axes": [1, 2])")))) == 3);
  // 3 units (8 + 3) at two gates' biases where resets come after: 9 (8 + 3 + 2).
  CHECK(weights(keras(sequential("5, 8", layer("GRU", R"("units": 3, "reset_after": true)")))) == 9 * 13);
  // merge_mode null returns both directions, of which a sequential model ends with the first.
  CHECK(
      shape("5, 8",
            layer("Bidirectional",
                  R"("merge_mode": "mul", "layer": {"class_name": "LSTM", "config": {"units": 3, "return_sequences": true}})")) ==
      Shape{3, 5, 1});
  // 2 heads of 4: three products of 8 (8 + 1) and one of 8 (8 + 1).
  const std::string attention = R"({"class_name": "Functional", "config": {"name": "a", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"batch_shape": [null, 6, 8], "name": "x"}, "inbound_nodes": []},
    {"class_name": "MultiHeadAttention", "name": "m", "config": {"name": "m", "num_heads": 2, "key_dim": 4, "value_dim": 4, "dropout": 0.1,
      "use_bias": true, "output_shape": null, "attention_axes": [1]}, "inbound_nodes": [[["x", 0, 0, {"value": ["x", 0, 0]}]]]}],
    "input_layers": [["x", 0, 0]], "output_layers": [["m", 0, 0]]}})";
  CHECK(weights(keras(attention)) == 4 * 72);
  // 6 x (4 x 64) of the projections, and 2 heads x 36 x 4 twice.
  CHECK(multiply_adds(keras(attention)) == 6 * 256 + 2 * 2 * 36 * 4);
}

TEST_CASE("a nested model that is called twice has its weights once") {
  const auto model = [](const std::string& first, const std::string& second) {
    return R"({"class_name": "Functional", "config": {"name": "f", "layers": [
      {"class_name": "InputLayer", "name": "a", "config": {"batch_shape": [null, 8], "name": "a"}, "inbound_nodes": []},
      {"class_name": "InputLayer", "name": "b", "config": {"batch_shape": [null, 8], "name": "b"}, "inbound_nodes": []},
      {"class_name": "Sequential", "name": "tower", "config": {"name": "tower", "layers": [
        {"class_name": "Dense", "config": {"name": "d", "units": 5, "batch_input_shape": [null, 8]}},
        {"class_name": "Dense", "config": {"name": "e", "units": 4}}]}, "inbound_nodes": [[["a", 0, 0, {}]], [["b", 0, 0, {}]]]},
      {"class_name": "Concatenate", "name": "c", "config": {"name": "c", "axis": -1}, "inbound_nodes": [[["tower", )" +
           first + R"(, 0, {}], ["tower", )" + second + R"(, 0, {}]]]}],
      "input_layers": [["a", 0, 0], ["b", 0, 0]], "output_layers": [["c", 0, 0], ["tower", )" +
           first + R"(, 0]]}})";
  };
  // Keras counts the model's own inputs as its first call; other writers do not.
  for (const std::string& text : {model("1", "2"), model("0", "1")}) {
    const workloads::Network net = keras(text);
    CHECK(weights(net) == 5 * 9 + 4 * 6);
    CHECK(multiply_adds(net) == 2 * (40 + 20));
    CHECK(results(net) == std::vector<Shape>{{8, 1, 1}, {4, 1, 1}});
  }
}

TEST_CASE("what Keras can hold and no layer is, is refused by name") {
  const auto told = [](const std::string& sizes, const std::string& text) { return keras_mistakes(sequential(sizes, text)); };
  for (const char* const kind : {"Lambda", "ConvLSTM2D", "Conv3D", "TFOpLambda", "MyAttention"})
    CHECK_THAT(told("8, 8", layer(kind, "")), Contains("a layer that is supported") && Contains(kind));
  CHECK_THAT(told("8, 8", R"({"class_name": "Dense", "registered_name": "mine>Dense", "config": {"name": "d", "units": 3}})"),
             Contains("\"d\", a Dense"));
  CHECK_THAT(told("8, 8", layer("Activation", R"("activation": "my_function")")), Contains("an activation of Keras"));
  CHECK_THAT(told("8, 8, 3",
                  layer("TimeDistributed", R"("layer": {"class_name": "Conv2D", "config": {"filters": 3, "kernel_size": 3}})")),
             Contains("in TimeDistributed one of"));
  CHECK_THAT(told("8, 8", layer("LSTM", R"("units": 3, "time_major": true)")), Contains("time_major"));
  CHECK_THAT(
      told("8, 8", layer("Bidirectional", R"("merge_mode": "max", "layer": {"class_name": "LSTM", "config": {"units": 3}})")),
      Contains("merge_mode"));
  CHECK_THAT(keras_mistakes(R"({"class_name": "Functional", "config": {"name": "f", "layers": [
    {"class_name": "InputLayer", "name": "x", "config": {"batch_shape": [null, 8], "name": "x"}, "inbound_nodes": []},
    {"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 3}, "inbound_nodes": [[["nowhere", 0, 0, {}]]]}],
    "input_layers": [["x", 0, 0]], "output_layers": [["d", 0, 0]]}})"),
             Contains("inputs among the results of the other layers") && Contains("\"d\""));
}

TEST_CASE("changed Keras files are read or refused, and nothing else") {
  std::vector<std::string> files;
  for (const char* const name : {"bidir_sum", "dilated_valid", "nested", "siamese", "seq2seq", "embed_plus_features"}) {
    std::ostringstream text;
    text << std::ifstream(REHEARSE_SOURCE_DIR "/tests/traces/networks/keras/" + std::string(name) + ".json").rdbuf();
    files.push_back(text.str());
  }
  for (const KerasClass& one : keras_classes()) files.push_back(sequential(one.sizes, layer(one.kind, one.keys)));
  rc::prop("numbers, words and lists in the place of others", [&] {
    std::string text = *rc::gen::elementOf(files);
    for (int edits = *rc::gen::inRange(1, 4); edits > 0; --edits) {
      std::vector<std::pair<std::size_t, std::size_t>> values;  // where each scalar begins and ends
      for (std::size_t at = 0; at < text.size(); ++at)
        if (std::string_view(" [").find(text[at]) != std::string_view::npos) {
          const std::size_t end = text.find_first_of(",]}", at + 1);
          if (end != text.npos && text.find_first_of("[{", at + 1) > end) values.emplace_back(at + 1, end);
        }
      const auto [begin, end] = *rc::gen::elementOf(values);
      text.replace(begin, end - begin,
                   *rc::gen::element<std::string>("0", "-1", "1", "2", "7", "32768", "1073741824", "99999999999", "0.5", "null",
                                                  "true", "\"same\"", "[2, 2]", "[]", "{}", "\"x\""));
    }
    CHECK_FALSE(outcome(text).empty());
  });
}

TEST_CASE("random functional graphs of Keras have the weights and products that a count of their own gives") {
  rc::prop("products, sums, joined vectors and shared layers", [] {
    struct Made {
      std::string reference;
      int width = 0;
    };
    std::vector<Made> tensors;
    std::map<std::string, std::pair<std::string, std::vector<std::string>>> layers;  // class and keys, calls; by name
    std::vector<std::string> order;
    double weights_of = 0, products_of = 0;
    const bool is_recent = *rc::gen::arbitrary<bool>();
    const auto reference = [&](const std::string& name, std::size_t call) {
      if (!is_recent) return fmt::format(R"(["{}", {}, 0, {{}}])", name, call);
      return fmt::format(
          R"({{"class_name": "__keras_tensor__", "config": {{"shape": [null, 1], "keras_history": ["{}", {}, 0]}}}})", name,
          call);
    };
    const auto node = [&](const std::vector<std::string>& inputs) {
      const std::string list = fmt::format("{}", fmt::join(inputs, ", "));
      if (!is_recent) return "[" + list + "]";
      return R"({"args": [)" + (inputs.size() > 1 ? "[" + list + "]" : list) + R"(], "kwargs": {}})";
    };
    const auto call = [&](const std::string& name, int width, const std::vector<std::string>& inputs) {
      auto& calls = layers[name].second;
      if (calls.empty()) order.push_back(name);
      if (!inputs.empty()) calls.push_back(node(inputs));
      tensors.push_back({reference(name, std::max<std::size_t>(1, calls.size()) - 1), width});
    };
    for (int i = 0; i < *rc::gen::inRange(1, 3); ++i) {
      const int width = *rc::gen::inRange(1, 9);
      const std::string name = fmt::format("in{}", i);
      layers[name].first = fmt::format(R"("InputLayer", "config": {{"name": "{}", "batch_shape": [null, {}]}})", name, width);
      call(name, width, {});
    }
    std::map<std::string, std::pair<int, int>> dense;  // features and units, by name
    const int count = *rc::gen::inRange(1, 9);
    for (int i = 0; i < count; ++i) {
      const Made a = *rc::gen::elementOf(tensors), b = *rc::gen::elementOf(tensors);
      const std::string name = fmt::format("l{}", i);
      const int kind = *rc::gen::inRange(0, 4);
      const auto again = std::ranges::find_if(dense, [&](const auto& d) { return d.second.first == a.width; });
      if (kind == 0 && again != dense.end()) {  // its weights once, its products again
        products_of += again->second.first * again->second.second;
        call(again->first, again->second.second, {a.reference});
      } else if (kind <= 1) {
        const int units = *rc::gen::inRange(1, 9);
        layers[name].first = fmt::format(R"("Dense", "config": {{"name": "{}", "units": {}}})", name, units);
        dense[name] = {a.width, units};
        weights_of += units * (a.width + 1);
        products_of += units * a.width;
        call(name, units, {a.reference});
      } else if (kind == 2 && a.width == b.width) {
        layers[name].first = fmt::format(R"("Add", "config": {{"name": "{}"}})", name);
        call(name, a.width, {a.reference, b.reference});
      } else {
        layers[name].first = fmt::format(R"("Concatenate", "config": {{"name": "{}", "axis": -1}})", name);
        call(name, a.width + b.width, {a.reference, b.reference});
      }
    }
    std::string text = R"({"class_name": "Functional", "config": {"name": "f", "layers": [)";
    for (const std::string& name : order)
      text += fmt::format("{}{{\"class_name\": {}, \"name\": \"{}\", \"inbound_nodes\": [{}]}}", text.ends_with('[') ? "" : ",\n",
                          layers[name].first, name, fmt::join(layers[name].second, ", "));
    text += fmt::format(R"(], "input_layers": [["in0", 0, 0]], "output_layers": [["{}", {}, 0]]}}}})", order.back(),
                        std::max<std::size_t>(1, layers[order.back()].second.size()) - 1);
    const workloads::Network net = keras(text);
    RC_ASSERT(weights(net) == weights_of);
    RC_ASSERT(multiply_adds(net) == products_of);
  });
}
