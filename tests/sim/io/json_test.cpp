#include "sim/io/json.hpp"

#include <rapidcheck/catch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/io/file.hpp"
#include "tests/sim/io/temporary_file.hpp"

using namespace rehearse::sim;

namespace {

/// The message of the InputError that reading `text` throws; "fine" if it throws none.
std::string complaint(const std::string& text) {
  try {
    parse_json(text, "a.json");
    return "fine";
  } catch (const InputError& error) {
    return error.what();
  }
}

std::string file_complaint(const std::string& path) {
  try {
    read_json_file(path);
    return "fine";
  } catch (const InputError& error) {
    return error.what();
  }
}

JsonValue element(JsonValue list, int index) {
  auto at = list.elements().begin();
  while (index-- > 0) ++at;
  return *at;
}

JsonValue member(JsonValue object, std::string_view key) {
  for (const JsonMember& m : object.members())
    if (m.key.text() == key) return m.value;
  FAIL("no member " << key);
  return object;
}

const std::string kExample = R"({
  "name": "side by side", "seed": 7,
  "pools": [ { "nodes": 16, "spot": true }, { "nodes": 4, "spot": false } ],
  "note": "tab\t\"quoted\" \u00e9\uD83D\uDE00 \u0041", "nothing": null, "empty": [], "none": {},
  "rates": [ 0.5, -1.25e2, 0, -0, 1E3 ]
})";

}  // namespace

TEST_CASE("a document gives back what it holds") {
  const JsonDocument document = parse_json(kExample, "a.json");
  const JsonValue root = document.root();
  REQUIRE(root.is_object());
  CHECK(root.size() == 8);
  CHECK(member(root, "name").text() == "side by side");
  CHECK(member(root, "seed").number() == 7);
  CHECK(member(root, "pools").size() == 2);
  CHECK(member(element(member(root, "pools"), 0), "spot").boolean());
  CHECK(member(element(member(root, "pools"), 1), "nodes").number() == 4);
  CHECK_FALSE(member(element(member(root, "pools"), 1), "spot").boolean());
  CHECK(member(root, "note").text() == "tab\t\"quoted\" \xC3\xA9\xF0\x9F\x98\x80 A");
  CHECK(member(root, "nothing").is_null());
  CHECK(member(root, "empty").elements().empty());
  CHECK(member(root, "none").members().empty());
  CHECK(member(root, "seed").elements().empty());
  std::vector<double> rates;
  for (const JsonValue rate : member(root, "rates").elements()) rates.push_back(rate.number());
  CHECK(rates == std::vector<double>{0.5, -125, 0, 0, 1000});
  CHECK_THROWS_AS(root.number(), CheckFailed);
}

TEST_CASE("every value knows its place") {
  //                  column: 1234567890123456789012345678901
  const std::string text = "{\"a\" : [1 , {\"b/~\": \"\xC3\xA9\\n\" } ,\n  22,[ ] , true ],\n\t\"z\":{ }}";
  const JsonDocument document = parse_json(text, "a.json");
  const JsonValue list = member(document.root(), "a");
  const auto place = [](JsonValue value) { return to_string(value.mistake("x")); };
  CHECK(place(document.root()) == "a.json:1:1: expected x, found an object");
  CHECK(place(list) == "a.json:1:8: /a: expected x, found a list");
  CHECK(place(element(list, 0)) == "a.json:1:9: /a/0: expected x, found 1");
  CHECK(place(element(list, 1)) == "a.json:1:13: /a/1: expected x, found an object");
  CHECK(place(member(element(list, 1), "b/~")) == "a.json:1:21: /a/1/b~1~0: expected x, found \"\xC3\xA9\\x0A\"");
  CHECK(place(element(list, 2)) == "a.json:2:3: /a/2: expected x, found 22");
  CHECK(place(element(list, 3)) == "a.json:2:6: /a/3: expected x, found an empty list");
  CHECK(place(element(list, 4)) == "a.json:2:12: /a/4: expected x, found true");
  CHECK(place(member(document.root(), "z")) == "a.json:3:6: /z: expected x, found an empty object");
  CHECK(place((*++document.root().members().begin()).key) == "a.json:3:2: /z: expected x, found \"z\"");
}

