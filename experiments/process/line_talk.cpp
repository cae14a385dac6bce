#include "experiments/process/line_talk.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>

#include "sim/base/errors.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

namespace {

constexpr std::size_t kTail = 2000;  // bytes of standard error that last words are looked for in
constexpr std::size_t kShownOfLine = 200;
constexpr std::chrono::milliseconds kUntilItsEndIsKnown{3000};

/// A pipe that nobody reads any more is an error of write(), not a signal that ends us.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigprocmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutPipeSignal() {
    const timespec now{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &now);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

/// Bytes read, 0 at the end, -1 when there are none yet.
template <std::size_t size>
ssize_t read_some(int file, std::array<char, size>& buffer) {
  ssize_t got = 0;
  while ((got = read(file, buffer.data(), buffer.size())) < 0 && errno == EINTR) {
  }
  return got < 0 && errno != EAGAIN ? 0 : got;
}

}  // namespace

std::string LineTalk::exchange(std::string_view line) {
  sim::check(!has_failed_, "a process that has failed is asked again");
  const auto timeout = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(settings_.timeout_s));
  const Clock::time_point until = Clock::now() + timeout;
  const std::string message = std::string(line) + '\n';
  std::string_view to_send = message;
  send_some(to_send);
  for (std::string answer;;) {
    if (to_send.empty() && take_line(answer)) return answer;
    if (received_.size() > kLongestLine) fail(fmt::format("wrote a line of more than {} MiB", kLongestLine >> 20));
    if (input_refused_ || !output_open_) fail(why_gone());
    if (!wait(to_send, until))
      fail(fmt::format("{} within {} s", to_send.empty() ? "gave no answer" : "did not read what it was sent",
                       settings_.timeout_s));
  }
}

void LineTalk::farewell(std::string_view line) {
  if (has_failed_) return;
  const std::string message = std::string(line) + '\n';
  std::string_view to_send = message;
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kFarewellS));
  while (!to_send.empty() && !input_refused_ && wait(to_send, until)) received_.clear();
  process_.close_input();
  while (!process_.read_end() && wait(to_send, until, AlsoEnd::yes)) received_.clear();
  hear_errors();
}

void LineTalk::fail(std::string_view what) {
  has_failed_ = true;
  hear_errors();
  const std::string words = last_words();
  throw sim::PolicyError(fmt::format("process {} {}{}", sim::shown(fmt::format("{}", fmt::join(settings_.command.words, " "))),
                                     what, words.empty() ? words : "; its last words: " + words));
}

std::string LineTalk::why_gone() {
  // Its end comes through another pipe than that of its output, and a little later.
  std::string_view nothing;
  const Clock::time_point soon = Clock::now() + kUntilItsEndIsKnown;
  while (!process_.read_end() && wait(nothing, soon, AlsoEnd::yes)) {
  }
  const char* unended = received_.empty() ? "" : ", in the middle of a line";
  if (process_.read_end()) return process_.how_it_ended() + unended;
  return output_open_ ? "has closed its standard input" : fmt::format("has closed its standard output{}", unended);
}

bool LineTalk::wait(std::string_view& to_send, Clock::time_point until, AlsoEnd also_end) {
  const double left_ms = std::chrono::duration<double, std::milli>(until - Clock::now()).count();
  if (left_ms <= 0) return false;
  const auto open = [](int file, bool is, short events) { return pollfd{.fd = is ? file : -1, .events = events, .revents = 0}; };
  std::array files{open(process_.input(), !to_send.empty() && !input_refused_, POLLOUT),
                   open(process_.output(), output_open_, POLLIN), open(process_.errors(), errors_open_, POLLIN),
                   open(process_.end(), also_end == AlsoEnd::yes, POLLIN)};
  poll(files.data(), files.size(), static_cast<int>(std::min(std::ceil(left_ms), 1e9)));
  if (files[0].revents != 0) send_some(to_send);
  if (files[1].revents != 0) receive_some();
  if (files[2].revents != 0) hear_errors();
  return true;
}

void LineTalk::send_some(std::string_view& to_send) {
  const WithoutPipeSignal held;
  const ssize_t sent = write(process_.input(), to_send.data(), to_send.size());
  if (sent > 0) to_send.remove_prefix(static_cast<std::size_t>(sent));
  if (sent < 0 && errno != EAGAIN && errno != EINTR) input_refused_ = true;
}

void LineTalk::receive_some() {
  std::array<char, 65536> buffer;
  const ssize_t got = read_some(process_.output(), buffer);
  if (got > 0) received_.append(buffer.data(), static_cast<std::size_t>(got));
  output_open_ = got != 0;
}

void LineTalk::hear_errors() {
  std::array<char, 65536> buffer;
  const ssize_t got = errors_open_ ? read_some(process_.errors(), buffer) : -1;
  if (got == 0) errors_open_ = false;
  if (got <= 0) return;
  const std::string_view heard(buffer.data(), static_cast<std::size_t>(got));
  if (!settings_.log.empty() && logged_ < kLongestLog) {
    if (!log_.is_open()) log_.open(settings_.log, std::ios::binary);
    const std::string_view kept = heard.substr(0, kLongestLog - logged_);
    log_ << kept;
    logged_ += kept.size();
  }
  errors_tail_ += heard;
  if (errors_tail_.size() > kTail) errors_tail_.erase(0, errors_tail_.size() - kTail);
}

bool LineTalk::take_line(std::string& line) {
  const std::size_t end = received_.find('\n', searched_);
  searched_ = end == std::string::npos ? received_.size() : 0;
  if (end == std::string::npos) return false;
  line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return true;
}

std::string LineTalk::last_words() const {
  const std::size_t end = errors_tail_.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  const std::size_t before = errors_tail_.find_last_of("\r\n", end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return sim::shown(std::string_view(errors_tail_).substr(begin, end + 1 - begin), kShownOfLine);
}

}  // namespace rehearse::scenarios
