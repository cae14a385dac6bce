// How much memory the program may take, its forked children together: a limit of the system's on each process (RLIMIT_DATA), so
// that what asks for more is refused (std::bad_alloc) long before the machine has none left.
#pragma once

#include <new>
#include <string>

namespace rehearse::sim {

/// Asked for more than the limit, here or in a child; what() is memory_exhausted_text() of where it happened.
class MemoryExhausted : public std::bad_alloc {
 public:
  explicit MemoryExhausted(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// Of the machine, or of the container that the process runs in where that has less.
double machine_memory_bytes();

/// Of this process and those that it forks. Not under AddressSanitizer, whose shadow would be counted.
void limit_memory(double bytes);

/// In a child of which `count` run at once: its part of what the limit leaves beside what it has from its parent.
void take_memory_share(int count);

/// For the user, by the limits of this process: "out of memory: ...".
std::string memory_exhausted_text();

}  // namespace rehearse::sim
