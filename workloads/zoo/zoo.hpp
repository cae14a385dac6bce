// The model zoo: one row a model, in one visible table (zoo.cpp).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/step/op_graph.hpp"
#include "workloads/layers/network.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/training/datasets.hpp"

namespace rehearse::workloads {

enum class Task {
  image_classification,
  image_generation,
  language_modelling,
  translation,
  speech_recognition,
  question_answering,
  object_detection
};
std::string_view to_string(Task task);

struct ZooEntry {
  std::string_view name;
  Task task;
  std::string_view dataset;  ///< the default one
  int global_batch;          ///< the publication's
  std::string_view global_batch_source;
  Optimizer optimizer;  ///< the publication's, or the nearest of ours
  Network (*build)(const Dataset&);
};

std::span<const ZooEntry> zoo();

/// Throws sim::InputError with the nearest valid name when there is none of that name.
const ZooEntry& zoo_entry(std::string_view model);

/// A zoo model's network for a sample of a dataset (empty: its default). Throws sim::InputError for unknown names and for a
/// dataset whose samples the model cannot take.
Network zoo_network(std::string_view model, std::string_view dataset = {});

/// The operation graph of a zoo model on a dataset (empty: its default). Throws sim::InputError for unknown names and for a
/// dataset whose samples the model cannot take. `unroll`: GraphOptions.
sim::OpGraph zoo_graph(std::string_view model, std::string_view dataset = {}, bool unroll = false);

}  // namespace rehearse::workloads
