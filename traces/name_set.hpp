// Which names are taken, for millions of them: a hash table with open addressing that holds 8 bytes a slot, at most half of them
// used; the names themselves stay with the caller. (std::unordered_set took half of the time of reading a trace.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace rehearse::traces {

class NameSet {
 public:
  /// True when no name like it was inserted before. `name_at(number)` gives back the name of an earlier number; numbers are below
  /// 2^32 - 1.
  template <class NameAt>
  bool insert(std::string_view name, std::uint32_t number, NameAt name_at) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    const auto hash = static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
    std::size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].number_plus_1 != 0; at = next(at))
      if (slots_[at].hash == hash && name_at(slots_[at].number_plus_1 - 1) == name) return false;
    slots_[at] = {hash, number + 1};
    ++used_;
    return true;
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t number_plus_1 = 0;  ///< 0: empty
  };

  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void grow() {
    std::vector<Slot> before(slots_.empty() ? 64 : 2 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.number_plus_1 == 0) continue;
      std::size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].number_plus_1 != 0) at = next(at);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;  ///< a power of two of them
  std::size_t used_ = 0;
};

}  // namespace rehearse::traces
