#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "policies/harness/estimator.hpp"
#include "report/row_writer.hpp"
#include "scenarios/read/catalogue.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "traces/networks/subject_json.hpp"
#include "workloads/generate/sweep.hpp"

namespace rehearse::cli {

namespace {

const std::vector<std::string> kUsualDevices{"k80", "p100", "v100", "t4", "a100", "xeon-8124m"};
const std::vector<double> kNoLimit{1};

std::vector<sim::Device> devices_named(const ProfileArguments& arguments) {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  sim::Mistakes mistakes;
  for (const std::string& file : arguments.catalogues) catalogue.add_file(file, mistakes);
  std::vector<sim::Device> devices;
  for (const std::string& name : arguments.devices.empty() ? kUsualDevices : arguments.devices) {
    if (const sim::Device* device = catalogue.find_device(name))
      devices.push_back(*device);
    else
      mistakes.add({.expected = "the name of a device",
                    .found = "\"" + name + "\"",
                    .nearest = sim::nearest_name(name, catalogue.device_names())});
  }
  mistakes.throw_if_any();
  return devices;
}

void write_sweep(const std::string& path, const std::vector<workloads::SweepNetwork>& networks,
                 const std::vector<sim::Device>& devices, const std::vector<workloads::SweepRow>& rows) {
  report::RowWriter out{sim::OutputFile(path)};
  out.line(
      "device,network,conv_layers,filters,kernel_side,dense_layers,dense_nodes,recurrent_layers,hidden,recurrent_steps,"
      "input_elements,parameters,forward_flops,batch_size,samples,iterations,step_s,time_s,memory_bytes,utilization_fraction,"
      "energy_j");
  for (const workloads::SweepRow& row : rows) {
    const workloads::SweepNetwork& net = networks[static_cast<std::size_t>(row.network)];
    const sim::Device& device = devices[static_cast<std::size_t>(row.device)];
    const workloads::StructureFeatures& f = net.features;
    const double iterations = std::ceil(net.samples / row.batch) * net.epochs;
    out.text(device.name).text(traces::to_json(net.structure)).integer(f.conv_layers).number(f.filters).number(f.kernel_side);
    out.integer(f.dense_layers).number(f.dense_nodes).integer(f.recurrent_layers).number(f.hidden).number(f.recurrent_steps);
    out.number(f.input_elements).number(f.parameters).number(f.flops()).number(row.batch).number(net.samples).number(iterations);
    out.number(row.step_s).number(iterations * row.step_s).number(row.memory_bytes);
    out.number(std::min(1.0, 3 * row.batch * f.flops() / device.peak_fp32_flops / row.step_s));
    out.number(iterations * row.energy_j).end_row();
  }
  out.close();
}

std::vector<policies::ProfiledStep> steps_of(const std::vector<workloads::SweepNetwork>& networks,
                                             const std::vector<workloads::SweepRow>& rows, int device) {
  std::vector<policies::ProfiledStep> steps;
  for (const workloads::SweepRow& row : rows) {
    if (row.device != device) continue;
    steps.push_back(policies::profiled_step(networks[static_cast<std::size_t>(row.network)], row));
  }
  return steps;
}

/// To hold one out and learn from two: more may not fit the device's memory.
bool can_be_judged(const std::vector<policies::ProfiledStep>& steps) {
  std::set<int> networks;
  for (const policies::ProfiledStep& step : steps) networks.insert(step.network);
  return networks.size() > 2;
}

void print_device(const sim::Device& device, const std::vector<policies::ProfiledStep>& steps) {
  if (!can_be_judged(steps)) {
    say("{:<14}{:>6}  fewer than three of the networks fit its memory\n", device.name, steps.size());
    return;
  }
  const policies::HeldOut h = policies::held_out(steps, device.peak_fp32_flops);
  say("{:<14}{:>6}{:>10.1f}{:>8.1f}{:>12.1f}{:>8.1f}{:>10.1f}{:>10.1f}{:>10.0f}\n", device.name, h.rows, 100 * h.step_time.median,
      100 * h.step_time.p90, 100 * h.flops_only.median, 100 * h.flops_only.p90, 100 * h.energy.median, 100 * h.memory.median,
      100 * h.coverage);
}

void print_terms(const sim::Device& device, const std::vector<policies::ProfiledStep>& steps) {
  if (!can_be_judged(steps)) return;
  const policies::Estimator estimator = policies::Estimator::fit(steps, device.peak_fp32_flops);
  std::string terms;
  for (const int term : estimator.step_time().chosen())
    terms += fmt::format("{}{}", terms.empty() ? "" : ", ", policies::curve_term_names()[static_cast<std::size_t>(term)]);
  say("  {:<14}{}\n", device.name, terms);
}

}  // namespace

int profile_command(const ProfileArguments& arguments) {
  const std::vector<sim::Device> devices = devices_named(arguments);
  const workloads::SweepSettings settings{
      .kind = arguments.sweep == "cnn" ? workloads::SweepKind::cnn : workloads::SweepKind::rnn,
      .networks = arguments.networks,
      .noise = arguments.noise,
      .seed = static_cast<std::uint64_t>(arguments.seed)};
  const std::vector<workloads::SweepNetwork> networks = sweep_networks(settings);
  const std::vector<workloads::SweepRow> rows = sweep_rows(networks, devices, kNoLimit, settings);
  write_sweep(arguments.out, networks, devices, rows);
  say("{}, {} in {}\n\nerrors on held-out networks, in percent: structure beside FLOPs alone\n",
      sim::counted(static_cast<double>(networks.size()), "network"), sim::counted(static_cast<double>(rows.size()), "row"),
      arguments.out);
  say("{:<14}{:>6}{:>10}{:>8}{:>12}{:>8}{:>10}{:>10}{:>10}\n", "device", "rows", "median", "p90", "FLOPs only", "p90", "energy",
      "memory", "covered");
  for (std::size_t d = 0; d < devices.size(); ++d) print_device(devices[d], steps_of(networks, rows, static_cast<int>(d)));
  say("\nterms of a step's time, as chosen\n");
  for (std::size_t d = 0; d < devices.size(); ++d) print_terms(devices[d], steps_of(networks, rows, static_cast<int>(d)));
  return kOk;
}

}  // namespace rehearse::cli
