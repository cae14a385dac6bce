#include "sim/io/object_reader.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

using namespace rehearse::sim;

namespace {

std::string messages(const Mistakes& mistakes) {
  std::string text;
  for (const Mistake& mistake : mistakes.listed()) text += to_string(mistake) + "\n";
  return text;
}

const std::vector<std::string> kKinds{"gpu", "cpu", "knl"};

}  // namespace

TEST_CASE("an object is read by key, with fallbacks") {
  const JsonDocument document =
      parse_json(R"({"x": 0.5, "n": 3600.0, "on": true, "name": "k80", "kind": "cpu", "sizes": [1, 2], "o": {}})", "a.json");
  Mistakes mistakes;
  ObjectReader reader(document.root(), mistakes);
  CHECK(reader.number("x", between(0, 1)) == 0.5);
  CHECK(reader.number("y", at_least(0), 4.0) == 4);
  CHECK(reader.integer("n", at_least(1)) == 3600);
  CHECK(reader.integer("m", at_least(1), 5) == 5);
  CHECK(reader.boolean("on"));
  CHECK(reader.boolean("off", true));
  CHECK(reader.text("name") == "k80");
  CHECK(reader.text("title", "none") == "none");
  CHECK(reader.choice("kind", kKinds) == 1);
  CHECK(reader.choice("sort", kKinds, 2) == 2);
  CHECK(reader.maybe_number("x") == 0.5);
  CHECK(reader.maybe_number("z") == std::nullopt);
  CHECK(reader.maybe_integer("n") == 3600);
  CHECK(reader.maybe_text("name") == "k80");
  CHECK(reader.maybe_text("title") == std::nullopt);
  CHECK(reader.list("sizes").size() == 2);
  CHECK(reader.list("lists").empty());
  CHECK(reader.has("o"));
  CHECK_FALSE(reader.has("p"));
  CHECK(reader.child("o")->is_object());
  reader.finish();
  CHECK(messages(mistakes).empty());
}

TEST_CASE("all mistakes of an object are reported at once, with harmless values in their place") {
  const JsonDocument document = parse_json(R"({
  "deadline_s": "3600", "count": 2.5, "nodes": -2,
  "share": 1.5, "on": 1, "name": 7, "kind": "gpus", "sort": [],
  "sizes": {}, "nods": 3, "empty": "", "big": 9007199254740993
})",
                                           "a.json");
  Mistakes mistakes;
  ObjectReader reader(document.root(), mistakes);
  CHECK(reader.integer("deadline_s", above(0)) == 1);
  CHECK(reader.integer("count") == 0);
  CHECK(reader.integer("nodes", at_least(1)) == 1);
  CHECK(reader.number("share", between(0, 1)) == 0);
  CHECK_FALSE(reader.boolean("on"));
  CHECK(reader.text("name").empty());
  CHECK(reader.choice("kind", kKinds) == 0);
  CHECK(reader.choice("sort", kKinds) == 0);
  CHECK(reader.list("sizes").empty());
  CHECK(reader.text("empty", "x").empty());
  CHECK(reader.integer("big") == 0);
  CHECK(reader.number("price_usd_per_hour", at_least(0)) == 0);
  CHECK_FALSE(reader.required("pools", "a list of pools"));
  reader.finish();
  CHECK(messages(mistakes) ==
        "a.json:2:17: /deadline_s: expected a whole number above 0, found \"3600\"\n"
        "a.json:2:34: /count: expected a whole number, found 2.5\n"
        "a.json:2:48: /nodes: expected a whole number of at least 1, found -2\n"
        "a.json:3:12: /share: expected a number from 0 to 1, found 1.5\n"
        "a.json:3:23: /on: expected true or false, found 1\n"
        "a.json:3:34: /name: expected a text in double quotes, found 7\n"
        "a.json:3:45: /kind: expected one of \"gpu\", \"cpu\", \"knl\", found \"gpus\"; did you mean \"gpu\"?\n"
        "a.json:3:61: /sort: expected one of \"gpu\", \"cpu\", \"knl\", found an empty list\n"
        "a.json:4:12: /sizes: expected a list, found an empty object\n"
        "a.json:4:36: /empty: expected a text that is not empty, found \"\"\n"
        "a.json:4:47: /big: expected a whole number between -2^53 and 2^53, found 9007199254740993\n"
        "a.json:1:1: expected a key \"price_usd_per_hour\" (a number of at least 0), found none\n"
        "a.json:1:1: expected a key \"pools\" (a list of pools), found none\n"
        "a.json:4:16: /nods: found unknown key \"nods\"; did you mean \"nodes\"?\n");
}

TEST_CASE("of a value that is no object, that alone is reported") {
  const JsonDocument document = parse_json(R"([ 5, [1] ])", "a.json");
  Mistakes mistakes;
  for (const JsonValue value : document.root().elements()) {
    ObjectReader reader(value, mistakes);
    reader.number("x");
    CHECK_FALSE(reader.required("y", "a list"));
    reader.finish();
  }
  CHECK(messages(mistakes) == "a.json:1:3: /0: expected an object, found 5\na.json:1:6: /1: expected an object, found a list\n");
}

TEST_CASE("mistakes beyond the limit are counted") {
  std::string text = "[\"x\"";
  for (int i = 1; i < 1000; ++i) text += ", \"x\"";
  const JsonDocument document = parse_json(text + "]", "a.json");
  Mistakes mistakes;
  for (const JsonValue value : read_list(document.root(), mistakes)) read_number(value, {}, mistakes);
  CHECK(mistakes.listed().size() == Mistakes::kMaxListed);
  CHECK(mistakes.size() == 1000);
}

TEST_CASE("ranges describe themselves and give a number of their own") {
  CHECK(NumberRange{}.describe() == "a number");
  CHECK(at_least(1).describe("a whole number") == "a whole number of at least 1");
  CHECK(above(0).describe() == "a number above 0");
  CHECK(between(0, 1).describe() == "a number from 0 to 1");
  CHECK(NumberRange{.high = 2.5, .high_excluded = true}.describe() == "a number below 2.5");
  CHECK(NumberRange{.low = 0, .high = 1, .low_excluded = true}.describe() == "a number above 0 and of at most 1");
  const NumberRange below{.high = -7, .high_excluded = true},
      inside{.low = 2, .high = 3, .low_excluded = true, .high_excluded = true};
  for (const NumberRange& range : {NumberRange{}, at_least(5), above(5), between(2, 3), between(-3, -2), below, inside})
    CHECK(range.contains(range.some()));
  CHECK_FALSE(NumberRange{}.contains(std::numeric_limits<double>::infinity()));
  CHECK_FALSE(NumberRange{}.contains(std::numeric_limits<double>::quiet_NaN()));
}
