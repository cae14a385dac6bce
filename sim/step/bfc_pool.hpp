// A device's memory as TensorFlow's BFC allocator hands it out (tensorflow/core/common_runtime/bfc_allocator.cc, r1.0): pieces of
// 256 bytes, the smallest free chunk that holds what is asked for, cut where that pays; neighbours that are free become one.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace rehearse::sim {

class BfcPool {
 public:
  explicit BfcPool(std::int64_t capacity) : capacity_(capacity) { clear(); }
  void clear();
  /// A chunk's number; -1 for nothing. Where no free chunk holds it the region grows by it: exceeded() from then on.
  std::int32_t take(std::int64_t bytes);
  void give(std::int32_t chunk);
  std::int64_t size_of(std::int32_t chunk) const { return chunk < 0 ? 0 : chunks_[chunk].size; }
  bool exceeded() const { return region_ > capacity_; }
  std::int64_t region() const { return region_; }  ///< the capacity, and what it has grown by

 private:
  struct Chunk {
    std::int64_t offset = 0, size = 0;
    std::int32_t before = -1, after = -1;
    bool free = false;
  };
  /// By size, then by place.
  struct Free {
    std::int64_t size = 0, offset = 0;
    std::int32_t chunk = 0;
    auto operator<=>(const Free&) const = default;
  };
  std::int32_t add(const Chunk& chunk);
  void set_free(std::int32_t chunk);
  void set_taken(std::int32_t chunk);
  void join_next(std::int32_t chunk);

  std::int64_t capacity_, region_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<std::int32_t> unused_;  // numbers of chunks that were joined to others
  std::vector<Free> free_;            // sorted
};

}  // namespace rehearse::sim
