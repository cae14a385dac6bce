#include <fmt/format.h>
#include <rapidcheck/catch.h>
#include <unistd.h>
#include <zlib.h>

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

namespace {

std::string gzipped(const std::string& text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(text.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string unpacked(const std::string& bytes) {
  const File file(bytes);
  LineReader lines(file.path());
  std::string text;
  for (std::string_view line; lines.next(line);) text += std::string(line) + "\n";
  return text;
}

}  // namespace

TEST_CASE("gzip members follow one another; zeros behind them are padding, other data is refused with its place") {
  const std::string one = gzipped("a\n"), two = gzipped("b\n");
  CHECK(unpacked(one + two) == "a\nb\n");
  CHECK(unpacked(one + two + std::string(1000, '\0')) == "a\nb\n");
  CHECK(unpacked(one + std::string(512, '\0') + two) == "a\nb\n");
  const std::string where =
      fmt::format("expected the end of the gzip file at byte {0} (head -c {0} keeps what is before)", one.size());
  for (const std::string& garbage :
       {std::string("x"), std::string("\x1f"), std::string("\0\0 garbage", 10), std::string(300'000, 'g')})
    CHECK_THROWS_WITH(unpacked(one + garbage), Catch::Contains(where) && Catch::Contains("found other data behind it"));
  CHECK_THROWS_WITH(unpacked(one.substr(0, one.size() - 1)), Catch::Contains("unexpected end of file"));
  CHECK_THROWS_WITH(unpacked(one + two.substr(0, 5)), Catch::Contains("unexpected end of file"));
  std::string flipped = one;
  flipped[one.size() - 6] = static_cast<char>(flipped[one.size() - 6] ^ 1);
  CHECK_THROWS_WITH(unpacked(flipped), Catch::Contains("incorrect data check"));
  CHECK(unpacked("\x1f") == "\x1f\n");  // a byte of text
}

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
