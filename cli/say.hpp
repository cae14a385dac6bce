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

/// Of tables on standard output: the terminal's, else what fits most.
std::size_t table_width();

/// Words in lines of a terminal's width, at most 100; every line but the first begins with so many blanks, and so does what is
/// before the first. Ends with a line end.
std::string wrapped(const std::string& text, std::size_t indent = 0);
/// Two blanks, the left text in so many columns, or on a line of its own where it needs more, and the right one wrapped.
std::string two_columns(const std::string& left, const std::string& right, std::size_t left_width);

/// Whether what is said there may be coloured: on a terminal, unless NO_COLOR is set or TERM says that it has no colours.
bool takes_colour(std::FILE* to);

/// As say_text on standard output, with the colours of report::painted().
void say_in_colour(const std::string& text);

}  // namespace rehearse::cli
