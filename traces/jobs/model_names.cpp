#include "traces/jobs/model_names.hpp"

namespace rehearse::traces {

const ModelName* find_model_name(std::string_view theirs) {
  // inception3: ElasticFlow and Tiresias. The others: Gavel, whose ResNet-18 trains on CIFAR-10 (Narayanan et al., table 2).
  static constexpr ModelName kNames[] = {
      {"inception3", "inception-v3", {}}, {"ResNet-18", "resnet18", "cifar10"}, {"ResNet-50", "resnet50", "imagenet"}};
  for (const ModelName& name : kNames)
    if (name.theirs == theirs) return &name;
  return nullptr;
}

}  // namespace rehearse::traces
