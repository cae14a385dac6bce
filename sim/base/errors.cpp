#include "sim/base/errors.hpp"

#include <fmt/format.h>

#include "sim/base/text.hpp"

namespace rehearse::sim {

std::string to_string(const Mistake& m) {
  std::string text;
  const auto separate = [&text] {
    if (!text.empty()) text += ": ";
  };
  text += printable(m.file, kWholeText);
  if (m.line > 0) text += fmt::format("{}{}", text.empty() ? "line " : ":", m.line);
  if (m.line > 0 && m.column > 0) text += fmt::format(":{}", m.column);
  if (!m.pointer.empty()) {
    separate();
    text += printable(m.pointer, kWholeText);
  }
  if (!m.expected.empty()) {
    separate();
    text += "expected " + printable_lines(m.expected);
  }
  if (!m.found.empty()) {
    if (m.expected.empty())
      separate();
    else
      text += ", ";
    text += "found " + printable_lines(m.found);
  }
  if (!m.nearest.empty()) text += fmt::format("; did you mean \"{}\"?", printable(m.nearest, kWholeText));
  return text;
}

namespace {

std::string join(const std::vector<Mistake>& mistakes, std::int64_t left_out) {
  std::string text;
  for (const Mistake& m : mistakes) text += (text.empty() ? "" : "\n") + to_string(m);
  if (left_out > 0) text += fmt::format("\nand {} more", left_out);
  return text;
}

}  // namespace

InputError::InputError(std::vector<Mistake> mistakes, std::int64_t left_out)
    : std::runtime_error(join(mistakes, left_out)), mistakes_(std::move(mistakes)), left_out_(left_out) {}

void Mistakes::add(Mistake mistake) {
  if (listed_.size() < kMaxListed)
    listed_.push_back(std::move(mistake));
  else
    ++left_out_;
}

void Mistakes::add_all(const InputError& error) {
  for (const Mistake& m : error.mistakes()) add(m);
  left_out_ += error.left_out();
}

void Mistakes::throw_if_any() const {
  if (!empty()) throw InputError(listed_, left_out_);
}

void fail_check(std::string_view what, double time_s) {
  if (time_s == kNoTime) throw CheckFailed(fmt::format("check failed: {}", what));
  throw CheckFailed(fmt::format("check failed at simulated time {:.6f} s: {}", time_s, what));
}

}  // namespace rehearse::sim
