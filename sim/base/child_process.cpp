#include "sim/base/child_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <list>
#include <utility>

#include "sim/base/errors.hpp"
#include "sim/base/memory.hpp"

namespace rehearse::sim {

namespace {

constexpr char kDone = '+', kThrew = '-', kOutOfMemory = '!';

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

[[noreturn]] void be_child(int file, int task, int count, const std::function<std::string(int)>& work) {
  std::string bytes;
  take_memory_share(count);
  try {
    bytes = kDone + work(task);
  } catch (const MemoryExhausted& error) {
    bytes = kOutOfMemory + std::string(error.what());
  } catch (const std::bad_alloc&) {
    bytes = kOutOfMemory + memory_exhausted_text();
  } catch (const std::exception& error) {
    bytes = kThrew + std::string(error.what());
  } catch (...) {
    bytes = kThrew + std::string("unknown");
  }
  write_all(file, bytes);
  _exit(0);
}

/// Is waited for, whatever happens here: without a reader it ends at its first written byte.
class Child {
 public:
  Child(int task, int count, const std::function<std::string(int)>& work) {
    Pipe pipe;
    process_ = fork();
    if (process_ == 0) {
      close(pipe.take_reading());
      be_child(pipe.writing(), task, count, work);
    }
    check(process_ > 0, "a child could not be forked");
    answer_ = pipe.take_reading();
  }
  ~Child() {
    close(answer_);
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::string answer() const {
    const std::string bytes = read_all(answer_);
    check(!bytes.empty(), "a child died without an answer");
    if (bytes[0] == kOutOfMemory) throw MemoryExhausted(bytes.substr(1));
    check(bytes[0] == kDone, "in a child: " + bytes.substr(1));
    return bytes.substr(1);
  }

 private:
  pid_t process_ = -1;
  int answer_ = -1;
};

}  // namespace

Pipe::Pipe() { check(pipe2(ends_.data(), O_CLOEXEC) == 0, "a pipe could not be made"); }

Pipe::~Pipe() {
  for (const int end : ends_)
    if (end >= 0) close(end);
}

int Pipe::take_reading() { return std::exchange(ends_[0], -1); }

int Pipe::take_writing() { return std::exchange(ends_[1], -1); }

void never_wait(int end) { fcntl(end, F_SETFL, O_NONBLOCK); }

std::vector<std::string> in_children(int count, const std::function<std::string(int task)>& work) {
  std::fflush(nullptr);
  std::list<Child> children;
  for (int task = 0; task < count; ++task) children.emplace_back(task, count, work);
  std::vector<std::string> answers;
  for (const Child& child : children) answers.push_back(child.answer());
  return answers;
}

std::string in_child(const std::function<std::string()>& work) {
  return in_children(1, [&](int) { return work(); }).front();
}

}  // namespace rehearse::sim
