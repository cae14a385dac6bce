// What the program says on the terminal. Everything goes through sim::printable_lines: a name in a user's file cannot steer it.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace rehearse::cli {

void say_text(std::FILE* to, const std::string& text);

template <class... Values>
void say(std::FILE* to, fmt::format_string<Values...> format, Values&&... values) {
  say_text(to, fmt::format(format, std::forward<Values>(values)...));
}

/// On standard output, or beside a file that goes there (Command::output).
template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  say_text(stdout, fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace rehearse::cli
