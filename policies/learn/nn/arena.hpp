// Memory for the matrices of one pass, kept for the next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace rehearse::policies {

/// Hands out doubles that stay in place until clear(), which frees nothing: a second pass like the first allocates nothing.
class Arena {
 public:
  /// Not initialised.
  double* take(std::size_t count) {
    while (chunk_ < chunks_.size() && used_ + count > chunks_[chunk_].size) {
      ++chunk_;
      used_ = 0;
    }
    if (chunk_ == chunks_.size()) {
      const std::size_t size = std::max(kChunk, count);
      chunks_.push_back({size, std::make_unique_for_overwrite<double[]>(size)});
    }
    used_ += count;
    return chunks_[chunk_].numbers.get() + (used_ - count);
  }
  void clear() { chunk_ = used_ = 0; }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 16;
  struct Chunk {
    std::size_t size;
    std::unique_ptr<double[]> numbers;
  };
  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;  ///< the one in use
  std::size_t used_ = 0;   ///< of it
};

}  // namespace rehearse::policies
