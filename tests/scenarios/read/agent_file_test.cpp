#include "scenarios/read/agent_file.hpp"

#include <rapidcheck/catch.h>

#include <Eigen/Core>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

#include "sim/base/errors.hpp"
#include "sim/base/random.hpp"
#include "sim/io/file.hpp"
#include "sim/io/seal.hpp"
#include "tests/scenarios/loading.hpp"
#include "tests/scenarios/temporary_folder.hpp"

using namespace rehearse;
using namespace rehearse::policies;
using namespace rehearse::scenarios;

namespace {

const NetworkState kState{
    .origin = {.kind = "staged-rl", .seed = 7, .command = "rehearse train \"s.json\""},
    .matrices = {{{"actor/weight", {2, 3}}, {1, -2, 0.5, 1e-300, 0.1, 3}}, {{"actor/bias", {1, 3}}, {0, 0, 4}}}};
const NetworkBlueprint kBlueprint{.kind = "staged-rl", .matrices = {kState.matrices[0].is, kState.matrices[1].is}};

std::string complaints_about_agent(const std::string& text) {
  try {
    parse_agent(text, "a.json", kBlueprint);
    return "";
  } catch (const sim::InputError& error) {
    return error.what();
  }
}

std::vector<std::uint64_t> bits(const NetworkState& state) {
  std::vector<std::uint64_t> all;
  for (const NamedMatrix& m : state.matrices)
    for (const double x : m.numbers) all.push_back(std::bit_cast<std::uint64_t>(x));
  return all;
}

}  // namespace

TEST_CASE("an agent's file as it is written") {
  CHECK(agent_text(kState) == R"({
  "rehearse_network": 1,
  "kind": "staged-rl",
  "seed": 7,
  "command": "rehearse train \"s.json\"",
  "version": "0.1.0",
  "parameters": [
    {"name": "actor/weight", "shape": [2, 3], "numbers": [1, -2, 0.5, 1e-300, 0.1, 3]},
    {"name": "actor/bias", "shape": [1, 3], "numbers": [0, 0, 4]}
  ]
})");
}

TEST_CASE("an agent's file reads back to the same bits") {
  rc::prop("parse_agent after agent_text", [] {
    sim::Random random(*rc::gen::arbitrary<std::uint64_t>());
    NetworkState state{.origin = {.kind = "k", .seed = random.below(std::uint64_t{1} << 53), .command = "c\t\"\\\n\u00e9"}};
    NetworkBlueprint expected{.kind = "k"};
    const auto matrices = *rc::gen::inRange(1, 4);
    for (int i = 0; i < matrices; ++i) {
      const Shape shape{*rc::gen::inRange(1, 4), *rc::gen::inRange(1, 9)};
      NamedMatrix matrix{.is = {"m" + std::to_string(i), shape}};
      while (static_cast<Eigen::Index>(matrix.numbers.size()) < shape.rows * shape.columns) {
        const auto x = std::bit_cast<double>(random.next());  // every exponent, also of subnormal numbers
        if (std::isfinite(x)) matrix.numbers.push_back(random.below(4) == 0 ? std::trunc(random.uniform(-1e17, 1e17)) : x);
      }
      expected.matrices.push_back(matrix.is);
      state.matrices.push_back(std::move(matrix));
    }
    const NetworkState again = parse_agent(agent_text(state), "a.json", expected);
    RC_ASSERT(again == state);
    RC_ASSERT(bits(again) == bits(state));
  });
  using Limits = std::numeric_limits<double>;
  NetworkState ends = kState;
  ends.matrices[0].numbers = {-0.0, Limits::max(), -Limits::denorm_min(), Limits::min(), 1e16, -9007199254740993.0};
  CHECK(bits(parse_agent(agent_text(ends), "a.json", kBlueprint)) == bits(ends));
}

TEST_CASE("an agent's file names the version that trained it; without one it was the first") {
  NetworkState later = kState;
  later.origin.version = "7.8.9";
  CHECK(parse_agent(agent_text(later), "a.json", kBlueprint).origin.version == "7.8.9");
  const std::string earlier = with(agent_text(later), "  \"version\": \"7.8.9\",\n", "");
  CHECK(parse_agent(earlier, "a.json", kBlueprint).origin.version == "0.1.0");
}

TEST_CASE("matrices in another order are put into the network's") {
  NetworkState swapped = kState;
  std::swap(swapped.matrices[0], swapped.matrices[1]);
  CHECK(parse_agent(agent_text(swapped), "a.json", kBlueprint) == kState);
}

