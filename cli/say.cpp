#include "cli/say.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "report/table.hpp"
#include "sim/base/text.hpp"
#include "sim/io/terminal.hpp"

namespace rehearse::cli {

namespace {

void write_text(std::FILE* to, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), to);  // main asks whether standard output took it all
}

}  // namespace

void say_text(std::FILE* to, const std::string& text) { write_text(to, sim::printable_lines(text)); }

std::size_t table_width() {
  constexpr std::size_t kLeast = 40;
  return std::max(kLeast, sim::terminal_columns(stdout).value_or(report::kTerminalWidth));
}

std::string wrapped(const std::string& text, std::size_t indent) {
  const std::size_t width = std::min(report::kTerminalWidth, table_width());
  std::string out, line(indent, ' ');
  bool is_empty = true;  // the line, but for its blanks
  const auto end_line = [&] {
    out += line + "\n";
    line.assign(indent, ' ');
    is_empty = true;
  };
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", from), text.size());
    const std::string word = text.substr(from, end - from);
    if (!is_empty && line.size() + 1 + word.size() > width) end_line();
    line += (is_empty ? "" : " ") + word;
    is_empty = false;
    if (end < text.size() && text[end] == '\n') end_line();
    from = end + 1;
  }
  return (out + line + "\n").substr(indent);
}

std::string two_columns(const std::string& left, const std::string& right, std::size_t left_width) {
  const std::string text = wrapped(right, left_width + 2);
  if (left.size() < left_width) return fmt::format("  {:<{}}{}", left, left_width, text);
  return fmt::format("  {}\n{:{}}{}", left, "", left_width + 2, text);
}

bool takes_colour(std::FILE* to) {
  const char *no_colour = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != 0) return false;  // https://no-color.org
  return isatty(fileno(to)) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

void say_in_colour(const std::string& text) {
  std::string_view rest = text;
  for (std::size_t escape = 0; (escape = rest.find('\x1b', escape)) != rest.npos;) {
    std::string_view ours;
    for (const std::string_view sequence : report::colour_sequences())
      if (rest.substr(escape).starts_with(sequence)) ours = sequence;
    if (ours.empty()) {
      ++escape;
      continue;
    }
    write_text(stdout, sim::printable_lines(rest.substr(0, escape)));
    write_text(stdout, ours);
    rest.remove_prefix(escape + ours.size());
    escape = 0;
  }
  write_text(stdout, sim::printable_lines(rest));
}

}  // namespace rehearse::cli
