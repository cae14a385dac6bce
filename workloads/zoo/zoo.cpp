#include "workloads/zoo/zoo.hpp"

#include <string>

#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "workloads/zoo/models.hpp"

namespace rehearse::workloads {
namespace {

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
    {"inception-v2", Task::image_classification, "imagenet", 160, "Ioffe and Szegedy 2015, section 4.2: 5 replicas of 32",
     Optimizer::momentum, inceptionv2},
    {"inception-v3", Task::image_classification, "imagenet", 1600, "Szegedy et al. 2016, section 8: 50 replicas of 32",
     Optimizer::momentum, inceptionv3},
    {"dcgan", Task::image_generation, "lsun-bedroom", 128, "Radford et al. 2016, section 4", Optimizer::adam, dcgan},
    {"rnnlm", Task::language_modelling, "ptb", 20, "Zaremba et al. 2014, section 4.1", Optimizer::sgd, rnnlm},
    // Adagrad, which keeps one number a parameter, as momentum does.
    {"big-lstm", Task::language_modelling, "lm1b", 128, "Jozefowicz et al. 2016, section 4.3", Optimizer::momentum, big_lstm},
    {"nmt", Task::translation, "wmt16-en-de", 128, "Wu et al. 2016, section 8.3", Optimizer::adam, nmt},
    {"deepspeech2", Task::speech_recognition, "librispeech-960h", 512, "Amodei et al. 2016, section 3.7", Optimizer::momentum,
     deepspeech2},
    {"bert", Task::question_answering, "squad", 32, "Devlin et al. 2019, section 4.2", Optimizer::adam, bert},
    {"gpt2", Task::language_modelling, "openwebtext", 512, "Radford et al. 2019, section 2.3", Optimizer::adam, gpt2},
    {"yolov3", Task::object_detection, "coco", 64, "Redmon and Farhadi 2018, their yolov3.cfg", Optimizer::momentum, yolov3},
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
    case Task::object_detection:
      return "object detection";
  }
  sim::fail_check("unknown task");
}

std::span<const ZooEntry> zoo() { return kZoo; }

const ZooEntry& zoo_entry(std::string_view model) {
  return find(kZoo, model, "model", [](const ZooEntry& e) { return e.name; });
}

namespace {

const Dataset& dataset_of(const ZooEntry& entry, std::string_view name) {
  return workloads::dataset(name.empty() ? entry.dataset : name);
}

}  // namespace

Network zoo_network(std::string_view model, std::string_view dataset) {
  const ZooEntry& entry = zoo_entry(model);
  return entry.build(dataset_of(entry, dataset));
}

sim::OpGraph zoo_graph(std::string_view model, std::string_view dataset, bool unroll) {
  const ZooEntry& entry = zoo_entry(model);
  const Dataset& data = dataset_of(entry, dataset);
  return build_graph(entry.build(data),
                     {.optimizer = entry.optimizer, .stored_bytes_per_sample = data.bytes_per_sample, .unroll = unroll});
}

}  // namespace rehearse::workloads
