// The job traces of ElasticFlow (Gu et al., ElasticFlow: An Elastic Serverless Training Platform for Distributed Deep Learning,
// ASPLOS 2023): dates, durations and GPUs of two months in Microsoft's clusters, to which the authors added model, batch size,
// iterations and deadline.
#pragma once

#include <string>
#include <string_view>

#include "traces/job_list.hpp"
#include "traces/trace_options.hpp"
#include "workloads/profiles.hpp"

namespace rehearse::traces {

/// What to do where the file is missing.
inline constexpr std::string_view kElasticFlowSource =
    "download data/elasticflow-traces.tar.gz of the GitHub repository microsoft/elasticflow-traces and unpack it; the one of 195 "
    "jobs "
    "is 195job.csv";

enum class ElasticFlowMode {
  rigid,   ///< each job runs for its measured duration on its GPUs
  elastic  ///< each job does its iterations at its global batch on any GPUs, scaled to take the measured duration on its own
};

/// Reads a CSV file, plain or gzip-compressed, with the columns job_id, submission_time, num_iteration, model_name, deadline (a
/// date, like submission_time), batch_size (global), num_gpu and duration. Both modes drop the same rows; elastic raises a batch
/// that does not divide by its GPUs to the next multiple. A note tells the share of deadlines that no rigid schedule can meet.
/// Throws InputError like read_native; where the file is missing, it says what to download. Of the options only keep_origin
/// matters.
JobList read_elasticflow(const std::string& path, ElasticFlowMode mode, const TraceOptions& options,
                         workloads::ProfileTable& profiles);

}  // namespace rehearse::traces
