// Which devices of a pool, by their numbers: for disciplines that plan on devices that they can tell apart.
#pragma once

#include <cstdint>
#include <vector>

namespace rehearse::policies {

/// Devices of a pool, numbered in a row: a set of numbers.
class DeviceRow {
 public:
  void insert(std::size_t device);
  bool has(std::size_t device) const { return device / 64 < words_.size() && (words_[device / 64] >> (device % 64) & 1) != 0; }
  int count() const;
  bool meets(const DeviceRow& other) const;
  void add(const DeviceRow& other);
  void remove(const DeviceRow& other);
  DeviceRow both(const DeviceRow& other) const;
  /// So many of them: the shortest stretch of neighbours that is long enough, else the longest and so on (select/cons_tres
  /// without a topology). There must be as many.
  DeviceRow neighbours(int wanted) const;

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace rehearse::policies
