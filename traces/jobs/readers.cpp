#include "traces/jobs/readers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.hpp"
#include "sim/io/civil_date.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::traces {

namespace {

constexpr std::string_view kElasticFlowSource =
    "download data/elasticflow-traces.tar.gz of the GitHub repository microsoft/elasticflow-traces and unpack it; the one of 195 "
    "jobs is 195job.csv";

}  // namespace

std::span<const TraceReaderEntry> trace_readers() {
  static constexpr TraceReaderEntry kReaders[] = {
      {"native",
       "our own CSV: job_id,submit_s and what is known of gpus, duration_s, model, deadline_s, ...",
       {},
       {},
       open_native_trace,
       "gpus,gpu_fraction,duration_s"},
      {"elasticflow-rigid", "ElasticFlow's CSV: every job runs for its measured duration on its GPUs", kElasticFlowSource,
       "job_id,submit_s,gpus,duration_s,model,dataset,deadline_s", open_elasticflow_rigid, "num_gpu,duration"},
      {"elasticflow-elastic", "ElasticFlow's CSV: every job does its iterations on any GPUs, scaled to its measured duration",
       kElasticFlowSource, "job_id,submit_s,gpus,model,dataset,batch_size,steps,deadline_s", open_elasticflow_elastic,
       "num_gpu,duration", false},
      {"elasticflow-measured",
       "ElasticFlow's CSV: every job does its iterations on any GPUs, at throughputs that were measured",
       kElasticFlowSource,
       "job_id,submit_s,gpus,job_type,batch_size,steps,deadline_s",
       open_elasticflow_measured,
       {}},
      {"philly", "Microsoft's Philly clusters, the CSV of Pollux's authors",
       "get simulator/traces/philly.csv of the GitHub repository petuum/adaptdl, branch osdi21-artifact",
       "job_id,submit_s,gpus,duration_s,user,partition", open_philly, "num_gpus,duration"},
      {"philly-json", "Microsoft's Philly clusters, the JSON log cluster_job_log",
       "get trace-data.tar.gz of the GitHub repository msr-fiddle/philly-traces and unpack it",
       "job_id,submit_s,gpus,duration_s,user,partition,status", open_philly_json, "attempts,gpus"},
      {"tiresias", "the CSV of Tiresias' simulator", "get simulator/60_job.csv of the GitHub repository SymbioticLab/Tiresias",
       "job_id,submit_s,gpus,duration_s,model,dataset", open_tiresias, "num_gpu,duration"},
      {"gavel",
       "the traces of Gavel's scheduler: steps at a batch, between tabs",
       "get scheduler/traces of the GitHub repository stanford-futuredata/gavel",
       "job_id,submit_s,gpus,model,dataset,batch_size,steps,priority",
       open_gavel,
       {}},
      {"gavel-measured",
       "the same: every job does its steps at throughputs that were measured",
       "get scheduler/traces of the GitHub repository stanford-futuredata/gavel",
       "job_id,submit_s,gpus,job_type,batch_size,steps,priority",
       open_gavel_measured,
       {}},
      {"shockwave", "the traces of Shockwave's scheduler: every job runs for its duration alone",
       "get scheduler/traces of the GitHub repository uw-mad-dash/shockwave",
       "job_id,submit_s,gpus,duration_s,model,dataset,priority", open_shockwave, "scale_factor,duration"},
      {"swf", "the Standard Workload Format of the Parallel Workloads Archive",
       "get a log from https://www.cs.huji.ac.il/labs/parallel/workload/logs.html",
       "job_id,submit_s,gpus,duration_s,model,dataset,user,memory_bytes,partition,walltime_s,after,status", open_swf,
       "field 5,processors,run time"},
      {"batsim",
       "Batsim's JSON workloads with delay profiles",
       {},
       "job_id,submit_s,gpus,duration_s,user,partition,walltime_s,after",
       open_batsim,
       "res,profile"},
      {"helios", "SenseTime's Helios clusters, cluster_log.csv",
       "get data.zip of the GitHub repository S-Lab-System-Group/HeliosData and unpack it",
       "job_id,submit_s,gpus,duration_s,user,cpus,partition,status", open_helios, "gpu_num,duration"},
      {"sacct",
       "the accounting of a Slurm cluster: sacct --parsable2",
       {},
       "job_id,submit_s,gpus,nodes,duration_s,priority,user,gpu_fraction,cpus,memory_bytes,partition,qos,account,walltime_s,"
       "eligible_s,start_s,status",
       open_sacct,
       {}},
      {"pbs",
       "the accounting log of a PBS or Torque cluster",
       {},
       "job_id,submit_s,gpus,nodes,duration_s,user,cpus,memory_bytes,partition,account,walltime_s,eligible_s,start_s,status",
       open_pbs,
       {}},
      {"kubernetes",
       "job lists of Kubernetes: kubectl get -o json of Kueue's Workloads, Jobs, Kubeflow's and Ray's jobs, or Pods",
       {},
       "job_id,submit_s,gpus,nodes,duration_s,priority,user,gpu_type,gpu_fraction,cpus,memory_bytes,partition,walltime_s,start_s,"
       "status",
       open_kubernetes,
       "spec,status"},
      {"alibaba-pai-2020", "Alibaba's PAI cluster of 2020, pai_task_table.csv",
       "get pai_task_table.tar.gz as cluster-trace-gpu-v2020 of the GitHub repository alibaba/clusterdata says, and unpack it",
       "job_id,submit_s,gpus,duration_s,gpu_type,gpu_fraction,cpus,memory_bytes,status", open_alibaba_pai_2020,
       "inst_num,plan_gpu,start_time,end_time"},
      {"alibaba-gpu-2023", "Alibaba's GPU-sharing cluster of 2023, openb_pod_list_*.csv",
       "get cluster-trace-gpu-v2023/csv of the GitHub repository alibaba/clusterdata",
       "job_id,submit_s,gpus,duration_s,gpu_type,gpu_fraction,cpus,memory_bytes,partition,status", open_alibaba_gpu_2023,
       "num_gpu,gpu_milli,scheduled_time,deletion_time"},
      {"alibaba-gpu-2025", "Alibaba's inference services of 2025 with GPUs apart, disaggregated_DLRM_trace.csv",
       "get cluster-trace-gpu-v2025 of the GitHub repository alibaba/clusterdata",
       "job_id,submit_s,gpus,duration_s,user,gpu_fraction,cpus,memory_bytes,partition", open_alibaba_gpu_2025,
       "gpu_request,scheduled_time,deletion_time"},
      {"alibaba-spot-2026", "Alibaba's jobs on spot and guaranteed GPUs of 2026, job_info_df.csv",
       "get cluster-trace-v2026-spot-gpu of the GitHub repository alibaba/clusterdata",
       "job_id,submit_s,gpus,duration_s,priority,user,gpu_type,gpu_fraction,cpus,partition", open_alibaba_spot_2026,
       "gpu_request,worker_num,duration"},
  };
  return kReaders;
}

