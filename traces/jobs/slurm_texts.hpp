// Texts of Slurm's accounting: times, counts, memory and generic resources as sacct prints them (its manual, "Job Accounting
// Fields", and gres.conf's).
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace rehearse::traces {

/// The parts between `separator`; of an empty text one that is empty.
std::vector<std::string_view> fields_between(std::string_view text, std::string_view separator);

/// A number from 0 to 2^53 with nothing around it.
std::optional<double> slurm_number(std::string_view text);
/// The same with K or M behind it, times 1,024 each.
std::optional<double> slurm_count(std::string_view text);
/// "[days-[hours:]]minutes:seconds", and "days-hours[:minutes[:seconds]]".
std::optional<double> slurm_seconds(std::string_view text);
/// Bytes of "800G", "62.50G" or "16000", which are MiB.
std::optional<double> slurm_memory_bytes(std::string_view text);
/// What stands behind "NAME=" among "billing=8,cpu=8,mem=4G,node=1"; empty: nothing.
std::string_view slurm_tres(std::string_view tres, std::string_view name);

/// The GPUs that a job holds.
struct SlurmGpus {
  double units = 0;          ///< GPUs, and slices of GPUs (MIG)
  double gpus = 0;           ///< the same with a slice as the part of a GPU that it is
  bool is_mixed = false;     ///< units of several sizes
  bool is_shared = false;    ///< shards or MPS: parts of GPUs whose size the text does not tell
  bool needs_nodes = false;  ///< counts of one node: they take a number of nodes

  void add(const SlurmGpus& other);
};

/// Of TRES, "gres/gpu=2,gres/gpu:a100=2", which count the whole job, and of GRES, "gpu:a100:2(IDX:0-1)", which count one of its
/// `nodes` (NaN: unknown).
SlurmGpus slurm_gpus(std::string_view resources, double nodes);

}  // namespace rehearse::traces
