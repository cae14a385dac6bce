#include "deploy/deployment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "deploy/keras.hpp"
#include "deploy/template.hpp"
#include "deploy/torch_network.hpp"
#include "sim/base/errors.hpp"

namespace rehearse::traces {

namespace {

using namespace workloads;

constexpr double kWarmupEpochs = 5;       // Goyal et al. 2017, section 2.2
constexpr double kWeightDecay = 1e-4;     // He et al. 2016, section 3.4
constexpr double kRecurrentClipNorm = 5;  // Zaremba et al. 2014 and Wu et al. 2016, section 8.3

template <class Spec>
bool has(const Network& network) {
  return std::ranges::any_of(network.layers, [](const Layer& layer) { return std::holds_alternative<Spec>(layer.spec); });
}

std::string python_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", ") + python_string(text);
  return "[" + out + "]";
}

std::string python_list(const std::vector<int>& numbers) {
  std::string out;
  for (const int number : numbers) out += fmt::format("{}{}", out.empty() ? "" : ", ", number);
  return "[" + out + "]";
}

/// Which feature of a record holds each input: of labelled images those of the usual conversions, else the input's own name.
std::vector<std::pair<std::string, std::string>> features(const KerasNetwork& keras) {
  std::vector<std::pair<std::string, std::string>> found;
  for (std::size_t i = 0; i < keras.inputs.size(); ++i)
    if (std::ranges::find(keras.noise_inputs, keras.inputs[i]) == keras.noise_inputs.end())
      found.emplace_back(keras.inputs[i], keras.images[i] ? "image/encoded" : keras.inputs[i]);
  const bool labelled_images = keras.objective == Objective::classes && std::ranges::count(keras.images, true) == 1;
  found.emplace_back("label", labelled_images ? "image/class/label" : "label");
  return found;
}

std::string python_dict(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string out;
  for (const auto& [key, value] : pairs)
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", python_string(key), python_string(value));
  return "{" + out + "}";
}

std::string_view label_of(Objective objective) {
  switch (objective) {
    case Objective::classes:
      return "int64, the class, from 0 on (`settings.FIRST_LABEL`)";
    case Objective::positions:
      return "int64 for each position: the class or the next token";
    case Objective::span:
      return "two int64: the answer's first and last token";
    case Objective::ctc:
      return "int64s, the characters from 1 on; 0 is the blank";
    case Objective::adversarial:
      return "none";
  }
  sim::fail_check("unknown objective");
}

/// Names of inputs are identifiers: they need no quotes in Markdown.
std::string feature_lines(const KerasNetwork& keras) {
  std::string lines;
  for (const auto& [input, feature] : features(keras))
    if (input != "label")
      lines += fmt::format("- `{}`: {}\n", feature,
                           feature == "image/encoded" ? "an encoded image (JPEG, PNG)"
                                                      : "the numbers of the network's input, tokens as int64, others as float");
  return lines + fmt::format("- `{}`: {}\n", features(keras).back().second, label_of(keras.objective));
}

double dropout(const Network& network) {
  if (has<Attention>(network)) return 0.1;  // Devlin et al. 2019, section A.2
  if (has<Recurrent>(network)) return 0.2;  // Wu et al. 2016, section 8.3
  return 0.5;                               // Krizhevsky et al. 2012, section 4.2
}

const char* name_of(Optimizer optimizer) {
  return optimizer == Optimizer::sgd ? "sgd" : optimizer == Optimizer::momentum ? "momentum" : "adam";
}

/// What the code of both frameworks reads. `decays`: a classifier of images, whose filters decay.
void fill_settings(const Deployment& d, bool decays, bool constant, Slots& slots) {
  const bool adam = d.optimizer == Optimizer::adam;
  slots.code("batches", python_list(d.batches));
  slots.number("training_samples", std::max(1.0, std::floor(d.training_samples)));
  slots.code("target_accuracy", d.target_accuracy > 0 ? fmt::format("{}", d.target_accuracy) : "None");
  slots.text("optimizer", name_of(d.optimizer));
  slots.number("learning_rate", d.learning_rate);
  slots.number("warmup_epochs", std::min(kWarmupEpochs, std::floor(d.epochs / 10)));
  slots.text("schedule", constant ? "constant" : adam ? "cosine" : "steps");
  slots.number("weight_decay", decays && !adam ? kWeightDecay : 0);
  slots.code("clip_norm", has<Recurrent>(d.network) ? fmt::format("{}", kRecurrentClipNorm) : "None");
  slots.number("dropout", dropout(d.network));
  slots.number("checkpoint_s", std::round(d.checkpoint_s));
}

/// What the Keras training's code reads.
void fill_training(const Deployment& d, const KerasNetwork& keras, Slots& slots) {
  const bool images = std::ranges::count(keras.images, true) > 0;
  fill_settings(d, images && keras.objective == Objective::classes, keras.objective == Objective::adversarial, slots);
  slots.text("loss", std::string(to_string(keras.objective)));
  slots.code("noise_inputs", python_list(keras.noise_inputs));
  slots.code("discriminator", python_list(keras.discriminator));
  slots.code("imports", keras.blocks);
  slots.code("lines", keras.lines.substr(0, keras.lines.size() - 1));
  slots.code("model_inputs", keras.model_inputs);
  slots.code("model_outputs", keras.model_outputs);
  slots.text("name", identifier(d.network.name));
}

