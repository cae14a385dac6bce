#include "sim/base/memory.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace rehearse::sim {

namespace {

struct Memory {
  double data = 0;       ///< private and writable, which RLIMIT_DATA is about, bytes
  double untouched = 0;  ///< of it at most so much was only reserved
};

Memory memory_now() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0, shared = 0, text = 0, libraries = 0, data = 0;  // pages
  statm >> size >> resident >> shared >> text >> libraries >> data;
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {.data = data * page, .untouched = std::max(0.0, data - (resident - shared)) * page};
}

/// What libraries reserve when they are loaded and never use (OpenBLAS: hundreds of megabytes) is nobody's memory: the limit lies
/// so much higher. As the limit itself, it is the process's, and its children's.
double reserved_bytes = 0;

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
  reserved_bytes = memory_now().untouched;
  const auto most = static_cast<rlim_t>(std::clamp(bytes + reserved_bytes, 0.0, 0x1p62));
  limits.rlim_max = std::min(limits.rlim_max, most);
  limits.rlim_cur = std::min(limits.rlim_cur, most);
  setrlimit(RLIMIT_DATA, &limits);
#endif
}

void take_memory_share(int count) {
  rlimit limits{};
  getrlimit(RLIMIT_DATA, &limits);
  if (limits.rlim_cur == RLIM_INFINITY) return;
  const double used = memory_now().data, left = std::max(0.0, static_cast<double>(limits.rlim_cur) - used);
  limits.rlim_cur = static_cast<rlim_t>(used + left / std::max(1, count));
  setrlimit(RLIMIT_DATA, &limits);
}

std::string memory_exhausted_text() {
  rlimit limits{};
  getrlimit(RLIMIT_DATA, &limits);
  if (limits.rlim_cur == RLIM_INFINITY) return "out of memory: the system gives no more";
  const double own = static_cast<double>(limits.rlim_cur) - reserved_bytes,
               all = static_cast<double>(limits.rlim_max) - reserved_bytes;
  const std::string share =
      own < all ? fmt::format("this process may take {}, its share of {}", shown_bytes(own), shown_bytes(all)) : shown_bytes(all);
  return fmt::format("out of memory: {} (--max-memory; 80 % of the machine's memory if left out)", share);
}

}  // namespace rehearse::sim
