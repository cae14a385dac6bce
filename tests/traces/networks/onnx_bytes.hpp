// ONNX files made by hand, field by field (onnx.proto), for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace onnx_bytes {

inline std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}
inline std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
inline std::string bytes(int field, const std::string& content) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}
inline std::string integers(const std::string& name, const std::vector<std::int64_t>& values) {
  std::string all = bytes(1, name) + number(20, 7);
  for (const std::int64_t value : values) all += number(8, static_cast<std::uint64_t>(value));
  return bytes(5, all);
}
inline std::string integer(const std::string& name, std::int64_t value) {
  return bytes(5, bytes(1, name) + number(20, 2) + number(3, static_cast<std::uint64_t>(value)));
}
inline std::string text(const std::string& name, const std::string& content) {
  return bytes(5, bytes(1, name) + number(20, 3) + bytes(4, content));
}
inline std::string node_of(const std::string& type, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs, const std::string& attributes = {}) {
  std::string all;
  for (const std::string& input : inputs) all += bytes(1, input);
  for (const std::string& output : outputs) all += bytes(2, output);
  return bytes(1, all + bytes(3, "n_" + outputs.front()) + bytes(4, type) + attributes);
}
inline std::string node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output,
                        const std::string& attributes = {}) {
  return node_of(type, inputs, {output}, attributes);
}
inline std::string packed(const std::vector<std::int64_t>& values) {
  std::string all;
  for (const std::int64_t value : values) all += varint(static_cast<std::uint64_t>(value));
  return all;
}
/// Of floats, whose values are left out.
inline std::string weight(const std::string& name, const std::vector<std::int64_t>& sizes) {
  return bytes(5, bytes(1, packed(sizes)) + number(2, 1) + bytes(8, name) + bytes(9, "raw"));
}
inline std::string whole_numbers(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& values) {
  return bytes(1, packed(sizes)) + number(2, 7) + bytes(7, packed(values));
}
/// A constant list of whole numbers.
inline std::string list(const std::string& name, const std::vector<std::int64_t>& values) {
  return bytes(5, whole_numbers({static_cast<std::int64_t>(values.size())}, values) + bytes(8, name));
}
inline std::string scalar(const std::string& name, std::int64_t value) {
  return bytes(5, whole_numbers({}, {value}) + bytes(8, name));
}
/// 0: a size called "batch"; below 0: one with the name "sizeN".
inline std::string value(int field, const std::string& name, const std::vector<std::int64_t>& sizes, int type = 1) {
  std::string shape;
  for (const std::int64_t size : sizes)
    shape += bytes(1, size > 0    ? number(1, static_cast<std::uint64_t>(size))
                      : size == 0 ? bytes(2, "batch")
                                  : bytes(2, "size" + std::to_string(-size)));
  return bytes(field, bytes(1, name) + bytes(2, bytes(1, number(1, static_cast<std::uint64_t>(type)) + bytes(2, shape))));
}
inline std::string input(const std::string& name, const std::vector<std::int64_t>& sizes, int type = 1) {
  return value(11, name, sizes, type);
}
inline std::string output(const std::string& name, const std::vector<std::int64_t>& sizes) { return value(12, name, sizes); }
inline std::string output(const std::string& name) { return bytes(12, bytes(1, name)); }
inline std::string model(const std::string& graph, int opset = 13, int ir = 8) {
  return number(1, static_cast<std::uint64_t>(ir)) + bytes(7, bytes(2, "made") + graph) +
         bytes(8, bytes(1, "") + number(2, static_cast<std::uint64_t>(opset)));
}

/// 3 x 8 x 8, 4 filters of 3 x 3, ReLU, pool, flatten, 10 units.
inline std::string small_onnx() {
  return model(
      input("x", {0, 3, 8, 8}) + weight("w", {4, 3, 3, 3}) + weight("b", {4}) + weight("v", {10, 64}) + weight("c", {10}) +
      node("Conv", {"x", "w", "b"}, "h", integers("kernel_shape", {3, 3}) + integers("pads", {1, 1, 1, 1})) +
      node("Relu", {"h"}, "r") + node("MaxPool", {"r"}, "p", integers("kernel_shape", {2, 2}) + integers("strides", {2, 2})) +
      node("Flatten", {"p"}, "f") + node("Gemm", {"f", "v", "c"}, "y", integer("transB", 1)) + output("y", {0, 10}));
}

}  // namespace onnx_bytes
