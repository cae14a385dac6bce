#include "experiments/run/reason_pipe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>

#include "sim/base/errors.hpp"

namespace rehearse::scenarios {

namespace {

/// Of a message that is written whole, as it is no longer than PIPE_BUF; its text follows.
struct Head {
  int task;
  std::uint32_t bytes;
};
constexpr std::size_t kLongest = PIPE_BUF - sizeof(Head);
constexpr std::string_view kCut = "...";

}  // namespace

ReasonPipe::ReasonPipe() {
  sim::check(pipe2(ends_, O_CLOEXEC) == 0, "no pipe could be made");
  fcntl(ends_[0], F_SETFL, O_NONBLOCK);
}

ReasonPipe::~ReasonPipe() {
  close(ends_[0]);
  close(ends_[1]);
}

void ReasonPipe::tell(int task, std::string_view reason) const {
  std::string text(reason.substr(0, kLongest));
  if (text.size() < reason.size()) text.replace(text.size() - kCut.size(), kCut.size(), kCut);
  const Head head{.task = task, .bytes = static_cast<std::uint32_t>(text.size())};
  std::string message(sizeof head, '\0');
  std::memcpy(message.data(), &head, sizeof head);
  message += text;
  while (write(ends_[1], message.data(), message.size()) < 0 && errno == EINTR) {
  }
}

void ReasonPipe::read() {
  char buffer[1 << 16];
  for (ssize_t got = 0; (got = ::read(ends_[0], buffer, sizeof buffer)) > 0;) text_.append(buffer, static_cast<std::size_t>(got));
  for (Head head; text_.size() >= sizeof head;) {
    std::memcpy(&head, text_.data(), sizeof head);
    if (text_.size() < sizeof head + head.bytes) return;
    reasons_[head.task] = text_.substr(sizeof head, head.bytes);
    text_.erase(0, sizeof head + head.bytes);
  }
}

std::string ReasonPipe::of(int task) const {
  const auto at = reasons_.find(task);
  return at == reasons_.end() ? std::string() : at->second;
}

}  // namespace rehearse::scenarios
