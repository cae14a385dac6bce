// A pipe to or from a child process.
#pragma once

#include <array>

namespace rehearse::sim {

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

}  // namespace rehearse::sim
