#include "cli/planned_files.hpp"

#include <cmath>
#include <filesystem>

#include "cli/say.hpp"
#include "deploy/deployment.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/output_file.hpp"
#include "sim/money/costs.hpp"

namespace rehearse::cli {

void export_planned(const std::string& folder, const scenarios::PlanRequest& request, const policies::PlanChoice& c,
                    const PlannedOn& on) {
  const sim::Cluster& cluster = on.cluster;
  const sim::Device& device = sim::worker_device(cluster, c.pool);
  const double rate = request.convergence ? workloads::learning_rate(*request.convergence, {}, {},
                                                                     {.global_batch = c.batch, .rule = request.lr_rule})
                                          : traces::usual_learning_rate(request.optimizer, c.batch);
  const bool is_torch = on.framework == "pytorch";
  const traces::Deployment deployment{
      .job = request.name,
      .model = request.model,
      .dataset = request.dataset,
      .device = device.name,
      .pool = is_torch
                  ? cluster.instances[static_cast<std::size_t>(cluster.pools[static_cast<std::size_t>(c.pool)].instance)].name
                  : cluster.pools[static_cast<std::size_t>(c.pool)].name,
      .gpus = device.kind == sim::DeviceKind::gpu,
      .cores = static_cast<double>(device.cores),
      .network = request.network,
      .task = request.task,
      .batches = traces::even_batches(static_cast<int>(c.batch), c.workers),
      .workers_per_node = sim::workers_per_node(cluster, c.pool),
      .epochs = c.epochs,
      .training_samples = request.job.samples,
      .bytes_per_sample = request.bytes_per_sample,
      .optimizer = request.optimizer,
      .learning_rate = rate,
      .target_accuracy = request.target_accuracy,
      .power_limit_w = c.power_limit_w,
      .time_s = std::isfinite(request.limits.deadline_s) ? request.limits.deadline_s : 1.5 * c.time_s.high,
      .checkpoint_s = on.checkpoint_s,
      .trained_in = on.half_precision ? traces::TrainedIn::fp16 : traces::TrainedIn::fp32,
      .accumulation = on.accumulation,
  };
  const std::vector<traces::DeployedFile> files = is_torch ? pytorch_files(deployment) : deployment_files(deployment);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw sim::InputError({.file = folder, .expected = "a folder that can be made", .found = failed.message()});
  for (const traces::DeployedFile& file : files) sim::write_file(sim::without_link(folder + "/" + file.name), file.text);
  say("\nwrote {} files to run the recommended with to {}: begin with README.md\n", files.size(), folder);
}

}  // namespace rehearse::cli
