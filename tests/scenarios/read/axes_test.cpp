#include "scenarios/read/axes.hpp"

#include <catch2/catch.hpp>

#include "tests/scenarios/mistakes.hpp"

namespace {

using rehearse::scenarios::read_axes;
using rehearse::scenarios::SweepAxis;
using rehearse::sim::Mistakes;

std::vector<SweepAxis> axes_of(const std::string& text, std::string* said = nullptr) {
  const auto document = rehearse::sim::parse_json(quoted(text), "s.json");
  Mistakes mistakes;
  std::vector<SweepAxis> axes = read_axes(document.root(), mistakes);
  std::string lines;
  for (const auto& mistake : mistakes.listed()) lines += (lines.empty() ? "" : "\n") + to_string(mistake);
  if (said == nullptr) CHECK(lines == "");
  if (said != nullptr) *said = lines;
  return axes;
}

std::string said_of(const std::string& text) {
  std::string said;
  axes_of(text, &said);
  return said;
}

std::vector<std::string> values_of(const std::string& range) {
  const auto axes = axes_of("{'seed': {'sweep': " + range + "}}");
  return axes.size() == 1 ? axes[0].values : std::vector<std::string>();
}

using Texts = std::vector<std::string>;

TEST_CASE("sweeps are found anywhere, in the document's order") {
  const auto axes = axes_of(R"({'jobs': [{'gpus': 1}, {'deadline_s': {'sweep': [10, 2.50]}}],
    'seed': {'sweep': [1]}, 'manual': {'by_model': {'a/b~c': {'batch_size': {'sweep': [8]}}}},
    'policies': [{'sweep': ['manual', {'name': 'x', 'queue': 'sjf'}]}]})");
  REQUIRE(axes.size() == 4);
  CHECK(axes[0].pointer == "/jobs/1/deadline_s");
  CHECK(axes[0].values == Texts{"10", "2.50"});
  CHECK(axes[1].pointer == "/seed");
  CHECK(axes[2].pointer == "/manual/by_model/a~1b~0c/batch_size");
  CHECK(axes[3].pointer == "/policies/0");
  CHECK(axes[3].values == Texts{"\"manual\"", quoted("{'name': 'x', 'queue': 'sjf'}")});
}

TEST_CASE("ranges by equal differences and by equal factors") {
  CHECK(values_of("{'from': 1, 'to': 4, 'steps': 4}") == Texts{"1", "2", "3", "4"});
  // 10 + (0 - 10) i/4
  CHECK(values_of("{'from': 10, 'to': 0, 'steps': 5, 'scale': 'linear'}") == Texts{"10", "7.5", "5", "2.5", "0"});
  // 0.1 + 0.2 i/2: the middle is 0.2, whatever 0.1 and 0.3 are in binary
  CHECK(values_of("{'from': 0.1, 'to': 0.3, 'steps': 3}").size() == 3);
  // 1 x 64^(i/6) = 2^i, whole although 64^(1/6) is 1.9999999999999998
  CHECK(values_of("{'from': 1, 'to': 64, 'steps': 7, 'scale': 'log'}") == Texts{"1", "2", "4", "8", "16", "32", "64"});
  CHECK(values_of("{'from': 3, 'to': 3, 'steps': 1}") == Texts{"3"});
  CHECK(values_of("{'from': 1e-3, 'to': 1e3, 'steps': 3, 'scale': 'log'}") == Texts{"0.001", "1", "1000"});
  // to / from = 1e600 is beyond a double: sqrt(1e-300 x 1e300) = 1; (-1e308 + 1e308) / 2 = 0
  CHECK(values_of("{'from': 1e-300, 'to': 1e300, 'steps': 3, 'scale': 'log'}") == Texts{"1e-300", "1", "1e+300"});
  CHECK(values_of("{'from': 1e300, 'to': 1e-300, 'steps': 3, 'scale': 'log'}") == Texts{"1e+300", "1", "1e-300"});
  CHECK(values_of("{'from': -1e308, 'to': 1e308, 'steps': 3}") == Texts{"-1e+308", "0", "1e+308"});
}

