#include "scenarios/read/convergence_json.hpp"

#include <fmt/format.h>

#include "sim/io/shown.hpp"

namespace rehearse::scenarios {
namespace {

std::string pair_json(const workloads::ConvergenceParameters& c) {
  std::vector<std::string> knots, phases;
  for (const workloads::NoiseKnot& k : c.noise)
    knots.push_back(fmt::format("        {{\"progress\": {}, \"samples\": {}, \"batch_exponent\": {}}}", k.progress,
                                k.noise_scale, k.batch_exponent));
  for (const workloads::AccuracyPhase& p : c.phases)
    phases.push_back(
        fmt::format("        {{\"start_progress\": {}, \"ceiling\": {}, \"scale\": {}, \"exponent\": {}, \"ceiling_loss\": {}}}",
                    p.start_progress, p.ceiling, p.scale, p.exponent, p.ceiling_loss));
  return fmt::format(
      "    {{ \"model\": {}, \"dataset\": {}, \"metric\": {},\n"
      "      \"source\": {},\n"
      "      \"reference_batch\": {}, \"reference_learning_rate\": {}, \"reference_rate_fraction\": {}, \"rate_exponent\": {},\n"
      "      \"reference_epochs\": {}, \"start_accuracy\": {}, \"gap_batch\": {}, \"staleness_loss\": {},\n"
      "      \"noise_scale\": [\n{}],\n"
      "      \"phases\": [\n{}] }}",
      sim::json_string(c.model), sim::json_string(c.dataset), sim::json_string(c.metric), sim::json_string(c.source), c.reference_batch, c.reference_learning_rate,
      c.reference_rate_fraction, c.rate_exponent, c.reference_epochs, c.start_accuracy, c.gap_batch, c.staleness_loss,
      fmt::join(knots, ",\n"), fmt::join(phases, ",\n"));
}

}  // namespace

std::string convergence_json(const std::vector<workloads::ConvergenceParameters>& pairs) {
  std::string text = "{\n  \"convergence\": [\n";
  for (const workloads::ConvergenceParameters& c : pairs) text += pair_json(c) + (&c == &pairs.back() ? "\n" : ",\n");
  return text + "  ]\n}\n";
}

}  // namespace rehearse::scenarios
