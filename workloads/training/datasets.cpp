#include "workloads/training/datasets.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"

namespace rehearse::workloads {
namespace {

// Columns: name, training samples, validation samples, classes, a sample's shape as networks see it, the stored sample, its
// bytes, source. Speech is in frames of 10 ms and 161 frequencies, 29 characters. Bytes a sample are the distributed files' size
// over the samples in them, where the source says nothing else.
constexpr Dataset kDatasets[] = {
    {"celeba",
     162770,
     19867,
     1,
     {3, 64, 64},
     "3x218x178 image",
     7.0e3,
     "Liu et al., ICCV 2015; aligned images, 1.4 GB in 202,599 files"},
    {"cifar10", 50000, 10000, 10, {3, 32, 32}, "3x32x32 image", 3073, "Krizhevsky 2009; binary version"},
    {"cifar100", 50000, 10000, 100, {3, 32, 32}, "3x32x32 image", 3074, "Krizhevsky 2009; binary version"},
    {"cmu-arctic",
     7140,
     784,
     29,
     {1, 161, 300},
     "utterance, 16 kHz, about 3 s",
     1.0e5,
     "Kominek and Black 2003, seven speakers of about 1,132 prompts; split as in Pollux's curves (357 steps of 20 an epoch)"},
    {"coco",
     118287,
     5000,
     80,
     {3, 416, 416},
     "image, about 640x480",
     1.6e5,
     "Lin et al., ECCV 2014; train2017 and val2017, 19.3 GB of JPEG; at YOLOv3's 416 x 416"},
    {"imagenet",
     1281167,
     50000,
     1000,
     {3, 224, 224},
     "3x224x224 image",
     1.08e5,
     "Russakovsky et al., IJCV 2015 (ILSVRC 2012); 138 GB of JPEG"},
    {"librispeech-100h",
     28539,
     2703,
     29,
     {1, 161, 1270},
     "utterance, 16 kHz, about 12.7 s",
     2.2e5,
     "Panayotov et al., ICASSP 2015; train-clean-100 and dev-clean, 6.3 GB of FLAC"},
    {"librispeech-960h",
     281241,
     2703,
     29,
     {1, 161, 1230},
     "utterance, 16 kHz, about 12.3 s",
     2.1e5,
     "Panayotov et al., ICASSP 2015; all training parts and dev-clean, 60 GB of FLAC"},
    {"lm1b",
     39947495,
     7983,
     793471,
     {1, 20, 1},
     "20 words",
     104,
     "Chelba et al. 2013, arXiv:1312.3005: 798,949,912 words with the ends of sentences, 159,658 for tests, unrolled by 20"
     " (Jozefowicz et al. 2016); 4,147,291,308 bytes of text"},
    {"lsun-bedroom", 3033042, 300, 1, {3, 64, 64}, "3x64x64 image", 1.42e4, "Yu et al. 2015, arXiv:1506.03365; 43 GB"},
    {"mnist", 60000, 10000, 10, {1, 28, 28}, "1x28x28 image", 785, "LeCun et al. 1998"},
    {"openwebtext",
     8.8e6,
     4.3e3,
     50257,
     {1, 1024, 1},
     "1,024 tokens",
     2048,
     "Gokaslan and Cohen 2019; about 9.0e9 training and 4.4e6 validation tokens of two bytes"},
    {"ptb",
     26559,
     2107,
     10000,
     {1, 35, 1},
     "35 words",
     192,
     "Marcus et al. 1993, Mikolov's version: 929,589 and 73,760 words, unrolled by 35 (Zaremba et al. 2014); 5.1 MB of text"},
    {"squad",
     87599,
     10570,
     2,
     {1, 384, 1},
     "question and paragraph, 384 tokens",
     346,
     "Rajpurkar et al., EMNLP 2016, version 1.1; 30.3 MB"},
    {"voc", 16551, 4952, 20, {3, 416, 416}, "3x416x416 image", 1.1e5, "Everingham et al.; training 2007 + 2012, test 2007"},
    {"wikipedia",
     6.5e6,
     1.0e4,
     30522,
     {1, 512, 1},
     "512 tokens",
     1024,
     "Devlin et al. 2019: 2.5e9 words of English Wikipedia, about 1.33 word pieces a word; ids of two bytes"},
    {"wikitext-2",
     59675,
     6218,
     33278,
     {1, 35, 1},
     "35 words",
     184,
     "Merity et al. 2017: 2,088,628 and 217,646 words, unrolled by 35; 10.8 MB"},
    {"wmt16-en-de",
     4500000,
     2169,
     32320,
     {1, 30, 1},
     "sentence pair, about 50 tokens",
     300,
     "Bojar et al., WMT 2016: about 4.5 million pairs, newstest2015 as validation"},
};

}  // namespace

std::span<const Dataset> datasets() { return kDatasets; }

const Dataset& dataset(std::string_view name) {
  if (const Dataset* found = find_dataset(name)) return *found;
  std::vector<std::string> names;
  for (const Dataset& one : kDatasets) names.emplace_back(one.name);
  throw sim::InputError(
      {.expected = "the name of a dataset", .found = "\"" + std::string(name) + "\"", .nearest = sim::nearest_name(name, names)});
}

const Dataset* find_dataset(std::string_view name) {
  const auto found = std::ranges::find(kDatasets, name, &Dataset::name);
  return found == std::end(kDatasets) ? nullptr : found;
}

}  // namespace rehearse::workloads
