#include "workloads/calibration/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/errors.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/steps/op_time.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::workloads {
namespace {

std::string_view name(Pass pass) {
  return pass == Pass::forward           ? "forward"
         : pass == Pass::data_gradient   ? "data gradient"
         : pass == Pass::filter_gradient ? "filter gradient"
                                         : "backward";
}

std::string_view name(Cell cell) { return cell == Cell::lstm ? "lstm" : cell == Cell::gru ? "gru" : "vanilla"; }

Shape shape_after(const Window& w, const Shape& in, int filters) {
  return {filters, (in.height + 2 * w.pad_height - w.height) / w.stride_height + 1,
          (in.width + 2 * w.pad_width - w.width) / w.stride_width + 1};
}

OpWork at_batch(const sim::Op& op, double batch) {
  OpWork work = work_of(op);
  std::vector<sim::Affine*> quantities = {&work.flops, &work.bytes, &work.matrix.m, &work.matrix.n, &work.matrix.k};
  for (sim::FastForm& form : work.fast_forms)
    quantities.insert(quantities.end(), {&form.matrix.m, &form.matrix.n, &form.matrix.k, &form.transform_bytes});
  for (sim::Affine* a : quantities) *a = {a->at(batch), 0};
  return work;
}

std::vector<OpWork> chosen(const LayerCost& cost, std::size_t forward, const std::vector<LayerOp>& data, Pass pass,
                           double batch) {
  std::vector<OpWork> work;
  if (pass == Pass::forward) work.push_back(at_batch(cost.forward[forward].op, batch));
  if (pass == Pass::data_gradient || pass == Pass::backward) work.push_back(at_batch(data.front().op, batch));
  if (pass == Pass::filter_gradient || pass == Pass::backward) work.push_back(at_batch(cost.filter_gradient.front().op, batch));
  return work;
}

std::vector<OpWork> work(const GemmKernel& g) {
  const double m = g.m, n = g.n, k = g.k, count = g.count;
  OpWork work;
  work.kind = sim::OpKind::gemm;
  work.matrix = {{n, 0}, {m, 0}, {k, 0}};  // BLAS stores columns: a row of ours is a column of its result
  work.products = count;
  work.flops = {2 * count * m * n * k, 0};
  work.bytes = {kBytesPerNumber * count * (m * k + k * n + m * n), 0};
  return {work};
}

std::vector<OpWork> work(const ConvKernel& c) {
  const Shape in{c.channels, c.height, c.width};
  const LayerCost cost = layer_cost(Conv{c.filters, c.window, 1, false}, std::span(&in, 1), shape_after(c.window, in, c.filters));
  return chosen(cost, 0, cost.data_gradient, c.pass, c.batch);
}

std::vector<OpWork> work(const RecurrentKernel& r) {
  const Shape in{0, r.steps, 1};
  const LayerCost cost = layer_cost(Recurrent{r.cell, r.hidden}, std::span(&in, 1), {r.hidden, r.steps, 1});
  return chosen(cost, 1, cost.backward, r.pass, r.batch);
}

std::vector<OpWork> work(const ElementwiseKernel& e) {
  const auto numbers = static_cast<double>(e.numbers);
  OpWork work;
  work.kind = sim::OpKind::elementwise;
  work.flops = {numbers, 0};
  work.bytes = {kBytesPerNumber * numbers * (e.inputs + 1), 0};
  return {work};
}

/// How often numbers are read, and once they are written. Layer norm reads for the mean and variance, then to normalise. Softmax
/// reads for the maximum, for the sum, and to divide; rows that fit a warp's registers stay there, and of somewhat longer ones
/// one reading is spared (PyTorch's SoftMax.cu).
double readings(const RowsKernel& r) {
  constexpr int kInRegisters = 1024, kOnChip = 8192;
  if (r.what == RowsOf::layer_norm) return 2;
  return r.length <= kInRegisters ? 1 : r.length <= kOnChip ? 2 : 3;
}

std::vector<OpWork> work(const RowsKernel& r) {
  const double numbers = static_cast<double>(r.rows) * r.length;
  OpWork work;
  work.kind = r.what == RowsOf::softmax ? sim::OpKind::softmax : sim::OpKind::elementwise;
  work.flops = {5 * numbers, 0};
  work.bytes = {kBytesPerNumber * numbers * (readings(r) + 1), 0};
  return {work};
}

}  // namespace

Network network_of(const MeasuredNetwork& structure) {
  return std::visit(
      Overloaded{[](const GivenNetwork& given) { return given.network; }, [](const auto& s) { return make_network(s); }},
      structure);
}

