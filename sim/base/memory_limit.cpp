#include "sim/base/memory_limit.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace rehearse::sim {

namespace {

/// Private writable memory of this process, which RLIMIT_DATA is about.
double used_bytes() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  for (int field = 0; field < 6; ++field) statm >> pages;  // the sixth: data and stack
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::string shown_bytes(double bytes) {
  return bytes < 1e9 ? fmt::format("{:.0f} MB", bytes / 1e6) : fmt::format("{:.1f} GB", bytes / 1e9);
}

}  // namespace

double machine_memory_bytes() {
  double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    double limit = 0;
    if (std::ifstream(path) >> limit && limit > 0) bytes = std::min(bytes, limit);  // "max" is no number
  }
  return bytes;
}

void limit_memory([[maybe_unused]] double bytes) {
#ifndef __SANITIZE_ADDRESS__
  rlimit limits{};
  getrlimit(RLIMIT_DATA, &limits);
  const auto most = static_cast<rlim_t>(std::clamp(bytes, 0.0, 0x1p62));
  limits.rlim_max = std::min(limits.rlim_max, most);
  limits.rlim_cur = std::min(limits.rlim_cur, most);
  setrlimit(RLIMIT_DATA, &limits);
#endif
}

void take_memory_share(int count) {
  rlimit limits{};
  getrlimit(RLIMIT_DATA, &limits);
  if (limits.rlim_cur == RLIM_INFINITY) return;
  const double used = used_bytes(), left = std::max(0.0, static_cast<double>(limits.rlim_cur) - used);
  limits.rlim_cur = static_cast<rlim_t>(used + left / std::max(1, count));
  setrlimit(RLIMIT_DATA, &limits);
}

std::string memory_exhausted_text() {
  rlimit limits{};
  getrlimit(RLIMIT_DATA, &limits);
  if (limits.rlim_cur == RLIM_INFINITY) return "out of memory: the system gives no more";
  const auto own = static_cast<double>(limits.rlim_cur), all = static_cast<double>(limits.rlim_max);
  const std::string share =
      own < all ? fmt::format("this process may take {}, its share of {}", shown_bytes(own), shown_bytes(all)) : shown_bytes(all);
  return fmt::format("out of memory: {} (--max-memory; 80 % of the machine's memory if left out)", share);
}

}  // namespace rehearse::sim
