#include "policies/harness/curve_terms.hpp"

#include <array>
#include <cmath>

namespace rehearse::policies {

namespace {

using workloads::StructureFeatures;

struct Term {
  std::string_view name;
  double (*value)(const StructureFeatures&, double batch);
};

// Terms that grow with the batch are work and memory traffic; those that do not are launches, updates and weights read again at
// every step of a sequence; those with its root lie between, as devices that a small batch does not fill.
constexpr std::array kTerms{
    Term{"1", [](const StructureFeatures&, double) { return 1.0; }},
    Term{"b flops", [](const StructureFeatures& f, double b) { return b * f.flops(); }},
    Term{"conv layers", [](const StructureFeatures& f, double) { return double(f.conv_layers); }},
    Term{"dense layers", [](const StructureFeatures& f, double) { return double(f.dense_layers); }},
    Term{"other layers", [](const StructureFeatures& f, double) { return double(f.other_layers); }},
    Term{"recurrent steps", [](const StructureFeatures& f, double) { return f.recurrent_steps; }},
    Term{"parameters", [](const StructureFeatures& f, double) { return f.parameters; }},
    Term{"recurrent reads", [](const StructureFeatures& f, double) { return f.recurrent_reads; }},
    Term{"b 1x1 flops", [](const StructureFeatures& f, double b) { return b * f.pointwise_flops; }},
    Term{"b 3x3 flops", [](const StructureFeatures& f, double b) { return b * f.square3_flops; }},
    Term{"b wide flops", [](const StructureFeatures& f, double b) { return b * f.wide_flops; }},
    Term{"b padded flops", [](const StructureFeatures& f, double b) { return b * f.padded_flops; }},
    Term{"b dense flops", [](const StructureFeatures& f, double b) { return b * f.dense_flops; }},
    Term{"b recurrent flops", [](const StructureFeatures& f, double b) { return b * f.recurrent_flops; }},
    Term{"b conv elements", [](const StructureFeatures& f, double b) { return b * f.conv_elements; }},
    Term{"b elements", [](const StructureFeatures& f, double b) { return b * f.elements; }},
    Term{"b input elements", [](const StructureFeatures& f, double b) { return b * f.input_elements; }},
    Term{"b recurrent steps", [](const StructureFeatures& f, double b) { return b * f.recurrent_steps; }},
    Term{"root(b) sum root(flops)", [](const StructureFeatures& f, double b) { return std::sqrt(b) * f.root_flops; }},
    Term{"root(b parameters flops)",
         [](const StructureFeatures& f, double b) { return std::sqrt(b * f.parameters * f.flops()); }},
    Term{"root(b elements)", [](const StructureFeatures& f, double b) { return std::sqrt(b * f.elements); }},
};

constexpr std::array kFlopsOnly{0, 1};

}  // namespace

std::span<const std::string_view> curve_term_names() {
  static const auto names = [] {
    std::array<std::string_view, kTerms.size()> all;
    for (std::size_t i = 0; i < kTerms.size(); ++i) all[i] = kTerms[i].name;
    return all;
  }();
  return names;
}

Eigen::VectorXd curve_terms(const StructureFeatures& features, double batch) {
  Eigen::VectorXd values(static_cast<Eigen::Index>(kTerms.size()));
  for (std::size_t i = 0; i < kTerms.size(); ++i) values[static_cast<Eigen::Index>(i)] = kTerms[i].value(features, batch);
  return values;
}

std::span<const int> flops_only_terms() { return kFlopsOnly; }

}  // namespace rehearse::policies
