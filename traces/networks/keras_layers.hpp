// The layers of Keras: which keys of their configurations are read, and which layers of ours they are.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/json.hpp"
#include "traces/networks/tensors.hpp"

namespace rehearse::traces {

/// What a layer cannot be, at the value that says so.
struct KerasRefusal {
  sim::JsonValue at;
  std::string expected;
};

/// Nothing where there is none.
std::optional<sim::JsonValue> json_member(sim::JsonValue object, std::string_view key);
std::string json_text(sim::JsonValue object, std::string_view key, std::string_view fallback = {});
/// Whole numbers of at most 2^30; -1 for anything else.
int json_whole(sim::JsonValue value);
/// The layer's "config", or the layer itself.
sim::JsonValue keras_config(sim::JsonValue layer);

/// What one call of a layer gets.
struct KerasInputs {
  ShapedTensors tensors;
  std::map<std::string, ShapedTensors> named{};  ///< by keyword
  std::vector<sim::JsonMember> options{};        ///< arguments by keyword that hold no tensors
};

class KerasLayers {
 public:
  explicit KerasLayers(TensorNetwork& network);
  ~KerasLayers();

  static bool knows(std::string_view kind);
  /// Results of a call, which appends layers to the network. A layer that is called again under its name has the weights of the
  /// first call. Every key must be one that is read or costs nothing. Throws KerasRefusal, and InputError for shapes that cannot
  /// work.
  ShapedTensors read(sim::JsonValue layer, const std::string& name, KerasInputs inputs);
  /// Of an InputLayer.
  static void require_dense_input(sim::JsonValue layer);

 private:
  class Call;
  TensorNetwork& network_;
};

}  // namespace rehearse::traces
