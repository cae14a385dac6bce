// Lines to and from a process: one goes in, one comes out, in bounded time and memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <fstream>
#include <string>
#include <string_view>

#include "experiments/process/kept_process.hpp"

namespace rehearse::scenarios {

inline constexpr std::size_t kLongestLine = std::size_t{16} << 20;  ///< bytes that a process may say at once
inline constexpr std::size_t kLongestLog = std::size_t{1} << 20;    ///< bytes that are kept of its standard error
inline constexpr double kFarewellS = 5;                             ///< for it to end by itself

struct TalkSettings {
  ProcessCommand command;
  double timeout_s = 60;  ///< of an answer
  std::string log;        ///< file for what it writes on standard error; empty: none
};

class LineTalk {
 public:
  /// The process ends with the talk.
  explicit LineTalk(const TalkSettings& settings) : settings_(settings), process_(settings.command) {}

  /// Sends the line, which has no newline, and returns the next one that comes, without its newline. Throws PolicyError when none
  /// comes in time, it is too long or the process has ended; it is not asked again then.
  std::string exchange(std::string_view line);
  /// Sends a last line, closes its input and lets it end by itself for a while. Nothing to a process that has failed.
  void farewell(std::string_view line);
  /// The process has failed: PolicyError with what it is, `what` and its last words.
  [[noreturn]] void fail(std::string_view what);

 private:
  using Clock = std::chrono::steady_clock;
  enum class AlsoEnd : bool { no, yes };
  /// Sends and receives what can be, at the latest when the time is up (false). With AlsoEnd, its end is something that happens.
  bool wait(std::string_view& to_send, Clock::time_point until, AlsoEnd also_end = AlsoEnd::no);
  void send_some(std::string_view& to_send);
  void receive_some();
  void hear_errors();
  bool take_line(std::string& line);
  /// It takes no more, or says no more.
  std::string why_gone();
  std::string last_words() const;

  const TalkSettings settings_;
  KeptProcess process_;
  std::ofstream log_;
  std::size_t logged_ = 0;
  std::string received_;
  std::size_t searched_ = 0;  ///< of received_: bytes without a newline
  std::string errors_tail_;
  bool input_refused_ = false, output_open_ = true, errors_open_ = true, has_failed_ = false;
};

}  // namespace rehearse::scenarios
