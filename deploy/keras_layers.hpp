// One layer of a network as Keras code.
#pragma once

#include <span>
#include <string>

#include "workloads/layers/network.hpp"

namespace rehearse::traces {

/// What a tensor is to Keras, whose layers tell them apart by the number of dimensions.
enum class Form { image, sequence, vector, tokens };

struct Tensor {
  std::string name;  ///< of its variable
  workloads::Shape shape;
  Form form = Form::vector;
};

struct LayerOptions {
  std::string name = {};  ///< a Python literal
  bool causal = false;    ///< attention sees no later position
};

struct LayerCode {
  std::string object = {};  ///< makes the layer; empty: the input is the output
  std::string input = {};   ///< what it is called with; empty: its first input as it is
  std::string after = {};   ///< makes a layer that the output goes through; empty: none
  Form form = Form::vector;
};

/// An input's form, where nothing looks its numbers up.
Form form_of_input(const workloads::Shape& shape);
/// A Python tuple.
std::string keras_shape(const workloads::Shape& shape, Form form);

/// A layer that is neither Input nor Loss. `out`: the shape of its output.
LayerCode layer_code(const workloads::Layer& layer, std::span<const Tensor> in, const workloads::Shape& out,
                     const LayerOptions& options);

}  // namespace rehearse::traces
