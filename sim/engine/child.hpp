// Work that needs processes of its own, as SimGrid's engine does.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace rehearse::sim {

/// What `work` returns in a forked child. What it throws, or a child that dies, is a CheckFailed here,
/// std::bad_alloc a MemoryExhausted; children share the memory that is left. `work` must neither
/// write to the caller's files nor wait for its threads.
std::string in_child(const std::function<std::string()>& work);

/// `work(0)` to `work(count - 1)` likewise, each in a child of its own, all at once.
std::vector<std::string> in_children(int count, const std::function<std::string(int task)>& work);

}  // namespace rehearse::sim