/// What starts it.
void fill_launch(const Deployment& d, Slots& slots) {
  const int workers = static_cast<int>(d.batches.size());
  const int here = std::min(workers, d.workers_per_node);
  slots.text("job", d.job);
  slots.text("model", d.model);
  slots.text("dataset", d.dataset);
  slots.text("device", d.device);
  slots.text("pool", d.pool);
  slots.token("label", dns_label(d.job));
  slots.token("folder", path_component(d.dataset));
  slots.number("workers", workers);
  slots.number("workers_per_node", here);
  slots.number("nodes", (workers + here - 1) / here);
  slots.number("room", (workers + here - 1) / here * d.workers_per_node);
  slots.number("batch", std::accumulate(d.batches.begin(), d.batches.end(), 0));
  slots.number("epochs", d.epochs);
  slots.number("stored_bytes", std::floor(d.training_samples * d.bytes_per_sample));
  slots.number("power_limit_w", std::floor(d.power_limit_w));  // shells count in whole numbers
  slots.number("minutes", std::ceil(d.time_s / 60));
  slots.token("gpus", d.gpus ? fmt::format("--gpus-per-node={}", here) : "--cpus-per-task=" + fmt::format("{}", d.cores));
  slots.token("resource", d.gpus ? "nvidia.com/gpu" : "cpu");
  slots.number("resource_count", d.gpus ? here : d.cores);
  slots.token("base", d.gpus ? "horovod/horovod:0.28.1" : "horovod/horovod-cpu:0.28.1");
}

struct TemplateEntry {
  std::string_view name;
  Language language;
};
constexpr TemplateEntry kFiles[] = {
    {"Dockerfile", Language::dockerfile}, {"README.md", Language::markdown}, {"blocks.py", Language::python},
    {"data.py", Language::python},        {"job.yaml", Language::yaml},      {"launch.sh", Language::shell},
    {"monitor.py", Language::python},     {"mpijob.yaml", Language::yaml},   {"network.py", Language::python},
    {"objectives.py", Language::python},  {"preload.sh", Language::shell},   {"schedule.py", Language::python},
    {"settings.py", Language::python},    {"slurm.sh", Language::shell},     {"train.py", Language::python},
};

constexpr TemplateEntry kTorchFiles[] = {
    {"Dockerfile", Language::dockerfile}, {"README.md", Language::markdown}, {"data.py", Language::python},
    {"launch.sh", Language::shell},       {"layers.py", Language::python},   {"network.py", Language::python},
    {"pytorchjob.yaml", Language::yaml},  {"schedule.py", Language::python}, {"settings.py", Language::python},
    {"skypilot.yaml", Language::yaml},    {"slurm.sh", Language::shell},     {"train.py", Language::python},
};

}  // namespace

std::vector<DeployedFile> deployment_files(const Deployment& d) {
  sim::check(!d.batches.empty() && std::ranges::all_of(d.batches, [](int b) { return b >= 1; }), "a worker without samples");
  sim::check(d.workers_per_node >= 1, "a node without workers");
  const KerasNetwork keras = keras_network(d.network, d.task);
  Slots slots;
  fill_training(d, keras, slots);
  fill_launch(d, slots);
  const bool one_node = static_cast<int>(d.batches.size()) <= d.workers_per_node;
  slots.code("kubernetes", one_node ? "| `job.yaml` | Kubernetes, on one node: `kubectl apply -f job.yaml` |\n" : "");
  slots.code("features", python_dict(features(keras)));
  slots.code("feature_lines", feature_lines(keras));
  std::vector<DeployedFile> files;
  for (const auto& [name, language] : kFiles) {
    if (name == "job.yaml" && !one_node) continue;
    const std::string_view text = sim::embedded_file(deploy_templates(), fmt::format("deploy/templates/{}", name));
    files.push_back({std::string(name), filled(text, language, slots)});
  }
  return files;
}

std::vector<DeployedFile> pytorch_files(const Deployment& d) {
  sim::check(!d.batches.empty() && std::ranges::all_of(d.batches, [](int b) { return b >= 1; }), "a worker without samples");
  sim::check(d.workers_per_node >= 1 && d.accumulation >= 1, "a node without workers, or no part of a step");
  const TorchNetwork torch = torch_network(d.network, d.task);
  constexpr std::array<const char*, 4> kPrecisions{"fp32", "tf32", "fp16", "bf16"};
  Slots slots;
  fill_settings(d, has<Conv>(d.network) && !torch.positions, false, slots);
  fill_launch(d, slots);
  slots.code("lines", torch.lines.substr(0, torch.lines.size() - 1));
  slots.code("inputs", "[" + torch.inputs + "]");
  slots.number("output", torch.output);
  slots.number("classes", torch.classes);
  slots.text("loss", torch.positions ? "positions" : "classes");
  slots.text("precision", kPrecisions[static_cast<std::size_t>(d.trained_in)]);
  slots.number("accumulation", d.accumulation);
  slots.text("instance", d.pool.substr(0, d.pool.find_first_of(" @")));
  slots.number("other_nodes", (static_cast<int>(d.batches.size()) - 1) / d.workers_per_node);
  std::vector<DeployedFile> files;
  for (const auto& [name, language] : kTorchFiles) {
    const std::string_view text =
        sim::embedded_file(deploy_templates(), name == "schedule.py" ? "deploy/templates/schedule.py"
                                                                     : fmt::format("deploy/templates/torch/{}", name));
    files.push_back({std::string(name), filled(text, language, slots)});
  }
  return files;
}

std::vector<int> even_batches(int batch, int workers) {
  sim::check(workers >= 1 && batch >= workers, "more workers than samples");
  std::vector<int> batches(static_cast<std::size_t>(workers), batch / workers);
  for (int i = 0; i < batch % workers; ++i) ++batches[static_cast<std::size_t>(i)];
  return batches;
}

double usual_learning_rate(Optimizer optimizer, double batch) {
  constexpr double kBatch = 256;
  return optimizer == Optimizer::adam ? 1e-3 * std::sqrt(batch / kBatch) : 0.1 * batch / kBatch;
}

}  // namespace rehearse::traces
