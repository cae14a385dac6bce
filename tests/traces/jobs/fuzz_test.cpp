// Damaged files of every format: no crash, no hang, every row accounted for. Mutations are drawn from a fixed seed, so that a
// failure comes again.
#include <algorithm>
#include <set>

#include "sim/base/random.hpp"
#include "tests/traces/jobs/trace_file.hpp"

using namespace rehearse;
using namespace rehearse::tests;

namespace {

struct Seed {
  std::string format, name, text;
};

/// What libFuzzer starts from too (tests/fuzz), by format: "good" files, and those that once broke a reader or should not.
std::vector<Seed> seeds() {
  std::vector<Seed> result;
  for (const auto& file : std::filesystem::recursive_directory_iterator(REHEARSE_SOURCE_DIR "/tests/fuzz/corpus")) {
    if (!file.is_regular_file()) continue;
    std::ifstream in(file.path(), std::ios::binary);
    result.push_back({.format = file.path().parent_path().filename(),
                      .name = file.path().filename(),
                      .text{std::istreambuf_iterator<char>(in), {}}});
  }
  std::sort(result.begin(), result.end(),
            [](const Seed& a, const Seed& b) { return a.format + "/" + a.name < b.format + "/" + b.name; });
  return result;
}

/// A few changes: bytes, pieces doubled or cut out, numbers and tokens that parsers trip over.
std::string mutated(std::string text, sim::Random& random) {
  static const std::string kTokens[] = {"1e999",
                                        "-0",
                                        "nan",
                                        "inf",
                                        "-1",
                                        "99999999999999999999",
                                        "0x10",
                                        "\"",
                                        ",",
                                        "\n",
                                        "\r\n",
                                        "\t",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        "\\",
                                        "\xFF",
                                        "\xEF\xBB\xBF",
                                        std::string(1, '\0'),
                                        ";",
                                        " ",
                                        "1e-320",
                                        "; User: ",
                                        "2017-02-30 25:61:61",
                                        "null",
                                        "\\ud800"};
  for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
    const std::size_t at = random.below(text.size() + 1), length = random.below(12);
    switch (random.below(5)) {
      case 0:
        text.insert(at, kTokens[random.below(std::size(kTokens))]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(random.below(text.size() + 1), length));
        break;
      case 3:
        text.resize(at);
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
    }
  }
  return text;
}

}  // namespace

TEST_CASE("the seeds of the mutations are good, and of every format") {
  std::set<std::string> formats;
  for (const Seed& seed : seeds()) {
    CAPTURE(seed.format, seed.name);
    if (seed.name != "good") continue;
    CHECK(import_text(seed.format, seed.text).counts.jobs > 0);
    formats.insert(seed.format);
  }
  CHECK(formats.size() == traces::trace_readers().size());
}

TEST_CASE("what fuzzing found is read or refused") {
  for (const Seed& seed : seeds()) {
    CAPTURE(seed.format, seed.name);
    try {
      import_text(seed.format, seed.text);
    } catch (const sim::InputError& error) {
      CHECK_FALSE(std::string(error.what()).empty());
    }
  }
}

TEST_CASE("damaged traces are read or refused") {
  sim::Random random(2026);
  std::int64_t read = 0, refused = 0;
  for (const Seed& seed : seeds()) {
    if (seed.name != "good") continue;
    for (int i = 0; i < 400; ++i) {
      const std::string text = mutated(seed.text, random);
      INFO(seed.format << ": " << text);
      try {
        const Imported got = import_text(seed.format, text);
        REQUIRE(got.counts.rows <= static_cast<std::int64_t>(text.size()));
        // What was kept is a native trace without a mistake.
        if (got.counts.jobs > 0) REQUIRE(import_text("native", got.csv).counts.rows_dropped == 0);
        ++read;
      } catch (const sim::InputError& error) {
        REQUIRE_FALSE(std::string(error.what()).empty());
        ++refused;
      }
    }
  }
  CHECK(read > 1000);
  CHECK(refused > 300);
}
