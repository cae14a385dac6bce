// What the readers of networks share: layers with their shapes, layers by name, all mistakes of a file together.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "workloads/layers/network.hpp"

namespace rehearse::traces {

/// Whether a type of layer is in a list of them.
bool is_one_of(std::string_view type, const auto& names) { return std::ranges::find(names, type) != std::end(names); }

class NetworkBuilder {
 public:
  explicit NetworkBuilder(std::string name) { network_.name = std::move(name); }

  /// The layer of this name. None for a later layer or a refused one.
  std::optional<int> find(const std::string& name) const;
  void name(const std::string& name, int layer) { named_[name] = layer; }
  /// Appends a layer and returns its index. `shares`: an earlier layer with as many parameters, which are its own too.
  int add(const std::string& name, workloads::LayerSpec spec, std::vector<int> inputs, int shares = -1);
  workloads::Shape shape(int layer) const { return shapes_[static_cast<std::size_t>(layer)]; }

  /// Layers behind a refused one are not judged.
  bool good() const { return mistakes_.empty(); }
  sim::Mistakes& mistakes() { return mistakes_; }
  const workloads::Network& network() const { return network_; }
  /// The network, with a loss at the end; throws what was refused.
  workloads::Network finish();

 private:
  workloads::Network network_;
  std::vector<workloads::Shape> shapes_;
  std::vector<double> parameters_;  ///< by layer
  std::map<std::string, int> named_;
  sim::Mistakes mistakes_;
};

}  // namespace rehearse::traces
