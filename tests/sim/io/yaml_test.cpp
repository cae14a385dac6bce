// YAML stands for JSON: the same document, mistakes on the lines of the file, and nothing that hostile text can do.
#include "sim/io/yaml.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/io/object_reader.hpp"
#include "tests/sim/io/temporary_file.hpp"

using namespace rehearse::sim;
using Catch::Contains;

namespace {

std::string as_json(const std::string& yaml) { return parse_yaml(yaml, "a.yaml").root().json(); }

}  // namespace

TEST_CASE("maps, lists and scalars of YAML as JSON") {
  CHECK(as_json("a: 1\nb: [x, 'y', \"z\"]\nc:\n  - d: true\n    e: ~\n  - 2.5\n") ==
        R"({"a": 1, "b": ["x", "y", "z"], "c": [{"d": true, "e": null}, 2.5]})");
  CHECK(as_json("# nothing but a comment\n") == "null");
  CHECK(as_json("") == "null");
  CHECK(as_json("--- {}\n...\n") == "{}");
  // Numbers as the core schema has them; what only looks like one is a text, as are words that YAML 1.1 took for truths.
  CHECK(as_json("[+5, .5, 5., 1e3, -0.25]") == "[5, 0.5, 5, 1000, -0.25]");
  CHECK(as_json("[1_000, 2026-03, 1:30, no, on, 0x10, .inf, nan, '7']") ==
        R"(["1_000", "2026-03", "1:30", "no", "on", "0x10", ".inf", "nan", "7"])");
  CHECK(as_json("a: |\n  two\n  lines\nb: >\n  one\n  line\n") == R"({"a": "two\nlines\n", "b": "one line\n"})");
}

TEST_CASE("a mistake in a YAML file has its line and pointer, and no column") {
  const JsonDocument document = parse_yaml("# an account\ninstances:\n  p4d.24xlarge:\n\n    nodes: many\n", "a.yaml");
  Mistakes mistakes;
  ObjectReader in(document.root(), mistakes);
  ObjectReader one(*ObjectReader(*in.child("instances"), mistakes).child("p4d.24xlarge"), mistakes);
  one.integer("nodes");
  CHECK_THROWS_WITH(mistakes.throw_if_any(),
                    Catch::StartsWith("a.yaml:5: /instances/p4d.24xlarge/nodes: expected ") && Contains("found \"many\""));
}

TEST_CASE("what is no YAML, and what of YAML is not read, is refused by its line") {
  const auto refused = [](const std::string& text) {
    try {
      parse_yaml(text, "a.yaml");
      return std::string("fine");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  CHECK_THAT(refused("a: 1\nb: [1, 2\n"), Catch::StartsWith("a.yaml:3: expected YAML, found "));
  CHECK_THAT(refused("a: 1\nb:\tc: 2\n"), Catch::StartsWith("a.yaml:2: "));
  CHECK(refused("a: &x 1\nb: *x\n") == "a.yaml:1: expected no anchors, found &x");
  CHECK(refused("b: *x\n") == "a.yaml:1: expected no aliases, found *x");
  CHECK(refused("a: !!python/object 1\n") == "a.yaml:1: expected no tags, found tag:yaml.org,2002:python/object");
  CHECK(refused("a: 1\n---\nb: 2\n") == "a.yaml:2: expected one document, found another one");
  CHECK(refused("? [1, 2]\n: 3\n") == "a.yaml:1: expected a text as a key, found a list");
  CHECK_THAT(refused("a: 1\na: 2\n"), Catch::StartsWith("a.yaml:2: ") && Contains("\"a\""));
  CHECK_THAT(refused(std::string(200, '[')), Contains("at most 100 levels"));
  CHECK_THAT(refused("a: \xff\n"), Catch::StartsWith("a.yaml:1: expected YAML"));
  CHECK_THAT(refused(std::string("a: \0b\n", 6)), Catch::StartsWith("a.yaml:1: expected YAML"));
}

TEST_CASE("any bytes are read as YAML or refused") {
  const std::string good = "instances:\n  a: {nodes: 2, price: 0.5}\n  'b': [x, \"y\", ~]\nc: |\n  d\n";
  rc::check("mutated YAML", [&] {
    std::string text = good;
    const auto edits = *rc::gen::inRange<int>(1, 6);
    for (int i = 0; i < edits; ++i) {
      const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
      const std::string piece = *rc::gen::element<std::string>("&", "*", "!", "[", "]", "{", "}", ":", "- ", "\n", "\t", "'",
                                                               "\"", "\xc3", "\x01", "? ", "| ", "%", "--- ", "#", "  ");
      text.replace(at, *rc::gen::inRange<std::size_t>(0, 3), piece);
    }
    try {
      const JsonDocument document = parse_yaml(text, "a.yaml");
      RC_ASSERT(parse_json(document.root().json(), "b.json").root().json() == document.root().json());
    } catch (const InputError& error) {
      RC_ASSERT(!std::string(error.what()).empty());
    }
  });
}

TEST_CASE("a document is YAML by its file's ending") {
  for (const std::string ending : {".yaml", ".yml"}) {
    const TemporaryFile file("a: [1]\n", ending);
    CHECK(read_document(file.path()).root().json() == R"({"a": [1]})");
  }
  const TemporaryFile json("a: [1]\n", ".json");
  CHECK_THROWS_AS(read_document(json.path()), InputError);
}
