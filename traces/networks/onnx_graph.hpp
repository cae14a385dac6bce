// What is needed of an ONNX file (onnx.ai, onnx.proto3): nodes with their attributes, shapes of inputs and of weights; the
// weights themselves are skipped, but for whole numbers, which some operations take as their settings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse::traces {

struct OnnxNode {
  std::string name, type;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, std::vector<std::int64_t>> numbers;  ///< attributes of whole numbers
  std::map<std::string, std::string> texts;

  std::int64_t number(const std::string& key, std::int64_t fallback) const;
};

struct OnnxGraph {
  std::string name;
  std::vector<OnnxNode> nodes;                               ///< each behind those that it reads
  std::map<std::string, std::vector<std::int64_t>> weights;  ///< shapes, by name
  std::map<std::string, std::vector<std::int64_t>> inputs;   ///< shapes, weights left out; 0: not fixed
};

/// Throws sim::InputError when the bytes are no such file, or are damaged.
OnnxGraph read_onnx_graph(std::string_view bytes, const std::string& file);

}  // namespace rehearse::traces
