// What both fuzzers of readers need.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "sim/base/errors.hpp"

/// A file that never touches a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : descriptor_(::memfd_create("input", 0)) {
    rehearse::sim::check(descriptor_ >= 0 && ::write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
                         "memory");
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

template <class Read>
void read_or_refuse(Read read) {
  try {
    read();
  } catch (const rehearse::sim::InputError& error) {
    rehearse::sim::check(!std::string_view(error.what()).empty(), "a refusal without a reason");
  }
}