TEST_CASE("columns count characters and leave out the byte-order mark") {
  const JsonDocument document = parse_json("\xEF\xBB\xBF[\"\xC3\xA9\xF0\x9F\x98\x80\", 5]", "a.json");
  CHECK(to_string(element(document.root(), 0).mistake("x")) == "a.json:1:2: /0: expected x, found \"\xC3\xA9\xF0\x9F\x98\x80\"");
  CHECK(to_string(element(document.root(), 1).mistake("x")) ==
        "a.json:1:8: /1: expected x, found 5");  // [ " e-acute face " , blank
}

TEST_CASE("long and dangerous texts are cut and escaped in messages") {
  const JsonDocument document =
      parse_json("[\"" + std::string(1000, 'x') + "\", \"\\u001b[2J\", " + std::string(60, '1') + "]", "a.json");
  CHECK(element(document.root(), 0).found() == '"' + std::string(40, 'x') + "...\"");
  CHECK(element(document.root(), 1).found() == "\"\\x1B[2J\"");
  CHECK(element(document.root(), 2).found() == std::string(40, '1') + "...");
}

TEST_CASE("what is not JSON is refused with its place") {
  CHECK(complaint("") == "a.json:1:1: expected a value, found an empty file");
  CHECK(complaint(" \n ") == "a.json:2:2: expected a value, found an empty file");
  CHECK(complaint("\xEF\xBB\xBF") == "a.json:1:1: expected a value, found an empty file");
  CHECK(complaint("{\"a\": 1") == "a.json:1:8: expected \",\" or \"}\", found the end of the file");
  CHECK(complaint("{\"a\"") == "a.json:1:5: expected \":\", found the end of the file");
  CHECK(complaint("{\"a\": ") == "a.json:1:7: expected a value, found the end of the file");
  CHECK(complaint("{\"a\": 1,\n}") == "a.json:2:1: expected a key in double quotes, found \"}\"");
  CHECK(complaint("{\"a\" 1}") == "a.json:1:6: expected \":\", found \"1\"");
  CHECK(complaint("{a: 1}") == "a.json:1:2: expected a key in double quotes, found \"a\"");
  CHECK(complaint("[1,,2]") == "a.json:1:4: expected a value, found \",\"");
  CHECK(complaint("[1 2]") == "a.json:1:4: expected \",\" or \"]\", found \"2\"");
  CHECK(complaint("[01]") == "a.json:1:3: expected \",\" or \"]\", found \"1\"");
  CHECK(complaint("[1] x") == "a.json:1:5: expected nothing after the document's one value, found \"x\"");
  CHECK(complaint("{} {}") == "a.json:1:4: expected nothing after the document's one value, found \"{\"");
  CHECK(complaint("[NaN]") == "a.json:1:2: expected a value, found \"NaN\"");
  CHECK(complaint("[1, -Infinity]") == "a.json:1:5: expected a value, found \"-Infinity\"");
  CHECK(complaint("[1.]") == "a.json:1:2: expected a value, found \"1.\"");
  CHECK(complaint("[1, // one\n2]") == "a.json:1:5: expected a value, found \"//\"");
  CHECK(complaint("\n[\"ab\xFF\"]") == "a.json:2:5: expected a valid string, found ill-formed UTF-8 byte");
  CHECK(complaint("[\"a\nb\"]").starts_with("a.json:1:4: expected a valid string, found control character U+000A"));
  CHECK(complaint("[1, \"abc]\n").starts_with("a.json:1:10: expected a valid string, found control character U+000A"));
  CHECK(complaint("[1, \"abc]") ==
        "a.json:1:5: expected a closing quote, found the end of the file in a string that starts here");
  CHECK(complaint(std::string("[1]\0[2]", 7)) == "a.json:1:4: expected nothing after the document's one value, found \"\\x00\"");
  CHECK(complaint(std::string("[1,\0]", 5)) == "a.json:1:4: expected a value, found \"\\x00\"");
}

TEST_CASE("numbers beyond a double are refused, tiny ones are zero") {
  CHECK(complaint("[1, 1e400]") == "a.json:1:5: expected a number within the range of a double, found \"1e400\"");
  CHECK(complaint("-1e400") == "a.json:1:1: expected a number within the range of a double, found \"-1e400\"");
  CHECK(parse_json("1e-400", "a.json").root().number() == 0);
  CHECK(parse_json("123456789012345678901234567890", "a.json").root().number() == 123456789012345678901234567890.0);
}

