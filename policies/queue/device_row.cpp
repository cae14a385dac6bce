#include "policies/queue/device_row.hpp"

#include <algorithm>
#include <bit>

namespace rehearse::policies {

void DeviceRow::insert(std::size_t device) {
  if (words_.size() <= device / 64) words_.resize(device / 64 + 1);
  words_[device / 64] |= std::uint64_t{1} << (device % 64);
}

int DeviceRow::count() const {
  int sum = 0;
  for (const std::uint64_t word : words_) sum += std::popcount(word);
  return sum;
}

bool DeviceRow::meets(const DeviceRow& other) const {
  for (std::size_t w = 0; w < std::min(words_.size(), other.words_.size()); ++w)
    if ((words_[w] & other.words_[w]) != 0) return true;
  return false;
}

void DeviceRow::add(const DeviceRow& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size());
  for (std::size_t w = 0; w < other.words_.size(); ++w) words_[w] |= other.words_[w];
}

void DeviceRow::remove(const DeviceRow& other) {
  for (std::size_t w = 0; w < std::min(words_.size(), other.words_.size()); ++w) words_[w] &= ~other.words_[w];
}

DeviceRow DeviceRow::both(const DeviceRow& other) const {
  DeviceRow result;
  result.words_.resize(std::min(words_.size(), other.words_.size()));
  for (std::size_t w = 0; w < result.words_.size(); ++w) result.words_[w] = words_[w] & other.words_[w];
  return result;
}

DeviceRow DeviceRow::neighbours(int wanted) const {
  struct Stretch {
    std::size_t first;
    int length;
  };
  std::vector<Stretch> stretches;
  for (std::size_t device = 0; device < 64 * words_.size(); ++device) {
    if (!has(device)) continue;
    if (!stretches.empty() && stretches.back().first + static_cast<std::size_t>(stretches.back().length) == device)
      ++stretches.back().length;
    else
      stretches.push_back({device, 1});
  }
  DeviceRow taken;
  while (wanted > 0 && !stretches.empty()) {
    const auto better = [wanted](const Stretch& a, const Stretch& b) {
      const bool a_does = a.length >= wanted, b_does = b.length >= wanted;
      return a_does != b_does ? a_does : a_does ? a.length < b.length : a.length > b.length;
    };
    const auto best = std::min_element(stretches.begin(), stretches.end(), better);
    const int part = std::min(wanted, best->length);
    for (int i = 0; i < part; ++i) taken.insert(best->first + static_cast<std::size_t>(i));
    wanted -= part;
    stretches.erase(best);
  }
  return taken;
}

}  // namespace rehearse::policies
