#include "traces/networks/network_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/layers/layer_cost.hpp"

namespace rehearse::traces {

std::optional<int> NetworkBuilder::find(const std::string& name) const {
  const auto found = named_.find(name);
  return found == named_.end() ? std::nullopt : std::optional(found->second);
}

int NetworkBuilder::add(const std::string& name, workloads::LayerSpec spec, std::vector<int> inputs, int shares) {
  // The shape of this layer alone: its inputs stand in as inputs of a network of their own.
  workloads::Network alone{network_.name, {}};
  std::vector<int> from;
  std::vector<workloads::Shape> in;
  for (const int input : inputs) {
    in.push_back(shape(input));
    from.push_back(alone.add("input", workloads::Input{in.back()}, {}));
  }
  alone.add(name, spec, std::move(from));
  const workloads::Shape out = infer_shapes(alone).back();
  const double parameters = layer_cost(spec, in, out).parameters();
  if (shares >= 0) {
    const workloads::Layer& owner = network_.layers.at(static_cast<std::size_t>(shares));
    const double owned = parameters_[static_cast<std::size_t>(shares)];
    if (parameters != owned)
      throw sim::InputError(sim::Mistake{.expected = fmt::format("as many parameters as layer \"{}\" has, {}", owner.name, owned),
                                         .found = fmt::format("{}", parameters)});
    if (owner.shares >= 0) shares = owner.shares;
  }
  shapes_.push_back(out);
  parameters_.push_back(parameters);
  const int index = network_.add(name, std::move(spec), std::move(inputs));
  network_.layers.back().shares = parameters > 0 ? shares : -1;
  return index;
}

workloads::Network NetworkBuilder::finish() {
  mistakes_.throw_if_any();
  if (network_.layers.empty()) throw sim::InputError(sim::Mistake{.expected = "a network with layers", .found = "none"});
  const bool has_loss = std::ranges::any_of(
      network_.layers, [](const workloads::Layer& l) { return std::holds_alternative<workloads::Loss>(l.spec); });
  if (!has_loss) network_.add("loss", workloads::Loss{});
  return std::move(network_);
}

}  // namespace rehearse::traces
