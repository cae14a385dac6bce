// Work that needs a process of its own, as SimGrid's engine does.
#pragma once

#include <functional>
#include <string>

namespace rehearse::sim {

/// What `work` returns in a forked child. What it throws, or a child that dies, is a CheckFailed here. `work` must neither
/// write to the caller's files nor wait for its threads.
std::string in_child(const std::function<std::string()>& work);

}  // namespace rehearse::sim