TEST_CASE("mistakes in sweeps, each told where it stands") {
  const std::string one = "s.json:1:21: /seed/sweep", whole = "s.json:1:10: /seed";
  CHECK(said_of("{'seed': {'sweep': []}}") == "s.json:1:20: /seed/sweep: expected at least one value, found an empty list");
  CHECK(said_of("{'seed': {'sweep': 3}}") ==
        "s.json:1:20: /seed/sweep: expected a list of values, or an object with from, to and steps, found 3");
  CHECK(said_of("{'seed': {'sweep': [1, 2, 1]}}") == "s.json:1:27: /seed/sweep/2: expected each value once, found 1 again");
  CHECK(said_of("{'seed': {'sweep': [1], 'scale': 'log'}}") ==
        "s.json:1:10: /seed: expected no other key beside \"sweep\", found an object");
  CHECK(said_of("{'seed': {'sweep': [{'sweep': [1]}]}}") == one + "/0: expected a value without a sweep in it, found an object");
  CHECK(said_of("{'jobs': {'sweep': [[{'gpus': {'sweep': [1]}}]]}}") ==
        "s.json:1:31: /jobs/sweep/0/0/gpus: expected a value without a sweep in it, found an object");
  const auto range = [](const std::string& text) { return said_of("{'seed': {'sweep': " + text + "}}"); };
  const std::string at = "s.json:1:20: /seed/sweep";
  CHECK(range("{'from': 1, 'to': 2}") == at + ": expected a key \"steps\" (a whole number from 1 to 1000000), found none");
  CHECK(range("{'from': 1, 'to': 2, 'steps': 0}") ==
        "s.json:1:50: /seed/sweep/steps: expected a whole number from 1 to 1000000, found 0");
  CHECK(range("{'from': 1, 'to': 2, 'steps': 1}") ==
        at + ": expected from and to to be equal for one step, and to differ for more, found from 1 and to 2 with 1 step");
  CHECK(range("{'from': 2, 'to': 2, 'steps': 3}") ==
        at + ": expected from and to to be equal for one step, and to differ for more, found from and to 2 with 3 steps");
  CHECK(range("{'from': 0, 'to': 2, 'steps': 3, 'scale': 'log'}") ==
        "s.json:1:29: /seed/sweep/from: expected a number above 0 for a log scale, found 0");
  CHECK(range("{'from': 1, 'to': -2, 'steps': 3, 'scale': 'log'}") ==
        "s.json:1:38: /seed/sweep/to: expected a number above 0 for a log scale, found -2");
  CHECK(range("{'from': 1, 'to': 2, 'steps': 3, 'scale': 'cubic'}").find("one of \"linear\", \"log\"") != std::string::npos);
  CHECK(range("{'from': 1, 'to': 2, 'steps': 3, 'by': 1}").find("unknown key \"by\"") != std::string::npos);
  CHECK(range("{'from': 1, 'to': 1.0000000001, 'steps': 9}") ==
        at + ": expected values that differ: fewer steps, found an object");
}

TEST_CASE("what no run depends on cannot be swept") {
  for (const std::string key : {"$schema", "name", "description", "baseline", "repetitions", "output"})
    CHECK(said_of("{'" + key + "': {'sweep': ['a', 'b']}}").find("expected one value: no run depends on " + key) !=
          std::string::npos);
  CHECK(said_of("{'output': {'events': {'sweep': ['all']}}}") != "");
  CHECK(said_of("{'policies': [{'name': {'sweep': ['a']}}]}").find("expected one name for each policy") != std::string::npos);
  CHECK(said_of("{'policies': [{'name': 'a', 'queue': {'name': {'sweep': ['fifo']}}}]}") == "");
  CHECK(said_of("{'sweep': [{}]}") != "");
}

TEST_CASE("a name that happens to be sweep is left to the loader") {
  CHECK(axes_of("{'weights': {'alice': 1, 'sweep': 2}, 'name': 'sweep', 'jobs': ['sweep']}").empty());
}

}  // namespace
