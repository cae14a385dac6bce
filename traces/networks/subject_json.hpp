// What was measured, as JSON: {"gemm": [m, n, k]}, {"conv": {...}}, {"rnn": {...}} for kernels; {"cnn": {...}}, {"rnn": {...}},
// {"mlp": {...}} for networks given by their structure, with the keys that a scenario's own models have.
#pragma once

#include <string>

#include "sim/io/json.hpp"
#include "workloads/calibration/measurement.hpp"

namespace rehearse::traces {

/// One each of the structures; what is left out has the structure's default. Mistakes are recorded.
workloads::CnnStructure read_cnn(sim::JsonValue value, sim::Mistakes& mistakes);
workloads::RnnStructure read_rnn(sim::JsonValue value, sim::Mistakes& mistakes);
workloads::MlpStructure read_mlp(sim::JsonValue value, sim::Mistakes& mistakes);

/// An object, written as `text`, with exactly one of cnn, rnn, mlp, layers (docs/guide/harness.md) and file (a network's; its
/// path counts from `folder`, which ends in a slash or is empty).
workloads::MeasuredNetwork read_measured_network(sim::JsonValue value, std::string_view text, const std::string& folder,
                                                 sim::Mistakes& mistakes);
/// An object with exactly one of cnn, rnn, mlp.
workloads::Structure read_structure(sim::JsonValue value, sim::Mistakes& mistakes);
/// An object with exactly one of gemm, conv, rnn, elementwise.
workloads::Kernel read_kernel(sim::JsonValue value, sim::Mistakes& mistakes);

/// In one line; the readers give the same value back.
std::string to_json(const workloads::Structure& structure);
std::string to_json(const workloads::MeasuredNetwork& network);
std::string to_json(const workloads::Kernel& kernel);

}  // namespace rehearse::traces