const TraceReaderEntry& trace_reader(std::string_view name) {
  std::vector<std::string> names;
  for (const TraceReaderEntry& entry : trace_readers()) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  throw sim::InputError(sim::Mistake{.expected = fmt::format("a format of traces: {}", fmt::join(names, ", ")),
                                     .found = sim::shown(name),
                                     .nearest = sim::nearest_name(name, names)});
}

double read_date(sim::CsvRow& fields, std::string_view column, std::int64_t& zoneless) {
  const auto date = sim::parse_civil_date(fields.text(column));
  if (!date) {
    fields.refuse(column, "a date like 2017-10-09 07:01:55");
    return 0;
  }
  if (!date->has_zone) ++zoneless;
  return date->unix_s;
}

std::vector<std::string> note_of_zones(std::int64_t zoneless) {
  if (zoneless == 0) return {};
  return {
      fmt::format("{} dates name no time zone: taken as UTC; where the clock was changed for summer, an hour is missing or "
                  "there twice",
                  zoneless)};
}

namespace {

/// "/attempts/12/start_time" is the column "attempts/start_time": an element's place makes no reason of its own.
std::string column_of(std::string_view pointer) {
  std::string column;
  for (std::size_t begin = 1; begin <= pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    const std::string_view part = pointer.substr(begin, end - begin);
    if (part.find_first_not_of("0123456789") != part.npos) column.append(column.empty() ? "" : "/").append(part);
    begin = end + 1;
  }
  return column;
}

}  // namespace

std::optional<sim::JsonDocument> parse_item(const sim::JsonItem& item, const std::string& path, TraceRow& row) {
  try {
    return sim::parse_json(item.text, path);
  } catch (const sim::InputError& error) {
    for (sim::Mistake mistake : error.mistakes()) {
      mistake.line += item.line - 1;
      row.mistakes.push_back(std::move(mistake));
    }
    return std::nullopt;
  }
}

bool JsonTrace::next(TraceRow& row) {
  sim::JsonItem item;
  if (!next_item_(item)) return false;
  row.line = item.line;
  const auto document = parse_item(item, path_, row);
  if (!document) return true;
  sim::Mistakes mistakes;
  read(document->root(), row, mistakes);
  for (sim::Mistake mistake : mistakes.listed()) {
    mistake.line += item.line - 1;
    mistake.pointer = column_of(mistake.pointer);
    row.mistakes.push_back(std::move(mistake));
  }
  return true;
}

}  // namespace rehearse::traces