TEST_CASE("agent files that are refused") {
  const std::string good = agent_text(kState);
  CHECK(complaints_about_agent(good) == "");
  const auto refused = [&](std::string_view what, std::string_view instead) {
    return complaints_about_agent(with(good, what, instead));
  };

  CHECK(refused("network\": 1", "network\": 2") ==
        "a.json:2:23: /rehearse_network: expected version 1, the one that this program reads, found 2");
  CHECK(refused("\"rehearse_network\": 1,", "") == "a.json:1:1: expected a key \"rehearse_network\" (a number), found none");
  CHECK(refused("\"staged-rl\"", "\"placement\"") ==
        "a.json:3:11: /kind: expected \"staged-rl\", the kind of network that is needed here, found \"placement\"");
  CHECK(refused("\"seed\": 7", "\"seed\": -1") == "a.json:4:11: /seed: expected a whole number of at least 0, found -1");
  CHECK(refused("\"command\"", "\"comand\"") ==
        "a.json:1:1: expected a key \"command\" (a text in double quotes), found none\n"
        "a.json:5:3: /comand: found unknown key \"comand\"; did you mean \"command\"?");
  CHECK(refused("actor/bias", "actor/bios") ==
        "a.json:9:14: /parameters/1/name: expected one of \"actor/weight\", \"actor/bias\", found \"actor/bios\"; did you mean "
        "\"actor/bias\"?");
  CHECK(refused("actor/bias", "actor/weight") ==
        "a.json:9:14: /parameters/1/name: expected each matrix once, found \"actor/weight\"");
  CHECK(refused("[2, 3]", "[3, 2]") ==
        "a.json:8:39: /parameters/0/shape: expected [2, 3], the shape in this network, found [3, 2]");
  CHECK(refused("[2, 3]", "[2, \"3\"]") ==
        "a.json:8:39: /parameters/0/shape: expected [2, 3], the shape in this network, found a list");
  CHECK(refused("[2, 3]", "6") == "a.json:8:39: /parameters/0/shape: expected [2, 3], the shape in this network, found 6");
  CHECK(refused(", 0.5", "") == "a.json:8:58: /parameters/0/numbers: expected 6 numbers (2 x 3), found a list of 5");
  CHECK(refused("0.5", "null") == "a.json:8:66: /parameters/0/numbers/2: expected a number, found null");
  CHECK(refused("0.5", "\"NaN\"") == "a.json:8:66: /parameters/0/numbers/2: expected a number, found \"NaN\"");
  CHECK(refused("[0, 0, 4]", "0") == "a.json:9:56: /parameters/1/numbers: expected a list, found 0");
  CHECK(refused(",\n    {\"name\": \"actor/bias\", \"shape\": [1, 3], \"numbers\": [0, 0, 4]}", "") ==
        "a.json:7:17: /parameters: expected the matrix \"actor/bias\" (1 x 3), found none of that name");
  // No number of JSON is NaN or infinite.
  for (const char* number : {"NaN", "nan", "Infinity", "-Infinity", "1e999", "-1e999", "0x1p3", "1,", ""}) {
    INFO(number);
    CHECK_THAT(refused("0.5", number), Catch::StartsWith("a.json:8:"));
  }
  CHECK_THAT(complaints_about_agent("[]"), Catch::StartsWith("a.json:1:1: expected an object"));
  CHECK_THROWS_AS(read_agent_file("/does/not/exist.json", kBlueprint), sim::InputError);
}

TEST_CASE("an agent's file that ends early, or holds a wrong byte, is refused or means the same") {
  const std::string good = agent_text(kState);
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO("cut to " << size << " bytes");
    CHECK_THAT(complaints_about_agent(good.substr(0, size)), Catch::StartsWith("a.json:"));
  }
  rc::prop("bytes replaced at random: an InputError or a whole network", [&] {
    std::string text = good;
    const auto wrong = *rc::gen::inRange(1, 5);
    for (int i = 0; i < wrong; ++i)
      text[*rc::gen::inRange<std::size_t>(0, text.size())] = static_cast<char>(*rc::gen::inRange(0, 256));
    try {
      const NetworkState state = parse_agent(text, "a.json", kBlueprint);
      RC_ASSERT(state.matrices.size() == 2u);
      for (std::size_t m = 0; m < 2; ++m) {
        RC_ASSERT(state.matrices[m].is == kState.matrices[m].is);
        RC_ASSERT(state.matrices[m].numbers.size() == kState.matrices[m].numbers.size());
        for (const double x : state.matrices[m].numbers) RC_ASSERT(std::isfinite(x));
      }
    } catch (const sim::InputError&) {
    }
  });
}

TEST_CASE("an agent's file is read as it was written; one without a sum, or without our lines, as it is") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/agent.json";
  write_agent_file(path, kState);
  const std::string text = sim::read_file(path, 1 << 20);
  CHECK(sim::unsealed(text, "", "") == agent_text(kState) + "\n");
  const std::size_t digit = text.find_first_of("123456789", text.find("\"numbers\""));
  std::string changed = text;
  changed[digit] = changed[digit] == '1' ? '2' : '1';
  folder.write("agent.json", changed);
  CHECK_THROWS_WITH(read_agent_file(path, kBlueprint), Catch::Contains("agent.json: expected a text with the SHA-256 ") &&
                                                           Catch::Contains("rehearse train makes it again"));
  folder.write("agent.json", agent_text(kState));
  CHECK(read_agent_file(path, kBlueprint) == kState);
  folder.write("agent.json", with(text, "\n}\n", " }"));
  CHECK(read_agent_file(path, kBlueprint) == kState);
}

TEST_CASE("an agent's file is whole or not there") {
  const TemporaryFolder folder;
  const std::string path = folder.write("agent.json", "old");
  write_agent_file(path, kState);
  CHECK(read_agent_file(path, kBlueprint) == kState);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);

  NetworkState spoiled = kState;
  spoiled.matrices[1].numbers[0] = std::nan("");
  CHECK_THROWS_AS(write_agent_file(path, spoiled), sim::CheckFailed);
  CHECK(read_agent_file(path, kBlueprint) == kState);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  CHECK_THROWS_AS(write_agent_file(folder.path() + "/missing/agent.json", kState), sim::InputError);
  NetworkState unsaid = kState;
  unsaid.origin.seed = std::uint64_t{1} << 53;
  CHECK_THROWS_AS(agent_text(unsaid), sim::CheckFailed);
}
