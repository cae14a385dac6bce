// What the README shows is what the program prints.
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/cli/program.hpp"

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// What of the quickstart's output is the same on every machine: all but the last column of the table's second block, a time.
std::vector<std::string> steady_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text.substr(text.find("quickstart: two kinds")));
  std::size_t width = std::string::npos;
  for (std::string line; std::getline(in, line) && !has(line, "Results: ");) {
    if (has(line, "policy took")) width = line.find("policy took");
    if (line.empty()) width = std::string::npos;
    lines.push_back(line.substr(0, width));
  }
  return lines;
}

TEST_CASE("the README shows what the quickstart prints") {
  const TemporaryFolder folder;
  const std::string sources = REHEARSE_SOURCE_DIR;
  const Ended ended = run_program(folder.path(), {"run", sources + "/scenarios/quickstart.json", "--out", "q"});
  REQUIRE(ended.status == 0);
  CHECK(steady_lines(text_of(sources + "/README.md")) == steady_lines(ended.out));
}

/// What stands between the two lines of a fence, after `mark`.
std::string fenced(const std::string& text, std::string_view mark, const std::string& fence) {
  const std::size_t from = text.find(fence + "\n", text.find(mark)) + fence.size() + 1;
  return text.substr(from, text.find("\n```", from) + 1 - from);
}

TEST_CASE("the README's first own scenario prints what the README says") {
  const TemporaryFolder folder;
  const std::string readme = text_of(REHEARSE_SOURCE_DIR "/README.md");
  folder.write("my-first.json", fenced(readme, "Save this as `my-first.json`", "```json"));
  const Ended ended = run_program(folder.path(), {"run", "my-first.json"});
  REQUIRE(ended.status == 0);
  const std::string shown = fenced(readme, "The second command prints", "```");
  REQUIRE(has(shown, "static-isotonic "));
  std::istringstream lines(shown);
  std::size_t from = 0;  // in the same order
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    const std::size_t found = ended.out.find(line + "\n", from);
    REQUIRE(found != std::string::npos);
    from = found + line.size();
  }
}

}  // namespace
