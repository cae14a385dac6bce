// One kind of networks' files on what libFuzzer makes up: every input is refused with an InputError, or is a network whose
// shapes, features and step are worked out, with finite numbers that are not below nothing; layers of our own are read as they
// are written.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/errors.hpp"
#include "sim/io/json.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "traces/networks/network_file.hpp"
#include "workloads/layers/structure.hpp"
#include "workloads/steps/graph_builder.hpp"

using namespace rehearse;

extern const char fuzzed_format[];  ///< onnx, torch, keras or layers; CMakeLists.txt gives each program its own

namespace {

workloads::Network read(std::string_view format, std::string_view text) {
  if (format == "onnx") return traces::read_onnx(text, "input.onnx");
  if (format == "torch") return traces::read_torch(text, "input.txt");
  const MemoryFile file(text);  // Keras's, layers of our own, or a structure, by its keys
  return traces::read_network(file.path());
}

bool is_number(double value) { return std::isfinite(value) && value >= 0; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] {
    const workloads::Network network = read(fuzzed_format, text);
    sim::check(infer_shapes(network).size() == network.layers.size(), "a shape for each layer");
    const workloads::StructureFeatures features = structure_features(network);
    sim::check(is_number(features.parameters) && is_number(features.flops()), "parameters and operations are numbers");
    const sim::OpGraph graph = workloads::build_graph(network);
    sim::check(is_number(graph.parameters) && is_number(sim::peak_tensor_bytes(graph, 32)), "a step's memory is a number");
  });
  return 0;
}
