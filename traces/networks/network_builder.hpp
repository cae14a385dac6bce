// What the readers of networks share: layers by name, padding by rule, unsupported layers told all at once.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.hpp"
#include "workloads/layers/network.hpp"

namespace rehearse::traces {

/// Zeros around an image, before a window slides over it.
struct Padding {
  int height = 0, width = 0;
};

/// Whether a type of layer is in a list of them.
bool is_one_of(std::string_view type, const auto& names) { return std::ranges::find(names, type) != std::end(names); }

class NetworkBuilder {
 public:
  explicit NetworkBuilder(std::string name) { network_.name = std::move(name); }

  /// Where a name's values come from: a layer, and zeros around them that the next window takes.
  struct Source {
    int layer = -1;
    Padding padding;
  };
  /// Null when there is none of this name: a later layer, or one that was refused.
  const Source* find(const std::string& name) const;
  void name(const std::string& name, Source source) { sources_[name] = source; }
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
  std::map<std::string, Source> sources_;
  sim::Mistakes mistakes_;
};

/// Half of the zeros that keep ceil(size/stride) places, as TensorFlow pads "same"; -1 where they cannot be the same on both
/// sides: an even window with stride 1.
int same_padding(int size, int window, int stride);

}  // namespace rehearse::traces