TEST_CASE("each duplicate key is a mistake that names both lines") {
  CHECK(complaint("{\"a\": 1,\n \"b\": {\"c\": 1, \"c\": 2},\n \"\\u0061\": 3, \"a\": 4}") ==
        "a.json:2:16: /b/c: expected each key once, found \"c\" again (first on line 2)\n"
        "a.json:3:2: /a: expected each key once, found \"a\" again (first on line 1)\n"
        "a.json:3:15: /a: expected each key once, found \"a\" again (first on line 1)");
  CHECK(complaint("[{\"a\": 1}, {\"a\": 2}]") == "fine");
  // Within objects and lists that have not ended.
  CHECK(complaint("{\"x\": {\"y\": 1}, \"jobs\": [3, {\"a\": [0], \"b\": 2, \"b\": 2}]}") ==
        "a.json:1:48: /jobs/1/b: expected each key once, found \"b\" again (first on line 1)");
}

TEST_CASE("nesting ends at 100 levels, however deep the text goes on") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(complaint(nested(100)) == "fine");
  const std::string refused = "a.json:1:101: expected at most 100 levels of nesting, found one more";
  CHECK(complaint(nested(101)) == refused);
  CHECK(complaint(nested(200)) == refused);
  CHECK(complaint(std::string(200'000, '[')) == refused);
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += "{\"a\":";
  CHECK(complaint(objects) ==
        "a.json:1:501: expected at most 100 levels of nesting, found one more");  // 100 times 5 characters before
}

TEST_CASE("a file that is not there is looked for one folder away, and by its name") {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "rehearse_test_XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  fs::create_directory(folder + "/staged");
  std::ofstream(folder + "/staged/thesis.json") << "{}";
  std::ofstream(folder + "/peers.json") << "{}";
  const std::string none = ": expected a readable file, found no such file";
  CHECK(file_complaint(folder + "/thesis.json") ==
        folder + "/thesis.json" + none + "; did you mean \"" + folder + "/staged/thesis.json\"?");
  CHECK(file_complaint(folder + "/staged/peers.json") ==
        folder + "/staged/peers.json" + none + "; did you mean \"" + folder + "/peers.json\"?");
  CHECK(file_complaint(folder + "/peer.json") == folder + "/peer.json" + none + "; did you mean \"" + folder + "/peers.json\"?");
  CHECK(file_complaint(folder + "/quite-another-name.json") == folder + "/quite-another-name.json" + none);
  fs::remove_all(folder);
}

TEST_CASE("a folder with a pipe, or a link to a device, at any depth is refused; a link to nothing is not") {
  namespace fs = std::filesystem;
  const std::string folder = fs::temp_directory_path() / ("rehearse_pipes_" + std::to_string(::getpid()));
  fs::create_directories(folder + "/deep");
  fs::create_symlink("nothing", folder + "/dangling");
  CHECK_NOTHROW(refuse_pipes_in(folder));
  CHECK_NOTHROW(refuse_pipes_in(folder + "/none"));
  CHECK_NOTHROW(refuse_pipes_in("/dev/null"));
  fs::create_symlink("/dev/zero", folder + "/deep/zeros");
  const std::string found = ": expected a regular file, found a pipe, a device or a socket";
  CHECK_THROWS_WITH(refuse_pipes_in(folder), folder + "/deep/zeros" + found);
  fs::remove(folder + "/deep/zeros");
  REQUIRE(::mkfifo((folder + "/pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(refuse_pipes_in(folder), folder + "/pipe" + found);
  fs::remove_all(folder);
}

TEST_CASE("a link in a folder that is written into is refused at any depth, and paths that lead out of a folder are known") {
  namespace fs = std::filesystem;
  const std::string folder = fs::temp_directory_path() / ("rehearse_links_" + std::to_string(::getpid()));
  fs::create_directories(folder + "/deep");
  std::ofstream(folder + "/deep/file") << "x";
  CHECK_NOTHROW(refuse_links_in(folder));
  CHECK_NOTHROW(refuse_links_in(folder + "/none"));
  fs::create_directory_symlink("..", folder + "/deep/up");
  CHECK_THROWS_WITH(refuse_links_in(folder),
                    folder + "/deep/up: expected a file or folder of its own, found a link to elsewhere");
  fs::remove_all(folder);

  for (const char* path : {"a", "a/b", "a/../b", "..a", ".hidden"}) CHECK_FALSE(leads_out(path));
  for (const char* path : {"", ".", "..", "/a", "../a", "a/../../b", "a/", "a/.."}) CHECK(leads_out(path));
  CHECK(leads_out(std::string("a\0b", 3)));
}

TEST_CASE("files that cannot be read are refused") {
  const TemporaryFile empty(""), good("\xEF\xBB\xBF{\"a\": [1]}\r\n");
  CHECK(file_complaint("/no/such/file.json") == "/no/such/file.json: expected a readable file, found no such file");
  CHECK(file_complaint("/tmp") == "/tmp: expected a readable file, found a directory");
  CHECK(file_complaint(std::string("/tmp\0x", 6)) == "/tmp\\x00x: expected a file's name, found a name with a NUL character");
  CHECK(file_complaint("") == "\"\": expected a readable file, found no such file");
  // It can be opened, but reading at address 0 fails, for the administrator too.
  CHECK(file_complaint("/proc/self/mem") == "/proc/self/mem: expected a readable file, found an error: Input/output error");
  CHECK(file_complaint(empty.path()) == empty.path() + ":1:1: expected a value, found an empty file");
  CHECK(file_complaint("/dev/null") == "/dev/null:1:1: expected a value, found an empty file");
  CHECK(file_complaint(good.path()) == "fine");
}

TEST_CASE("a text cut at any byte, or with any byte changed, is read or refused") {
  for (std::size_t length = 0; length < kExample.size(); ++length) CHECK(complaint(kExample.substr(0, length)) != "fine");
  rc::prop("changed", [] {
    std::string text = kExample;
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i)
      text[*rc::gen::inRange<std::size_t>(0, text.size())] =
          *rc::gen::element('"', '\\', '{', ']', ',', ':', '\0', '\xFF', '\xEF', 'e', '9', '\n');
    RC_ASSERT(!complaint(text).empty());
  });
  rc::prop("any bytes", [](const std::string& text) { RC_ASSERT(!complaint(text).empty()); });
}

TEST_CASE("set replaces and adds values") {
  JsonDocument document = parse_json(R"({"seed": 1, "jobs": [{"trace": "a.csv"}, 2], "end": "\u0041"})", "a.json");
  document.set("/seed", "7");
  document.set("/jobs/0/trace", "b.csv");
  document.set("/jobs/0/options", R"({"deep": ["\u00e9", {}]})");
  document.set("/jobs/0/options/deep/1/more", "12 monkeys");
  document.set("/jobs/-", "[]");
  document.set("/jobs/3", "\"3\"");
  document.set("/jobs/1", "{\"x\": 1}");
  document.set("/world/deep/er", "0.5");  // neither exists
  document.set("/a~1b~0", "null");
  CHECK(document.dump() == R"({
  "seed": 7,
  "jobs": [
    {
      "trace": "b.csv",
      "options": {
        "deep": [
          "é",
          {
            "more": "12 monkeys"
          }
        ]
      }
    },
    {
      "x": 1
    },
    [],
    "3"
  ],
  "end": "A",
  "world": {
    "deep": {
      "er": 0.5
    }
  },
  "a/b~": null
}
)");
  const JsonValue first = element(member(document.root(), "jobs"), 0);
  CHECK(to_string(member(first, "trace").mistake("x")) == "--set: /jobs/0/trace: expected x, found \"b.csv\"");
  CHECK(to_string(member(first, "options").mistake("x")) == "--set: /jobs/0/options: expected x, found an object");
  CHECK(to_string(member(document.root(), "end").mistake("x")) == "a.json:1:53: /end: expected x, found \"A\"");
  CHECK(document.file() == "a.json");
}

TEST_CASE("set refuses places that cannot be reached and changes nothing") {
  JsonDocument document = parse_json(R"({"jobs": [{"trace": "a"}, {}], "cluster": {"pools": []}})", "a.json");
  const std::string before = document.dump();
  const auto refused = [&document](std::string_view pointer) -> std::string {
    try {
      document.set(pointer, "1");
      return "fine";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  CHECK(refused("/job/0/trace") == "--set: /job/0/trace: expected a key of the document, found \"job\"; did you mean \"jobs\"?");
  CHECK(refused("/cluster/pool/0") ==
        "--set: /cluster/pool/0: expected a key of /cluster, found \"pool\"; did you mean \"pools\"?");
  CHECK(refused("/jobs/5/trace") == "--set: /jobs/5/trace: expected an index from 0 to 1 in /jobs, found \"5\"");
  CHECK(refused("/jobs/01") == "--set: /jobs/01: expected an index from 0 to 1 in /jobs, found \"01\"");
  CHECK(refused("/jobs/-/x") == "--set: /jobs/-/x: expected an index from 0 to 1 in /jobs, found \"-\"");
  CHECK(refused("/cluster/pools/0/x") ==
        "--set: /cluster/pools/0/x: expected an element of /cluster/pools, which has none, found \"0\"");
  CHECK(refused("/jobs/0/trace/x") == "--set: /jobs/0/trace/x: expected /jobs/0/trace to be an object or a list, found \"a\"");
  CHECK(refused("jobs/0") ==
        "--set: jobs/0: expected a JSON pointer that starts with \"/\", found \"jobs/0\"; did you mean \"/jobs/0\"?");
  CHECK(refused("/\xFF").starts_with("--set: /\\xFF: expected a key"));
  CHECK_THROWS_AS(document.set("/x", "\xFF"), InputError);
  CHECK(document.dump() == before);
}

namespace {

/// A random value as a list of tokens, in the spelling that dump() uses.
void add_random_value(int depth, std::vector<std::string>& tokens) {
  const int kind = *rc::gen::inRange(0, depth > 0 ? 6 : 4);
  const auto size = kind < 4 ? 0 : *rc::gen::inRange(0, 4);
  switch (kind) {
    case 0:
      tokens.push_back(*rc::gen::element<std::string>("null", "true", "false"));
      break;
    case 1:
      tokens.push_back(*rc::gen::element<std::string>("0", "-1", "12.50", "1e3", "-0.25E-7", "9007199254740993"));
      break;
    case 2:
    case 3:
      tokens.push_back(*rc::gen::element<std::string>("\"\"", "\"a b,:[]{}\"", R"("\"\\\n\t\u0001")", "\"\xC3\xA9\""));
      break;
    case 4:
      tokens.push_back("[");
      for (int i = 0; i < size; ++i) {
        if (i > 0) tokens.push_back(",");
        add_random_value(depth - 1, tokens);
      }
      tokens.push_back("]");
      break;
    default:
      tokens.push_back("{");
      for (int i = 0; i < size; ++i) {
        if (i > 0) tokens.push_back(",");
        tokens.push_back("\"k" + std::to_string(i) + "\\n\"");
        tokens.push_back(":");
        add_random_value(depth - 1, tokens);
      }
      tokens.push_back("}");
  }
}

/// Without the blanks between tokens.
std::string squeezed(const std::string& text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\')
      out += text[i++];
    else if (text[i] == '"')
      quoted = !quoted;
    if (quoted || (text[i] != ' ' && text[i] != '\n')) out += text[i];
  }
  return out;
}

}  // namespace

TEST_CASE("dump gives back what was read, token by token") {
  rc::prop("round trip", [] {
    std::vector<std::string> tokens;
    add_random_value(4, tokens);
    std::string compact, spaced;
    for (const std::string& token : tokens) {
      compact += token;
      spaced += *rc::gen::element<std::string>("", " ", "\r\n", "\t ") + token;
    }
    const std::string dumped = parse_json(spaced, "a.json").dump();
    RC_ASSERT(squeezed(dumped) == compact);
    RC_ASSERT(parse_json(dumped, "b.json").dump() == dumped);
  });
}

TEST_CASE("set at any existing place equals reading the changed text") {
  rc::prop("set", [] {
    // Three random values as members; the middle one is replaced by a fourth.
    std::vector<std::string> parts(4);
    for (std::string& part : parts) {
      std::vector<std::string> tokens;
      add_random_value(3, tokens);
      for (const std::string& token : tokens) part += token;
    }
    const auto text = [&](const std::string& middle) {
      return "{\"a\":[" + parts[0] + "],\"b\":[1," + middle + "],\"c\":" + parts[2] + "}";
    };
    JsonDocument document = parse_json(text(parts[1]), "a.json");
    document.set("/b/1", parts[3]);
    RC_ASSERT(squeezed(document.dump()) == text(parts[3]));
    document.set("/b/-", parts[0]);
    RC_ASSERT(squeezed(document.dump()) == text(parts[3] + "," + parts[0]));
    document.set("/b/1", parts[1]);
    RC_ASSERT(squeezed(document.dump()) == text(parts[1] + "," + parts[0]));
    RC_ASSERT(element(member(document.root(), "b"), 2).pointer() == "/b/2");
    RC_ASSERT(member(document.root(), "c").pointer() == "/c");
  });
}
