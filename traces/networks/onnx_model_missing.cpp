// In place of onnx_model.cpp where the ONNX project's library is missing.
#include "sim/base/errors.hpp"
#include "traces/networks/onnx_graph.hpp"

namespace rehearse::traces {

struct OnnxModel::Library {};

OnnxModel::OnnxModel(std::string_view, const std::string& file) {
  throw sim::InputError(
      sim::Mistake{.file = file,
                   .expected = "Rehearse built with the ONNX library: install libonnx-dev and libprotobuf-dev, then build again",
                   .found = "an ONNX file, which this build cannot read"});
}

OnnxModel::~OnnxModel() = default;

std::int64_t OnnxModel::newest_opset() { return 0; }

std::vector<OnnxValue> OnnxModel::infer(std::size_t, const std::map<std::string, OnnxValue>&) const { return {}; }

}  // namespace rehearse::traces
