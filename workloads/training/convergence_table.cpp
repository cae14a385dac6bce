#include <algorithm>
#include <cmath>
#include <string>

#include "sim/base/errors.hpp"
#include "workloads/training/convergence.hpp"
#include "workloads/training/datasets.hpp"

namespace rehearse::workloads {
namespace {

// Share of the ceiling that one more asynchronous worker costs. Small tasks: distributed TensorFlow on MNIST (TrimTuner's data,
// learning rate 1e-4, batch 256, one pass): 0.968 with 1 worker, 0.928 with 16. ImageNet: Chen et al. 2016, arXiv:1604.00981,
// about one point at 100 workers.
constexpr double kStalenessSmall = 0.0027;
constexpr double kStalenessImagenet = 0.0001;

// The published rates leave headroom: linear scaling with warm-up to batch 8192 trains ResNet-50 without loss and to 65,536 with
// growing loss (Goyal et al. 2017, Table 1). With a fraction above 0.4 the model would diverge at 8192; a quarter keeps 8192
// clear of that when the noise scale is misjudged by half. The other pairs are taken to have as much headroom.
constexpr double kRateFraction = 0.25;

constexpr const char* kTopOne = "top-1 accuracy";
constexpr const char* kWords = "1 - word error rate";

ConvergenceParameters with_dataset(ConvergenceParameters c) {
  const Dataset* dataset = find_dataset(c.dataset);
  sim::check(dataset != nullptr, "every pair of the convergence table is on a known data set");
  c.training_samples = dataset->training_samples;
  if (c.validation_samples == 0.0) c.validation_samples = dataset->validation_samples;
  return c;
}

// The four fits on Pollux's measured curves; traces/measure/fit_convergence.py prints these figures.
ConvergenceParameters resnet18_cifar10() {
  return with_dataset(
      {.model = "resnet18",
       .dataset = "cifar10",
       .metric = kTopOne,
       .source = "fit on Pollux's curves (OSDI 2021 artifact, cifar10); rate 0.08 of its training script",
       .reference_batch = 128,
       .reference_learning_rate = 0.08,
       .reference_rate_fraction = kRateFraction,
       .reference_epochs = 100,
       .start_accuracy = 0.1,
       .gap_batch = 128,
       .staleness_loss = kStalenessSmall,
       .noise = {{391, 152, 0.29},
                 {1172, 619, 0.00},
                 {2344, 829, 0.24},
                 {4688, 1980, 0.17},
                 {9766, 3166, 0.23},
                 {19531, 5573, 0.36},
                 {29297, 14080, 0.65},
                 {39062, 33818, 0.44}},
       .phases = {
           {0, 1.0000, 407, 0.681, 0.00253}, {3125, 1.0000, 4497, 0.625, 0.00000}, {22656, 0.9483, 1985, 0.838, 0.00002}}});
}

ConvergenceParameters resnet50_imagenet() {
  return with_dataset({.model = "resnet50",
                       .dataset = "imagenet",
                       .metric = kTopOne,
                       .source =
                           "fit on Pollux's curves (OSDI 2021 artifact, imagenet); rate 0.1, divided by 10 at epochs 30 and 60,"
                           " of its training script; rate fraction: Goyal et al. 2017, Table 1",
                       .reference_batch = 200,
                       .reference_learning_rate = 0.1,
                       .reference_rate_fraction = kRateFraction,
                       .reference_epochs = 90,
                       .start_accuracy = 0.001,
                       .gap_batch = 200,
                       .staleness_loss = kStalenessImagenet,
                       .noise = {{6406, 1449, 0.08},
                                 {12812, 3092, 0.00},
                                 {25623, 4575, 0.13},
                                 {64058, 6059, 0.14},
                                 {192175, 7052, 0.14},
                                 {195378, 15742, 0.36},
                                 {384350, 14802, 0.23},
                                 {387553, 18809, 0.69},
                                 {576525, 19437, 0.59}},
                       .phases = {{0, 0.6546, 202616, 8.000, 0.00172},
                                  {25623, 0.5078, 110158, 4.688, 0.00000},
                                  {192175, 0.6917, 12366, 8.000, 0.00000},
                                  {384350, 0.7544, 2160, 1.239, 0.00000}}});
}

ConvergenceParameters deepspeech2_cmu_arctic() {
  return with_dataset(
      {.model = "deepspeech2",
       .dataset = "cmu-arctic",
       .metric = kWords,
       .source = "fit on Pollux's curves (OSDI 2021 artifact, deepspeech2); noise scale of the first 60 % of training"
                 " alone, clipped by a running median; rate 3e-4, divided by 1.1 each epoch, of its training script;"
                 " 6,915 scored words from the steps of the error rate",
       .reference_batch = 20,
       .reference_learning_rate = 3e-4,
       .reference_rate_fraction = kRateFraction,
       .reference_epochs = 80,
       .validation_samples = 6915,
       .start_accuracy = 0.0,
       .gap_batch = 96,
       .staleness_loss = kStalenessSmall,
       .noise = {{714, 19, 0.10},
                 {1428, 51, 1.00},
                 {2499, 269, 0.31},
                 {4284, 958, 0.07},
                 {7140, 3573, 0.00},
                 {10710, 15830, 0.00},
                 {17136, 69802, 0.02}},
       .phases = {
           {0, 1.0000, 71400, 7.412, 0.04522}, {714, 1.0000, 1172, 0.621, 0.03139}, {7140, 0.7655, 22144, 8.000, 0.00008}}});
}

/// A validation loss of 32, above what its first epoch leaves at any batch, counts as 0.
ConvergenceParameters yolov3_voc() {
  return with_dataset(
      {.model = "yolov3",
       .dataset = "voc",
       .metric = "1 - validation loss / 32",
       .source = "fit on Pollux's curves (OSDI 2021 artifact, yolov3); noise scale of the first 80 % of training; rate 1e-4, an"
                 " assumption: only rates that are set by hand are held against it",
       .reference_batch = 8,
       .reference_learning_rate = 1e-4,
       .reference_rate_fraction = kRateFraction,
       .reference_epochs = 50,
       .start_accuracy = 0.1,
       .gap_batch = 512,
       .staleness_loss = kStalenessSmall,
       .noise = {{2069, 21, 0.39},
                 {4138, 180, 0.05},
                 {8276, 231, 0.04},
                 {16551, 312, 0.06},
                 {33102, 419, 0.01},
                 {53791, 442, 0.08},
                 {78617, 1088, 0.04}},
       .phases = {
           {0, 0.9387, 2375, 0.366, 0.04688}, {8276, 0.6919, 15896, 0.634, 0.00042}, {53791, 0.8213, 45118, 0.200, 0.00217}}});
}

struct Published {
  const char* model;
  const char* dataset;
  double batch;
  double learning_rate;
  double epochs;
  double final_accuracy;
  const char* source;
};

// A published final accuracy and length, with the shape and the noise scale (in samples) of the nearest fitted pair.
ConvergenceParameters shaped_like(const ConvergenceParameters& fit, const Published& p) {
  const Dataset* dataset = find_dataset(p.dataset);
  sim::check(dataset != nullptr, "every pair of the convergence table is on a known data set");
  ConvergenceParameters c =
      reshaped(fit, {.batch = p.batch, .learning_rate = p.learning_rate, .epochs = p.epochs, .final_accuracy = p.final_accuracy},
               dataset->training_samples);
  c.model = p.model;
  c.dataset = p.dataset;
  c.source = std::string(p.source) + "; shape and noise scale of " + fit.model + " on " + fit.dataset;
  if (std::string_view(p.dataset) != fit.dataset) c.validation_samples = 0.0;
  return with_dataset(c);
}

// Columns: model, data set, batch, learning rate, epochs, final accuracy, source.
constexpr Published kLikeResnet50[] = {
    {"resnet18", "imagenet", 256, 0.1, 90, 0.6976, "torchvision's table of weights (V1), its reference recipe"},
    {"resnet34", "imagenet", 256, 0.1, 90, 0.7331, "torchvision's table of weights (V1), its reference recipe"},
    {"resnet101", "imagenet", 256, 0.1, 90, 0.7737, "torchvision's table of weights (V1), its reference recipe"},
    {"resnet152", "imagenet", 256, 0.1, 90, 0.7831, "torchvision's table of weights (V1), its reference recipe"},
    {"vgg16", "imagenet", 256, 0.01, 74, 0.744,
     "Simonyan and Zisserman, ICLR 2015, section 3.1 and Table 3 (D, scales 256 to 512)"},
    {"vgg19", "imagenet", 256, 0.01, 74, 0.745,
     "Simonyan and Zisserman, ICLR 2015, section 3.1 and Table 3 (E, scales 256 to 512)"},
    {"alexnet", "imagenet", 128, 0.01, 90, 0.593, "Krizhevsky et al., NIPS 2012, section 5 and Table 2 (one network)"},
    {"inception-v2", "imagenet", 32, 0.045, 67.5, 0.748,
     "Ioffe and Szegedy, ICML 2015, Figure 3 (BN-x30: 2.7e6 steps of 32, rate 0.0015 x 30)"},
    {"inception-v3", "imagenet", 1600, 0.045, 100, 0.788,
     "Szegedy et al., CVPR 2016, section 8 (50 replicas of 32, 100 epochs) and Table 3 (single crop)"},
};

constexpr Published kLikeResnet18[] = {
    {"resnet32", "cifar10", 128, 0.1, 164, 0.9249, "He et al., CVPR 2016, section 4.2 (64,000 steps of 128) and Table 6"},
    {"resnet34", "cifar10", 128, 0.08, 100, 0.948,
     "resnet18 and half the step from ResNet-18 (93.02) to ResNet-50 (93.62) in kuangliu's pytorch-cifar"},
};

constexpr Published kLikeDeepspeech2[] = {
    {"deepspeech2", "librispeech-960h", 512, 3e-4, 10, 0.911,
     "batch 512 of Amodei et al., ICML 2016; word error rate 8.94 on test-clean after 10 epochs on LibriSpeech alone: read-me of"
     " github.com/dertilo/speech-recognition"},
    {"deepspeech2", "librispeech-100h", 32, 3e-4, 40, 0.75,
     "word error rate of about 25 without a language model and about 40 epochs: an estimate between CMU Arctic and 960 hours"},
};

// One power law through two anchors; steps an epoch = samples / batch. Noise scale: deepspeech2's, the one fitted recurrent
// network.
ConvergenceParameters recurrent(const ConvergenceParameters& fit, const Published& p, AccuracyPhase phase_in_epochs,
                                const char* metric) {
  ConvergenceParameters c = shaped_like(fit, p);
  const double epoch = c.training_samples / c.reference_batch;
  phase_in_epochs.scale *= epoch;
  c.metric = metric;
  c.source = std::string(p.source) + "; noise scale of " + fit.model + " on " + fit.dataset;
  c.start_accuracy = 0.0;
  c.phases = {phase_in_epochs};
  return c;
}

std::vector<ConvergenceParameters> make_table() {
  const ConvergenceParameters cifar = resnet18_cifar10(), imagenet = resnet50_imagenet(), speech = deepspeech2_cmu_arctic();
  std::vector<ConvergenceParameters> table{cifar, imagenet, speech, yolov3_voc()};
  for (const Published& p : kLikeResnet50) table.push_back(shaped_like(imagenet, p));
  for (const Published& p : kLikeResnet18) table.push_back(shaped_like(cifar, p));
  for (const Published& p : kLikeDeepspeech2) table.push_back(shaped_like(speech, p));
  // Perplexity 86.2 at the end: 1 - ln 86.2 / ln 10000 = 0.516; about 230 after the first epoch: 0.41.
  table.push_back(
      recurrent(speech,
                {"rnnlm", "ptb", 20, 1.0, 39, 0.516,
                 "Zaremba et al. 2014, section 4.1 and Table 1 (medium LSTM: validation perplexity 86.2, 39 epochs at batch"
                 " 20); after one epoch about 230, an estimate"},
                {.ceiling = 0.530, .scale = 0.09, .exponent = 0.598}, "1 - cross entropy / ln(vocabulary)"));
  // Perplexity 31.0 at the end: 1 - ln 31.0 / ln 793471 = 0.7472. At 5/21 of the training 35 x 31/30 = 36.2: 0.7359.
  table.push_back(
      recurrent(speech,
                {"big-lstm", "lm1b", 1024, 0.2, 15, 0.7472,
                 "read-me of github.com/okuchaiev/f-lm (Kuchaiev and Ginsburg 2017, arXiv:1703.10722): perplexity 31.001 after"
                 " 584,600 steps of 8 x 128; Jozefowicz et al. 2016, Table 1: 30.6, and section 5: 35 after 5 days, 30.0 after"
                 " three weeks; rate 0.2 of its section 4.3; both with a sampled softmax"},
                {.ceiling = 0.765, .scale = 2.657e-4, .exponent = 0.3437}, "1 - cross entropy / ln(vocabulary)"));
  // 0.246 after six epochs, about 0.195 after the first.
  table.push_back(
      recurrent(speech,
                {"nmt", "wmt16-en-de", 128, 5e-4, 6, 0.246,
                 "Wu et al. 2016, arXiv:1609.08144, Table 5 (WPM-32K: BLEU 24.61, batch 128); six epochs at rate 5e-4 as"
                 " NVIDIA's PyTorch GNMT trains; BLEU of about 19.5 after one epoch, an estimate"},
                {.ceiling = 0.252, .scale = 0.62, .exponent = 1.57}, "BLEU / 100"));
  return table;
}

}  // namespace

ConvergenceParameters reshaped(const ConvergenceParameters& fit, const PublishedTraining& p, double training_samples) {
  ConvergenceParameters c = fit;
  c.reference_batch = p.batch;
  c.reference_learning_rate = p.learning_rate;
  c.reference_epochs = p.epochs;
  c.training_samples = training_samples;

  const double batch_ratio = p.batch / fit.reference_batch;
  const double fit_steps = fit.reference_epochs * fit.training_samples / fit.reference_batch;
  const double stretch = p.epochs * c.training_samples / p.batch / fit_steps;
  TrainingState end{.progress = fit_steps, .examples = 1.0, .log2_batch_examples = std::log2(fit.reference_batch)};
  const double level = p.final_accuracy / accuracy(fit, {}, end);
  c.gap_batch *= batch_ratio;
  c.start_accuracy *= level;
  for (NoiseKnot& k : c.noise) {
    k.progress *= stretch;
    k.noise_scale *= std::pow(batch_ratio, k.batch_exponent);
  }
  for (AccuracyPhase& k : c.phases) {
    k.start_progress *= stretch;
    k.scale *= stretch;
    k.ceiling = std::min(1.0, k.ceiling * level);
    k.ceiling_loss *= level;
  }
  return c;
}

const std::vector<ConvergenceParameters>& convergence_table() {
  static const std::vector<ConvergenceParameters> table = make_table();
  return table;
}

const ConvergenceParameters* find_convergence(std::string_view model, std::string_view dataset) {
  const auto& table = convergence_table();
  const auto found = std::ranges::find_if(table, [&](const auto& c) { return c.model == model && c.dataset == dataset; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace rehearse::workloads
