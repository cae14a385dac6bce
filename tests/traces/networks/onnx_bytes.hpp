// ONNX files as Protocol Buffers write them, byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace onnx_bytes {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
inline std::string bytes(int field, const std::string& content) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}
inline std::string attribute(const std::string& name, const std::vector<int>& values) {
  std::string all = bytes(1, name);
  for (const int value : values) all += number(8, static_cast<std::uint64_t>(value));
  return bytes(5, all);
}
inline std::string node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output,
                        const std::string& attributes = {}) {
  std::string all;
  for (const std::string& input : inputs) all += bytes(1, input);
  return bytes(1, all + bytes(2, output) + bytes(3, "n_" + output) + bytes(4, type) + attributes);
}
inline std::string weight(const std::string& name, const std::vector<int>& sizes) {
  std::string packed;
  for (const int size : sizes) packed += varint(static_cast<std::uint64_t>(size));
  return bytes(5, bytes(1, packed) + number(2, 1) + bytes(8, name) + bytes(9, "raw"));
}
inline std::string input(const std::string& name, const std::vector<int>& sizes) {
  std::string shape;
  for (const int size : sizes) shape += bytes(1, size > 0 ? number(1, static_cast<std::uint64_t>(size)) : bytes(2, "batch"));
  return bytes(11, bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, shape))));
}
inline std::string model(const std::string& graph) { return number(1, 8) + bytes(7, bytes(2, "made") + graph); }

/// 3 x 8 x 8, 4 filters of 3 x 3, ReLU, pool, flatten, 10 units.
inline std::string small_onnx() {
  return model(
      input("x", {0, 3, 8, 8}) + weight("w", {4, 3, 3, 3}) + weight("b", {4}) + weight("v", {10, 64}) + weight("c", {10}) +
      node("Conv", {"x", "w", "b"}, "h", attribute("kernel_shape", {3, 3}) + attribute("pads", {1, 1, 1, 1})) +
      node("Relu", {"h"}, "r") + node("MaxPool", {"r"}, "p", attribute("kernel_shape", {2, 2}) + attribute("strides", {2, 2})) +
      node("Flatten", {"p"}, "f") + node("Gemm", {"f", "v", "c"}, "y", attribute("transB", {1})));
}

}  // namespace onnx_bytes
