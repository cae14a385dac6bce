// The Standard Workload Format, version 2.2 (Feitelson, Parallel Workloads Archive, "The Standard Workload Format"): 18 numbers a
// line, -1 for what is not known; lines with ; are comments. What its reader and its writer agree on.
#pragma once

#include <string_view>

namespace rehearse::traces {

/// SWF has numbers where we have names. The writer tells the names in comments before their first use ("; User: 3 alice"), and
/// the reader takes them back; to other programs they are comments.
inline constexpr std::string_view kSwfJob = "; Job: ", kSwfUser = "; User: ", kSwfPartition = "; Partition: ",
                                  kSwfExecutable = "; Executable: ";

/// Field 11. 2 to 4 are parts of a job that has a line of its own.
struct SwfStatus {
  int number;
  std::string_view name;
};
inline constexpr SwfStatus kSwfStatuses[] = {{0, "failed"}, {1, "completed"}, {5, "cancelled"}};

}  // namespace rehearse::traces
