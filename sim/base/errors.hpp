// Three kinds of error, never mixed: what the user gave (InputError), what a policy answered (PolicyError), our own bugs
// (check). What fails inside the simulated world is none of them: it is a state in a job's record.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rehearse::sim {

/// One mistake in what the user gave. Empty or zero fields are unknown and left out of the message.
struct Mistake {
  std::string file;
  std::int64_t line = 0;    ///< from 1
  std::int64_t column = 0;  ///< from 1
  std::string pointer;      ///< JSON pointer, or a CSV column's name
  std::string expected;
  std::string found;
  std::string nearest;  ///< the valid name that was probably meant
};

/// "file:line:column: /pointer: expected ..., found ...; did you mean ...?", fit for a terminal (sim/base/text.hpp).
std::string to_string(const Mistake& mistake);

/// Everything wrong with the user's input, all of it at once. Caught in `main` alone; exit status 3.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::vector<Mistake> mistakes, std::int64_t left_out = 0);
  explicit InputError(Mistake mistake) : InputError(std::vector{std::move(mistake)}) {}
  const std::vector<Mistake>& mistakes() const { return mistakes_; }
  /// How many more there were than are listed.
  std::int64_t left_out() const { return left_out_; }

 private:
  std::vector<Mistake> mistakes_;
  std::int64_t left_out_;
};

/// Collects mistakes, so that a reader can go on after the first. Keeps the first kMaxListed and counts the rest.
class Mistakes {
 public:
  static constexpr std::size_t kMaxListed = 100;
  void add(Mistake mistake);
  /// Adds make(), which is called only if its mistake will be listed: for those whose place is costly to work out.
  template <class Make>
  void add_from(Make make) {
    if (listed_.size() < kMaxListed)
      listed_.push_back(make());
    else
      ++left_out_;
  }
  void add_all(const InputError& error);
  bool empty() const { return listed_.empty(); }
  std::size_t size() const { return listed_.size() + static_cast<std::size_t>(left_out_); }
  const std::vector<Mistake>& listed() const { return listed_; }
  /// Throws InputError when there is any.
  void throw_if_any() const;

 private:
  std::vector<Mistake> listed_;
  std::int64_t left_out_ = 0;
};

/// A policy answered something that the rules forbid, or threw. Ends the run of that policy alone; exit status 5.
class PolicyError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A broken invariant of our own: a bug. Exit status 1.
class CheckFailed : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline constexpr double kNoTime = -std::numeric_limits<double>::infinity();

[[noreturn]] void fail_check(std::string_view what, double time_s = kNoTime);

/// Always on, in every build. `time_s` is the simulated date, where there is one.
inline void check(bool ok, std::string_view what, double time_s = kNoTime) {
  if (!ok) [[unlikely]]
    fail_check(what, time_s);
}

}  // namespace rehearse::sim
