// An order of operations in which every edge goes forward, or the cycle that forbids it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rehearse::traces {

struct ForwardOrder {
  std::vector<int> ops;    ///< all of them; of those that may come next the smallest index
  std::vector<int> cycle;  ///< when there is none: some operations that wait for each other, in the edges' direction
};

/// Of operations 0 to count - 1.
ForwardOrder forward_order(int count, std::span<const std::pair<int, int>> edges);

/// "a cycle through \"a\", \"b\", \"c\" and 5 more", for messages.
std::string cycle_text(const std::vector<int>& cycle, const std::function<std::string_view(int)>& name_of);

}  // namespace rehearse::traces
