// How much memory the program may take, and room for large tables in it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

namespace rehearse::sim {

// How much memory the program may take, its forked children together: a limit of the system's on each process (RLIMIT_DATA), so
// that what asks for more is refused (std::bad_alloc) long before the machine has none left.

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

// Room for tables of millions of rows.

/// Makes room for so many rows, on large pages where the system has them: handed out in small ones, each at its first touch, a
/// table of millions takes as long to get as to fill.
template <class Row>
void reserve_table(std::vector<Row>& table, std::size_t rows) {
  table.reserve(rows);
  constexpr std::uintptr_t kPage = std::uintptr_t{1} << 21;
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(table.data()) + kPage - 1) / kPage * kPage;
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(table.data() + table.capacity()) / kPage * kPage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a wish: nothing depends on it
}

}  // namespace rehearse::sim
