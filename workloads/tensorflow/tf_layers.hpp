// A network's layers in TensorFlow's operations: what each layer type's Python makes. For this room's sources.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/tensorflow/tf_builder.hpp"
#include "workloads/tensorflow/tf_operations.hpp"

namespace rehearse::workloads {

class TfLayers {
 public:
  TfLayers(const Network& network, TfBuilder& builder);
  /// The forward pass of all layers.
  void forward();
  /// Each loss, a scalar; after forward().
  const TfTensors& losses() const { return losses_; }
  /// Matrices and filters with their layers, for weight decay.
  const std::vector<std::pair<TfTensor, int>>& matrices() const { return matrices_; }

 private:
  struct CellState {
    TfTensor output, state;
  };
  void expand(int layer);
  TfTensor at_step(int layer, int step);
  TfTensor input(int layer, std::size_t k, int step);
  TfTensor whole(int layer, int from);
  sim::Affine step_bytes(int layer) const;
  void enter(int layer, int step) { b_.enter({layer, step, sim::Phase::forward}); }
  /// Of the layer, or of the one whose parameters it shares.
  TfTensor parameter(int layer, const char* name, double numbers, bool matrix);
  tf::ProductCosts product_costs(int layer, const LayerCost& cost) const;
  void recurrent(int layer);
  TfTensors direction(int layer, int way);
  CellState cell_step(int layer, int way, TfTensor x, const CellState& before);
  TfTensor product(int layer, const std::string& name, TfTensor x, int outputs);
  TfTensor linear(int layer, const std::string& name, TfTensor x, TfTensor h, int outputs);
  TfTensor product_layer(int layer, int step, bool convolves, bool bias);
  TfTensor normalise(int layer, int step, bool over_batch);
  void running_mean(int layer, const char* name, TfTensor now);
  TfTensor attend(int layer, int step);
  TfTensor gelu(TfTensor x);
  void lose(int layer);

  const Network& network_;
  TfBuilder& b_;
  std::vector<Shape> shapes_;
  std::vector<int> steps_;
  std::vector<LayerCost> costs_;
  std::vector<bool> shared_;        // by owner: read at several steps
  std::vector<TfTensors> outputs_;  // by layer and step
  std::map<std::pair<int, std::string>, TfTensor> parameters_;
  std::map<std::pair<int, int>, TfTensor> packed_;     // by reader and read layer
  std::map<std::pair<int, int>, TfTensors> unpacked_;  // likewise
  TfTensors losses_;
  std::vector<std::pair<TfTensor, int>> matrices_;
};

}  // namespace rehearse::workloads
