// Inputs near the limits: slow in the sanitizer build.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <string>

#include "sim/io/json.hpp"

using namespace rehearse::sim;

TEST_CASE("a 100 MB list of numbers is read in bounded memory") {
  std::string text = "[";
  std::size_t count = 0;
  for (; text.size() < 100'000'000; ++count) text += "1234.5,\n";
  text += "-7]";
  const JsonDocument document = parse_json(std::move(text), "a.json");
  CHECK(document.root().size() == count + 1);
  double sum = 0;
  for (const JsonValue value : document.root().elements()) sum += value.number();
  CHECK(sum == 1234.5 * static_cast<double>(count) - 7);
  // Text 100 MB and 16 bytes for each of 12.5 million values, 200 MB, doubled for safety.
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  CHECK(usage.ru_maxrss < 600'000);  // in KiB
}

TEST_CASE("too many values and too many bytes are refused") {
  std::string text = "[0";
  while (text.size() < 2 * kMaxJsonValues) text += ",0";
  // The list is a value too: kMaxJsonValues - 1 numbers fit, the next stands 2 * kMaxJsonValues bytes into the text.
  CHECK_THROWS_WITH(parse_json(text + "]", "a.json"), "a.json:1:40000000: expected at most 20000000 values and keys, found more");
  CHECK_THROWS_WITH(read_json_file("/dev/zero"), "/dev/zero: expected a file of at most 256 MiB, found a larger one");
  CHECK_THROWS_WITH(parse_json(std::string(kMaxJsonBytes + 1, ' '), "a.json"),
                    "a.json: expected at most 256 MiB of JSON, found more");
}
