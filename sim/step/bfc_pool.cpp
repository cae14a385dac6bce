#include "sim/step/bfc_pool.hpp"

#include <algorithm>

namespace rehearse::sim {
namespace {

constexpr std::int64_t kPiece = 256;                          // kMinAllocationSize
constexpr std::int64_t kMostWaste = std::int64_t{128} << 20;  // kMaxInternalFragmentation

}  // namespace

void BfcPool::clear() {
  chunks_.clear();
  unused_.clear();
  free_.clear();
  region_ = capacity_;
  if (capacity_ < kPiece) return;
  set_free(add({.offset = 0, .size = capacity_ / kPiece * kPiece}));
}

std::int32_t BfcPool::add(const Chunk& chunk) {
  if (unused_.empty()) {
    chunks_.push_back(chunk);
    return static_cast<std::int32_t>(chunks_.size()) - 1;
  }
  const std::int32_t number = unused_.back();
  unused_.pop_back();
  chunks_[number] = chunk;
  return number;
}

void BfcPool::set_free(std::int32_t chunk) {
  Chunk& c = chunks_[chunk];
  c.free = true;
  const Free entry{c.size, c.offset, chunk};
  free_.insert(std::lower_bound(free_.begin(), free_.end(), entry), entry);
}

void BfcPool::set_taken(std::int32_t chunk) {
  Chunk& c = chunks_[chunk];
  c.free = false;
  free_.erase(std::lower_bound(free_.begin(), free_.end(), Free{c.size, c.offset, chunk}));
}

std::int32_t BfcPool::take(std::int64_t bytes) {
  if (bytes <= 0) return -1;
  const std::int64_t size = (bytes + kPiece - 1) / kPiece * kPiece;
  const auto found = std::lower_bound(free_.begin(), free_.end(), Free{size, 0, 0});
  if (found == free_.end()) {
    // Beyond the end of memory, where nothing is joined to what lies before.
    const std::int32_t chunk = add({.offset = region_, .size = size});
    region_ += size;
    return chunk;
  }
  const std::int32_t chunk = found->chunk;
  set_taken(chunk);
  const std::int64_t rest = chunks_[chunk].size - size;
  if (chunks_[chunk].size >= 2 * size || rest >= kMostWaste) {
    const Chunk& whole = chunks_[chunk];
    const Chunk behind{.offset = whole.offset + size, .size = rest, .before = chunk, .after = whole.after};
    const std::int32_t cut = add(behind);
    if (behind.after >= 0) chunks_[behind.after].before = cut;
    chunks_[chunk].after = cut;
    chunks_[chunk].size = size;
    set_free(cut);
  }
  return chunk;
}

/// The chunk behind one becomes part of it; neither is in the list of free ones.
void BfcPool::join_next(std::int32_t chunk) {
  const std::int32_t next = chunks_[chunk].after;
  chunks_[chunk].size += chunks_[next].size;
  chunks_[chunk].after = chunks_[next].after;
  if (chunks_[next].after >= 0) chunks_[chunks_[next].after].before = chunk;
  unused_.push_back(next);
}

void BfcPool::give(std::int32_t chunk) {
  if (chunk < 0) return;
  const auto is_free = [&](std::int32_t c) { return c >= 0 && chunks_[c].free; };
  if (const std::int32_t after = chunks_[chunk].after; is_free(after)) {
    set_taken(after);
    join_next(chunk);
  }
  if (const std::int32_t before = chunks_[chunk].before; is_free(before)) {
    set_taken(before);
    join_next(before);
    chunk = before;
  }
  set_free(chunk);
}

}  // namespace rehearse::sim
