// The zoo's builders: the network of each model for one sample of a dataset, its loss included.
#pragma once

#include "workloads/zoo/zoo.hpp"

namespace rehearse::workloads {

Network alexnet(const Dataset& sample);
Network vgg16(const Dataset& sample);
Network vgg19(const Dataset& sample);
Network resnet18(const Dataset& sample);
Network resnet32(const Dataset& sample);
Network resnet34(const Dataset& sample);
Network resnet50(const Dataset& sample);
Network resnet101(const Dataset& sample);
Network resnet152(const Dataset& sample);
Network inceptionv2(const Dataset& sample);
Network inceptionv3(const Dataset& sample);
Network dcgan(const Dataset& sample);
Network rnnlm(const Dataset& sample);
Network nmt(const Dataset& sample);
Network deepspeech2(const Dataset& sample);
Network bert(const Dataset& sample);
Network gpt2(const Dataset& sample);

}  // namespace rehearse::workloads
