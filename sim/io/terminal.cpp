#include "sim/io/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace rehearse::sim {

std::optional<std::size_t> terminal_columns(std::FILE* file) {
  if (isatty(fileno(file)) == 0) return std::nullopt;
  const char* given = std::getenv("COLUMNS");
  const std::string_view text = given == nullptr ? "" : given;
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  if (error == std::errc() && end == text.data() + text.size() && columns > 0) return columns;
  winsize size{};
  if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return std::nullopt;
}

}  // namespace rehearse::sim
