// Work that needs processes of its own, as the engine of SimGrid does, and the pipes to them.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace rehearse::sim {

// A pipe to or from a child process.

/// Both ends are closed at the end of the scope unless taken, and in programs that a child becomes.
class Pipe {
 public:
  Pipe();
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reading() const { return ends_[0]; }
  int writing() const { return ends_[1]; }
  /// The caller closes it.
  int take_reading();
  int take_writing();

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// Reading from, or writing to, an end then fails where it would wait.
void never_wait(int end);

// Work that needs processes of its own, as SimGrid's engine does.

/// What `work` returns in a forked child. What it throws, or a child that dies, is a CheckFailed here,
/// std::bad_alloc a MemoryExhausted; children share the memory that is left. `work` must neither
/// write to the caller's files nor wait for its threads.
std::string in_child(const std::function<std::string()>& work);

/// `work(0)` to `work(count - 1)` likewise, each in a child of its own, all at once.
std::vector<std::string> in_children(int count, const std::function<std::string(int task)>& work);

}  // namespace rehearse::sim