std::string subject(const Measurement& m) {
  if (!m.kernel) return m.dataset.empty() ? m.model : m.model + "/" + m.dataset;
  return std::visit(
      Overloaded{[](const GemmKernel& g) -> std::string { return g.count > 1 ? "batched gemm" : "gemm"; },
                 [](const ConvKernel& c) { return fmt::format("conv {}", name(c.pass)); },
                 [](const RecurrentKernel& r) { return fmt::format("{} {}", name(r.cell), name(r.pass)); },
                 [](const ElementwiseKernel&) -> std::string { return "elementwise"; },
                 [](const RowsKernel& r) -> std::string { return r.what == RowsOf::softmax ? "softmax" : "layer norm"; }},
      *m.kernel);
}

std::vector<OpWork> kernel_work(const Kernel& kernel) {
  return std::visit([](const auto& k) { return work(k); }, kernel);
}

std::string MeasurementModel::key_of(const Measurement& m) {
  return m.structure ? m.model + " (structure)" : m.model + "/" + m.dataset;
}

MeasurementModel::MeasurementModel(std::span<const Measurement> measurements) {
  for (const Measurement& m : measurements) {
    if (m.kernel || models_.contains(key_of(m))) continue;
    const sim::OpGraph graph = m.structure ? build_graph(network_of(*m.structure)) : zoo_graph(m.model, m.dataset);
    Model model{.step = StepModel(graph)};
    for (const sim::Op& op : graph.ops) {
      const bool product = op.matrix.m.at(1) > 0;
      model.flops.fixed += product ? op.flops.fixed : 0;
      model.flops.per_sample += product ? op.flops.per_sample : 0;
      model.bytes.fixed += op.bytes.fixed;
      model.bytes.per_sample += op.bytes.per_sample;
    }
    models_.emplace(key_of(m), std::move(model));
  }
}

const MeasurementModel::Model& MeasurementModel::model_of(const Measurement& m) const {
  const auto found = models_.find(key_of(m));
  sim::check(found != models_.end(), "a measurement of a model that was not given before: " + key_of(m));
  return found->second;
}

StepInputs MeasurementModel::step_inputs(const Measurement& m, const Site& site) const {
  const StepModel& step = model_of(m).step;
  const double gradient_bytes = step.gradient_bytes(m.precision);
  const Conditions conditions{
      .batch = m.batch_per_worker, .precision = m.precision, .power_limit_w = m.power_limit_w, .threads = m.threads};
  return {
      .compute = step.compute_time(site.device, corrected(conditions, site.device, m.model, m.dataset), tilings_.get()),
      .input_s = step.input_s(m.batch_per_worker, site.storage_bytes_per_s),
      .gradient_bytes = gradient_bytes,
      .exchange = m.sync.kind == sim::SyncKind::ring           ? Exchange::ring
                  : m.sync.kind == sim::SyncKind::servers_sync ? Exchange::parameter_servers_synchronous
                                                               : Exchange::parameter_servers_asynchronous,
      .ring = {.nodes = m.nodes, .workers_per_node = m.workers_per_node, .inside = site.inside, .network = site.network},
      .servers = {.servers = std::max(1, m.sync.servers),
                  .network = site.network,
                  .apply_s = gradient_bytes / site.server_bytes_per_s,
                  .overlap = site.server_overlap},
      .overlap = site.overlap,
      .straggling = straggling(m.nodes * m.workers_per_node),
  };
}

double MeasurementModel::step_s(const Measurement& m, const Site& site) const {
  if (!m.kernel) return step_time(step_inputs(m, site)).step_s;
  double sum_s = 0;
  for (const OpWork& work : kernel_work(*m.kernel))
    sum_s += op_duration_s(work, site.device, {.precision = m.precision, .power_limit_w = m.power_limit_w, .threads = m.threads},
                           tilings_.get());
  return sum_s;
}

double MeasurementModel::power_w(const Measurement& m, const Site& site) const {
  const StepInputs inputs = step_inputs(m, site);
  return mean_power_w(inputs.compute.dynamic_energy_j, step_time(inputs).step_s, site.device);
}

double MeasurementModel::flops(const Measurement& m) const {
  if (!m.kernel) return model_of(m).flops.at(m.batch_per_worker);
  double sum = 0;
  for (const OpWork& work : kernel_work(*m.kernel)) sum += work.flops.fixed;
  return sum;
}

double MeasurementModel::bytes(const Measurement& m) const {
  if (!m.kernel) return model_of(m).bytes.at(m.batch_per_worker);
  double sum = 0;
  for (const OpWork& work : kernel_work(*m.kernel)) sum += work.bytes.fixed;
  return sum;
}

double MeasurementModel::operations(const Measurement& m) const {
  return m.kernel ? 1.0 : static_cast<double>(model_of(m).step.operations());
}

}  // namespace rehearse::workloads
