// Gavel (Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020):
// mini-batches a second of job types on K80, P100 and V100, {"k80": {"('ResNet-50 (batch size 16)', 1)": {"null": alone, other
// job: ...}}}. The number in the key is that of the workers, the batch is one worker's, and the value is summed over the workers.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "sim/io/json.hpp"
#include "traces/measurements/measurement_list.hpp"

namespace rehearse::traces {
namespace {

using workloads::Measurement;

/// ResNet-18 trains on CIFAR-10 and ResNet-50 on ImageNet (their table 2). LM is PyTorch's word_language_model on Wikitext-2
/// with its defaults: two LSTM layers of 200, unrolled by 35.
std::optional<Measurement> model_of(std::string_view name) {
  if (name == "ResNet-18") return Measurement{.model = "resnet18", .dataset = "cifar10"};
  if (name == "ResNet-50") return Measurement{.model = "resnet50", .dataset = "imagenet"};
  if (name == "LM")
    return Measurement{.model = "lstm-200",
                       .dataset = "wikitext-2",
                       .structure = workloads::RnnStructure{
                           .layers = 2, .hidden = 200, .steps = 35, .vocabulary = 33278, .features = 200, .classes = 33278}};
  return std::nullopt;
}

struct Key {
  std::string name;
  int batch = 0, workers = 0;
};

std::optional<int> number_after(std::string_view text, std::string_view what) {
  const std::size_t at = text.rfind(what);
  if (at == std::string_view::npos) return std::nullopt;
  int value = 0;
  const char* const begin = text.data() + at + what.size();
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc{} || value < 1) return std::nullopt;
  return value;
}

/// "('ResNet-50 (batch size 16)', 1)"; a name without a batch has batch 0.
std::optional<Key> key_of(std::string_view text) {
  if (!text.starts_with("('")) return std::nullopt;
  const auto workers = number_after(text, "', ");
  if (!workers) return std::nullopt;
  std::string_view name = text.substr(2, text.rfind("', ") - 2);
  Key key{.workers = *workers};
  if (const auto batch = number_after(name, " (batch size ")) {
    key.batch = *batch;
    name = name.substr(0, name.rfind(" (batch size "));
  }
  key.name = name;
  return key;
}

constexpr std::string_view kSpread = "_unconsolidated";

void read_entry(MeasurementCollector& out, std::string device, sim::JsonMember job) {
  const std::int64_t line = job.key.mistake("").line;
  const auto key = key_of(job.key.text());
  if (!key) return out.leave_out(line, "a key that is not ('Model (batch size B)', workers)");
  auto m = key->batch > 0 ? model_of(key->name) : std::nullopt;
  if (!m) return out.leave_out(line, fmt::format("a model outside the zoo: {}", key->name));
  const bool spread = device.ends_with(kSpread);
  if (spread) device.resize(device.size() - kSpread.size());
  if (spread && key->workers == 1) return out.leave_out(line, "one worker, spread over nodes: stands under its device as well");
  m->line = line;
  m->device = device;
  m->nodes = spread ? key->workers : 1;
  m->workers_per_node = spread ? 1 : key->workers;
  m->workers = key->workers;
  m->batch_per_worker = key->batch;
  m->source = "gavel pytorch-1";
  for (const sim::JsonMember other : job.value.members()) {
    if (other.key.text() != "null") continue;
    const double sum_per_s = other.value.is_number() ? other.value.number() : 0;
    if (sum_per_s <= 0) return out.leave_out(line, "0 mini-batches a second: did not run, mostly for want of memory");
    m->step_s = key->workers / sum_per_s;
    return out.add(std::move(*m));
  }
  out.leave_out(line, "no throughput of the job alone (key null)");
}

}  // namespace

MeasurementList read_gavel(const std::string& path) {
  const sim::JsonDocument document = sim::read_json_file(path);
  MeasurementCollector out(path);
  for (const sim::JsonMember device : document.root().members())
    for (const sim::JsonMember job : device.value.members()) read_entry(out, std::string(device.key.text()), job);
  out.note("consolidated workers are taken to share one node, unconsolidated ones to have a node each");
  return out.finish();
}

}  // namespace rehearse::traces
