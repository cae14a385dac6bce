#include "workloads/zoo.hpp"

#include <string>

#include "sim/base/errors.hpp"
#include "sim/base/names.hpp"
#include "workloads/zoo/models.hpp"

namespace rehearse::workloads {
namespace {

// Stored bytes: ImageNet's training set is 138 GB of JPEG in 1.28 million files; CIFAR's records hold a label and raw bytes;
// LSUN bedrooms 43 GB in 3.03 million images; LibriSpeech's 960 h are 281,241 utterances in 60 GB of FLAC. A token takes 4 bytes.
constexpr Sample kSamples[] = {
    {"imagenet", {3, 224, 224}, 1000, 110e3},
    {"cifar10", {3, 32, 32}, 10, 3073},
    {"cifar100", {3, 32, 32}, 100, 3074},
    {"mnist", {1, 28, 28}, 10, 785},
    {"lsun", {3, 64, 64}, 1, 14e3},
    {"ptb", {1, 35, 1}, 10'000, 140},            // 35 steps: Zaremba et al. 2014
    {"wmt16", {1, 30, 1}, 32'320, 240},          // about 30 tokens on each side; joint vocabulary of MLPerf v0.5
    {"librispeech", {1, 161, 1230}, 29, 213e3},  // mean of 12.3 s in frames of 10 ms, 161 frequencies, 29 characters
    {"squad", {1, 384, 1}, 2, 1536},             // 384 tokens; start and end of the answer
    {"openwebtext", {1, 1024, 1}, 50'257, 4096},
};

constexpr ZooEntry kZoo[] = {
    {"alexnet", Task::image_classification, "imagenet", 128, "Krizhevsky et al. 2012, section 5", Optimizer::momentum, alexnet},
    {"vgg16", Task::image_classification, "imagenet", 256, "Simonyan and Zisserman 2015, section 3.1", Optimizer::momentum,
     vgg16},
    {"vgg19", Task::image_classification, "imagenet", 256, "Simonyan and Zisserman 2015, section 3.1", Optimizer::momentum,
     vgg19},
    {"resnet18", Task::image_classification, "imagenet", 256, "He et al. 2016, section 3.4", Optimizer::momentum, resnet18},
    {"resnet32", Task::image_classification, "cifar10", 128, "He et al. 2016, section 4.2", Optimizer::momentum, resnet32},
    {"resnet34", Task::image_classification, "imagenet", 256, "He et al. 2016, section 3.4", Optimizer::momentum, resnet34},
    {"resnet50", Task::image_classification, "imagenet", 256, "He et al. 2016, section 3.4", Optimizer::momentum, resnet50},
    {"resnet101", Task::image_classification, "imagenet", 256, "He et al. 2016, section 3.4", Optimizer::momentum, resnet101},
    {"resnet152", Task::image_classification, "imagenet", 256, "He et al. 2016, section 3.4", Optimizer::momentum, resnet152},
    {"inceptionv2", Task::image_classification, "imagenet", 160, "Ioffe and Szegedy 2015, section 4.2: 5 replicas of 32",
     Optimizer::momentum, inceptionv2},
    {"inceptionv3", Task::image_classification, "imagenet", 1600, "Szegedy et al. 2016, section 8: 50 replicas of 32",
     Optimizer::momentum, inceptionv3},
    {"dcgan", Task::image_generation, "lsun", 128, "Radford et al. 2016, section 4", Optimizer::adam, dcgan},
    {"rnnlm", Task::language_modelling, "ptb", 20, "Zaremba et al. 2014, section 4.1", Optimizer::sgd, rnnlm},
    {"nmt", Task::translation, "wmt16", 128, "Wu et al. 2016, section 8.3", Optimizer::adam, nmt},
    {"deepspeech2", Task::speech_recognition, "librispeech", 512, "Amodei et al. 2016, section 3.7", Optimizer::momentum,
     deepspeech2},
    {"bert", Task::question_answering, "squad", 32, "Devlin et al. 2019, section 4.2", Optimizer::adam, bert},
    {"gpt2", Task::language_modelling, "openwebtext", 512, "Radford et al. 2019, section 2.3", Optimizer::adam, gpt2},
};

template <class Entries, class Name>
const auto& find(const Entries& entries, std::string_view name, std::string_view what, Name name_of) {
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    if (name_of(entry) == name) return entry;
    names.emplace_back(name_of(entry));
  }
  throw sim::InputError({.expected = "the name of a " + std::string(what),
                         .found = "\"" + std::string(name) + "\"",
                         .nearest = sim::nearest_name(name, names)});
}

}  // namespace

std::string_view to_string(Task task) {
  switch (task) {
    case Task::image_classification:
      return "image classification";
    case Task::image_generation:
      return "image generation";
    case Task::language_modelling:
      return "language modelling";
    case Task::translation:
      return "translation";
    case Task::speech_recognition:
      return "speech recognition";
    case Task::question_answering:
      return "question answering";
  }
  sim::fail_check("unknown task");
}

std::span<const ZooEntry> zoo() { return kZoo; }
std::span<const Sample> samples() { return kSamples; }

const ZooEntry& zoo_entry(std::string_view model) {
  return find(kZoo, model, "model", [](const ZooEntry& e) { return e.name; });
}

const Sample& sample_of(std::string_view dataset) {
  return find(kSamples, dataset, "dataset", [](const Sample& s) { return s.dataset; });
}

sim::OpGraph zoo_graph(std::string_view model, std::string_view dataset) {
  const ZooEntry& entry = zoo_entry(model);
  const Sample& sample = sample_of(dataset.empty() ? entry.dataset : dataset);
  return build_graph(entry.build(sample), {.optimizer = entry.optimizer, .stored_bytes_per_sample = sample.stored_bytes});
}

}  // namespace rehearse::workloads
