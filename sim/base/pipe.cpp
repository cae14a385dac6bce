#include "sim/base/pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "sim/base/errors.hpp"

namespace rehearse::sim {

Pipe::Pipe() { check(pipe2(ends_.data(), O_CLOEXEC) == 0, "a pipe could not be made"); }

Pipe::~Pipe() {
  for (const int end : ends_)
    if (end >= 0) close(end);
}

int Pipe::take_reading() { return std::exchange(ends_[0], -1); }

int Pipe::take_writing() { return std::exchange(ends_[1], -1); }

void never_wait(int end) { fcntl(end, F_SETFL, O_NONBLOCK); }

}  // namespace rehearse::sim
