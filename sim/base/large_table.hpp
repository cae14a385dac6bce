// Room for tables of millions of rows.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rehearse::sim {

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
