#include <rapidcheck/catch.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/base/errors.hpp"
#include "sim/io/civil_date.hpp"
#include "sim/io/json.hpp"
#include "sim/io/json_items.hpp"
#include "sim/io/text_input.hpp"

using namespace rehearse::sim;

namespace {

class File {
 public:
  explicit File(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("rehearse_stream_" + std::to_string(::getpid()))) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::vector<std::string> items_of(const std::string& text, const std::string& key = {}) {
  const File file(text);
  JsonItems items(file.path(), key);
  std::vector<std::string> all;
  for (JsonItem item; items.next(item);) all.push_back((item.name.empty() ? "" : item.name + "=") + item.text);
  return all;
}

}  // namespace

TEST_CASE("dates") {
  // 1970-01-01 is 0; 2000-02-29 is 30 x 365 + 7 leap days + 59 = 11,016 days.
  CHECK(parse_civil_date("1970-01-01")->unix_s == 0);
  CHECK(parse_civil_date("2000-02-29T00:00:01.25Z")->unix_s == 11016 * 86400.0 + 1.25);
  CHECK(parse_civil_date("2000-02-29 00:00:01.25+01:30")->unix_s == 11016 * 86400.0 + 1.25 - 5400);
  CHECK(parse_civil_date("2000-02-29 00:00:00")->has_zone == false);
  CHECK(parse_civil_date("2000-02-29 00:00:00-0800")->has_zone == true);
  for (const char* bad :
       {"", "2000", "2001-02-29", "2000-13-01", "2000-1-1", "2000-01-01 24:00:00", "2000-01-01 00:00", "1969-01-01",
        "2000-01-01 00:00:00 PST", "2000-01-01 00:00:00.", "2000-01-01 00:00:00+1", "20000101", "-000-01-01"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_civil_date(bad));
  }
}

TEST_CASE("items of lists and objects, whatever stands in strings and before the key") {
  CHECK(items_of("[]").empty());
  CHECK(items_of(" [ 1 , \"a]\\\"[\", {\"b\": [2, {}]} ] ") ==
        std::vector<std::string>{"1 ", "\"a]\\\"[\"", "{\"b\": [2, {}]} "});
  CHECK(items_of(R"({"x": {"jobs": [9]}, "jobs" : [1,2], "y": )", "jobs") == std::vector<std::string>{"1", "2"});
  CHECK(items_of(R"({"p": {"a": 1, "b\"c": {"d": 2}}})", "p") == std::vector<std::string>{"a=1", "b\\\"c={\"d\": 2}"});
  for (const char* bad : {"", "3", "[1", "[1 ", "[,]", "[1,]", "[\"a", "{\"a\" 1}", "{a: 1}", "[1, 2}x"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(items_of(bad), InputError);
  }
}

TEST_CASE("an item's line is where it starts") {
  const File file("[\n1,\n\n2]");
  JsonItems items(file.path());
  JsonItem item;
  items.next(item);
  CHECK(item.line == 2);
  items.next(item);
  CHECK(item.line == 4);
}

TEST_CASE("any bytes are read as items, or refused") {
  rc::prop("", [](const std::vector<char>& choices) {
    std::string text;
    for (const char c : choices) text += "[]{}\",:\\ a1\n"[static_cast<unsigned char>(c) % 12];
    const File file(text);
    try {
      JsonItems items(file.path());
      for (JsonItem item; items.next(item);) RC_ASSERT(item.text.size() <= text.size());
    } catch (const InputError&) {
    }
  });
}

TEST_CASE("lines, with and without their last end") {
  rc::prop("", [](const std::vector<std::uint8_t>& lengths, bool ends) {
    std::string text;
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      expected.push_back(std::string(lengths[i] * 97u, 'x'));
      text += expected.back() + (ends || i + 1 < lengths.size() ? (i % 2 == 0 ? "\n" : "\r\n") : "");
    }
    if (!ends && !expected.empty() && expected.back().empty()) expected.pop_back();
    const File file(text);
    LineReader reader(file.path());
    std::vector<std::string> got;
    for (std::string_view line; reader.next(line);) got.emplace_back(line);
    RC_ASSERT(got == expected);
  });
}
