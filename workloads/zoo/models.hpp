// The zoo's builders: the network of each model for one sample of a dataset, its loss included.
#pragma once

#include "workloads/zoo.hpp"

namespace rehearse::workloads {

Network alexnet(const Sample& sample);
Network vgg16(const Sample& sample);
Network vgg19(const Sample& sample);
Network resnet18(const Sample& sample);
Network resnet32(const Sample& sample);
Network resnet34(const Sample& sample);
Network resnet50(const Sample& sample);
Network resnet101(const Sample& sample);
Network resnet152(const Sample& sample);
Network inceptionv2(const Sample& sample);
Network inceptionv3(const Sample& sample);
Network dcgan(const Sample& sample);
Network rnnlm(const Sample& sample);
Network nmt(const Sample& sample);
Network deepspeech2(const Sample& sample);
Network bert(const Sample& sample);
Network gpt2(const Sample& sample);

}  // namespace rehearse::workloads
