// The files to run a planned training with: PyTorch or TensorFlow and Horovod code, a container, Kubernetes, Slurm, SkyPilot
// (docs/guide/harness.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/layers/network.hpp"
#include "workloads/steps/graph_builder.hpp"
#include "workloads/zoo/zoo.hpp"

namespace rehearse::traces {

enum class Framework { keras, pytorch };
/// What products are made of: of automatic mixed precision fp16 has a scaled loss; tf32 rounds products of single precision.
enum class TrainedIn { fp32, tf32, fp16, bf16 };

struct Deployment {
  std::string job, model, dataset, device, pool;  ///< names, which may hold anything
  bool gpus = true;                               ///< the device; else CPUs
  double cores = 1;                               ///< of a CPU worker
  workloads::Network network;
  std::optional<workloads::Task> task;  ///< none: what the network's output says
  std::vector<int> batches;             ///< of each worker, at least 1; their sum is the global batch
  int workers_per_node = 1;
  double epochs = 1;
  double training_samples = 1, bytes_per_sample = 0;
  workloads::Optimizer optimizer = workloads::Optimizer::momentum;
  double learning_rate = 0.1;  ///< at the global batch, after the warm-up
  double target_accuracy = 0;  ///< 0: none
  double power_limit_w = 0;    ///< of each GPU; 0: none
  double time_s = 86400;       ///< that the training is granted
  double checkpoint_s = 600;   ///< between checkpoints, besides one after each epoch
  // Of PyTorch alone: Keras trains in fp32, every sample of a step at once.
  TrainedIn trained_in = TrainedIn::fp32;
  int accumulation = 1;  ///< parts of a worker's samples of a step, whose gradients are summed
};

struct DeployedFile {
  std::string name;
  std::string text;
};

/// All of them; the Kubernetes Job only where one node is enough. The same deployment gives the same bytes. Throws
/// sim::InputError for a network that Keras code cannot be written for.
std::vector<DeployedFile> deployment_files(const Deployment& deployment);
/// The same in PyTorch with DistributedDataParallel. Throws sim::InputError for what torch_network (deploy/torch_network.hpp)
/// does not write.
std::vector<DeployedFile> pytorch_files(const Deployment& deployment);

/// Shares of a batch that differ by at most 1.
std::vector<int> even_batches(int batch, int workers);
/// The rate of a batch where no publication has one: 0.1 at 256 samples and linearly more (Goyal et al. 2017, section 2.1) for
/// gradients and momentum, 0.001 at 256 and with the root for Adam.
double usual_learning_rate(workloads::Optimizer optimizer, double batch);

}  // namespace rehearse::traces
