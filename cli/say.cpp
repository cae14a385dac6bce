#include "cli/say.hpp"

#include "sim/base/text.hpp"

namespace rehearse::cli {

void say_text(std::FILE* to, const std::string& text) {
  const std::string shown = sim::printable_lines(text);
  std::fwrite(shown.data(), 1, shown.size(), to);  // main asks whether standard output took it all
}

}  // namespace rehearse::cli
