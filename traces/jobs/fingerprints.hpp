// Which names occurred, for traces whose names do not fit into memory: a 64-bit fingerprint of each, in a hash table with open
// addressing, at most 32 bytes a name. Two of n names share a fingerprint with a probability of about n^2 / 2^65: 3e-7 for ten
// million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace rehearse::traces {

class Fingerprints {
 public:
  bool contains(std::string_view name) const { return !slots_.empty() && slots_[place(of(name))] != 0; }
  /// False when it was there before.
  bool insert(std::string_view name) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    const std::uint64_t fingerprint = of(name);
    std::uint64_t& slot = slots_[place(fingerprint)];
    if (slot != 0) return false;
    slot = fingerprint;
    ++used_;
    return true;
  }

  /// That the name will be inserted soon: of millions of names the place is in no cache, and waiting for it was a quarter of the
  /// time of reading a trace.
  void expect(std::string_view name) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[of(name) & (slots_.size() - 1)], 1);
  }

 private:
  static std::uint64_t of(std::string_view name) {
    const std::uint64_t hash = std::hash<std::string_view>{}(name);
    return hash == 0 ? 1 : hash;  // 0: an empty slot
  }
  std::size_t place(std::uint64_t fingerprint) const {
    std::size_t at = fingerprint & (slots_.size() - 1);
    while (slots_[at] != 0 && slots_[at] != fingerprint) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<std::uint64_t> before(slots_.empty() ? 64 : 2 * slots_.size());
    before.swap(slots_);
    for (const std::uint64_t fingerprint : before)
      if (fingerprint != 0) slots_[place(fingerprint)] = fingerprint;
  }

  std::vector<std::uint64_t> slots_;  ///< a power of two of them, at most half of them used
  std::size_t used_ = 0;
};

}  // namespace rehearse::traces
