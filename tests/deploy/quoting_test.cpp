#include <fmt/format.h>
#include <rapidcheck/catch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>

#include "deploy/template.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/shown.hpp"
#include "tests/cli/shell.hpp"

using namespace rehearse;
using namespace rehearse::traces;

namespace {

/// Bytes that languages give a meaning to, more often than chance would; also no UTF-8.
rc::Gen<std::string> hostile() {
  const auto byte = rc::gen::oneOf(rc::gen::elementOf(std::string("'\"\\$`\n\r\t #{}:;&|<>()*?!~%-=.,/@")),
                                   rc::gen::map(rc::gen::inRange(0, 256), [](int c) { return static_cast<char>(c); }));
  return rc::gen::container<std::string>(byte);
}

/// What is left of a text in a file: bytes that are not UTF-8 have become U+FFFD, and NUL too where a language has no NUL.
std::string kept(std::string_view text, bool nul) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = sim::utf8_length(text);
    out += length == 0 || (!nul && text[0] == '\0') ? "\xef\xbf\xbd" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

bool is_one_ascii_line(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

std::string filled_job(Language language, const std::string& text, const std::string& value) {
  Slots slots;
  slots.text("job", value);
  return filled(text, language, slots);
}

}  // namespace

TEST_CASE("literals by hand") {
  CHECK(python_string("a\"b\\\n\xc3\xa9\xf0\x9f\x98\x80\xff") == R"("a\"b\\\u000a\u00e9\U0001f600\ufffd")");
  CHECK(yaml_string("yes: #") == "\"yes: #\"");
  CHECK(shell_word("plain-1.0") == "'plain-1.0'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("it's $HOME\n") == R"($'it\'s $HOME\x0a')");
  CHECK(dockerfile_string("$A \"b\"\n") == "\"\\$A \\\"b\\\"\xef\xbf\xbd\"");
}

TEST_CASE("names by hand") {
  CHECK(path_component("../../etc/passwd") == "x..-..-etc-passwd");
  CHECK(path_component("") == "x");
  CHECK(path_component("-rf") == "x-rf");
  CHECK(dns_label("My Job!!") == "my-job");
  CHECK(dns_label("42") == "job-42");
  CHECK(dns_label("...") == "job");
  CHECK(identifier("stage1/conv") == "stage1_conv");
  CHECK(identifier("1x1") == "x1x1");
}

TEST_CASE("literals are one line of printable ASCII whatever the text, and Dockerfile's one line") {
  rc::prop("every language", [] {
    const std::string text = *hostile();
    RC_ASSERT(is_one_ascii_line(python_string(text)));
    RC_ASSERT(is_one_ascii_line(yaml_string(text)));
    RC_ASSERT(is_one_ascii_line(shell_word(text)));
    const std::string docker = dockerfile_string(text);
    RC_ASSERT(std::ranges::none_of(docker, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }));
    // Inside the quotes each quote, dollar and backslash has a backslash of its own before it.
    for (std::size_t i = 1; i + 1 < docker.size(); ++i) {
      RC_ASSERT(docker[i] != '"' && docker[i] != '$');
      if (docker[i] == '\\') RC_ASSERT(std::string_view("\"$\\").find(docker[++i]) != std::string_view::npos);
    }
  });
}

TEST_CASE("names are made of harmless letters whatever the text") {
  rc::prop("every kind of name", [] {
    const std::string text = *hostile();
    const std::string path = path_component(text), label = dns_label(text);
    RC_ASSERT(is_plain_token(path) && path.find('/') == path.npos && path[0] != '.' && path[0] != '-' && path.size() <= 101);
    RC_ASSERT(!label.empty() && label.size() <= 44 && label.front() >= 'a' && label.front() <= 'z' && label.back() != '-');
    RC_ASSERT(std::ranges::all_of(label, [](char c) { return c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); }));
    RC_ASSERT(is_plain_token(identifier(text)) && identifier(text).find_first_of(".-/:=+") == std::string::npos);
  });
}

TEST_CASE("real parsers read back every text") {
  std::vector<std::string> texts{"", "'", "\\", "$(exit 1)", "a\nb"};
  for (std::uint32_t i = 0; i < 300; ++i) {
    std::string text;
    for (std::uint32_t j = 0; j < i % 17; ++j) text += static_cast<char>((i * 2654435761U + j * 40503U) >> 7);
    texts.push_back(text);
  }
  std::string python = "import sys\nfor x in [", shell, yaml, of_python, of_shell;
  for (const std::string& text : texts) {
    python += python_string(text) + ",\n";
    shell += "printf '%s\\0' " + shell_word(text) + "\n";
    yaml += "- " + yaml_string(text) + "\n";
    of_python += kept(text, true) + '\1';
    of_shell += kept(text, false) + '\0';
  }
  const std::string write = ": sys.stdout.buffer.write(x.encode() + b'\\x01')\n";
  const TemporaryFolder folder;
  const Shell sh(folder);
  if (sh.has("python3"))
    CHECK(sh.output("python3 " + folder.write("texts.py", python + "]" + write)) == of_python);
  else
    WARN("skipped: there is no python3");
  if (sh.has("bash"))
    CHECK(sh.output("bash " + folder.write("texts.sh", shell)) == of_shell);
  else
    WARN("skipped: there is no bash");
  folder.write("texts.yaml", yaml);
  const std::string load = "import sys, yaml\nfor x in yaml.safe_load(open('" + folder.path() + "/texts.yaml'))";
  if (sh.succeeds("/usr/bin/python3 -c 'import yaml'"))
    CHECK(sh.output("/usr/bin/python3 " + folder.write("load.py", load + write)) == of_python);
  else
    WARN("skipped: there is no python3-yaml");
}

TEST_CASE("a template's texts go through its language's quotes, once") {
  CHECK(filled_job(Language::python, "JOB = {{job}}\n", "{{job}}\"") == "JOB = \"{{job}}\\\"\"\n");
  CHECK(filled_job(Language::shell, "job={{job}}", "a b") == "job=$'a b'");
  CHECK(filled_job(Language::dockerfile, "LABEL a={{job}}", "$x") == "LABEL a=\"\\$x\"");
  CHECK_THROWS_AS(filled_job(Language::python, "{{model}}", "x"), sim::CheckFailed);
  CHECK_THROWS_AS(filled_job(Language::yaml, "# {{job}}", "x"), sim::CheckFailed);
  CHECK_THROWS_AS(filled_job(Language::markdown, "{{job}}", "x"), sim::CheckFailed);
  Slots slots;
  CHECK_THROWS_AS(slots.token("label", "two words"), sim::CheckFailed);
  slots.number("bytes", 138e9);
  slots.number("rate", 0.1);
  CHECK(filled("{{bytes}} {{rate}}", Language::shell, slots) == "138000000000 0.1");
}
