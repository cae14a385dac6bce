// What is needed of an ONNX file (onnx.ai, onnx.proto3): nodes with their attributes, shapes of inputs and of weights; the
// weights themselves are skipped, but for whole numbers, which some operations take as their settings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

// Just enough of Protocol Buffers' wire format to walk through a message: fields in order, each a number or bytes
// (protobuf.dev/programming-guides/encoding). No library of the project's set-up reads it.

struct ProtobufField {
  std::uint32_t number = 0;
  std::uint64_t value = 0;  ///< of a varint, or of 4 or 8 bytes as they stand (little-endian)
  std::string_view bytes;   ///< of a length-delimited field: text, a message, packed numbers
  bool is_bytes = false;
};

/// The fields of one message. Ends where the bytes end, and at the first field that is no valid one: then `is_damaged`.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message) {}
  std::optional<ProtobufField> next();
  bool is_damaged() const { return damaged_; }

 private:
  std::optional<std::uint64_t> varint();
  std::optional<std::uint64_t> fixed(std::size_t bytes);
  std::string_view rest_;
  bool damaged_ = false;
};

/// The next of packed varints; nothing at the end, or when they are damaged.
std::optional<std::uint64_t> next_packed(std::string_view& packed);

}  // namespace rehearse::traces
