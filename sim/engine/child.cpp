#include "sim/engine/child.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>

#include "sim/base/errors.hpp"

namespace rehearse::sim {
namespace {

constexpr char kDone = '+', kThrew = '-';

void write_all(int file, const std::string& bytes) {
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t n = write(file, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno != EINTR) return;
    if (n > 0) written += static_cast<std::size_t>(n);
  }
}

std::string read_all(int file) {
  std::string bytes;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n = read(file, buffer.data(), buffer.size());
    if (n > 0) bytes.append(buffer.data(), static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EINTR)) return bytes;
  }
}

[[noreturn]] void be_child(int file, const std::function<std::string()>& work) {
  std::string bytes;
  try {
    bytes = kDone + work();
  } catch (const std::exception& error) {
    bytes = kThrew + std::string(error.what());
  } catch (...) {
    bytes = kThrew + std::string("unknown");
  }
  write_all(file, bytes);
  _exit(0);
}

}  // namespace

std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  std::fflush(nullptr);
  check(pipe(ends) == 0, "a pipe could not be made");
  const pid_t child = fork();
  check(child >= 0, "a child could not be forked");
  if (child == 0) {
    close(ends[0]);
    be_child(ends[1], work);
  }
  close(ends[1]);
  std::string bytes = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  check(!bytes.empty(), "a child died without an answer");
  check(bytes[0] == kDone, "in a child: " + bytes.substr(1));
  return bytes.substr(1);
}

}  // namespace rehearse::sim
