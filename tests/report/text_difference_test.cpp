#include "report/text_difference.hpp"

#include <fmt/format.h>
#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

using rehearse::report::text_difference;
using rehearse::report::TextDifference;

TEST_CASE("differences of two tables by hand") {
  CHECK(text_difference("a,1\n", "a,1\n").words() == "the same");
  // 2 of the numbers 1, 10, 2, 40: 10 to 8 (0.2 of the larger), 40 to 50 (0.2).
  const TextDifference two = text_difference("x,1\ny,10\nz,2\nw,40\n", "x,1\ny,8\nz,2\nw,50\n");
  CHECK(two.numbers == 4);
  CHECK(two.other == 2);
  CHECK(two.largest_relative == Approx(0.2));
  CHECK(two.first_line == 2);
  CHECK(two.same_words);
  CHECK(two.words() == "2 of 4 numbers differ, by at most 20 % (first in line 2)");
}

TEST_CASE("a number that is written differently and reads back equal does not differ") {
  const TextDifference same = text_difference("a,24.0,1e3\n", "a,24,1000\n");
  CHECK(!same.same);
  CHECK(same.other == 0);
  CHECK(same.words() == "the same numbers, written differently");
}

TEST_CASE("digits within words are no numbers") {
  CHECK(text_difference("p3.2xlarge,7\n", "p3.8xlarge,7\n").words() == "other text (first in line 1)");
  CHECK(text_difference("resnet18,7\n", "resnet50,7\n").words() == "other text (first in line 1)");
  CHECK(text_difference("2017-10-09,7\n", "2017-10-10,7\n").words() == "other text (first in line 1)");
}

TEST_CASE("lines that are missing are other text") {
  const TextDifference shorter = text_difference("a,1\nb,2\n", "a,1\n");
  CHECK(!shorter.same_words);
  CHECK(shorter.first_line == 2);
}

TEST_CASE("a sign belongs to its number") {
  const TextDifference sign = text_difference("a,-1\n", "a,1\n");
  CHECK(sign.other == 1);
  CHECK(sign.largest_relative == 2);
}

TEST_CASE("rows of numbers: as many differ as were changed, in whichever order they are given") {
  rc::prop("", [](const std::vector<std::pair<int, bool>>& rows) {
    std::string a, b;
    std::int64_t changed = 0;
    for (const auto& [value, is_changed] : rows) {
      const std::int64_t whole = value;
      a += fmt::format("name,{}\n", whole);
      b += fmt::format("name,{}\n", is_changed ? whole + 1 : whole);
      changed += is_changed ? 1 : 0;
    }
    for (const TextDifference& d : {text_difference(a, b), text_difference(b, a)}) {
      RC_ASSERT(d.other == changed);
      RC_ASSERT(d.same == (changed == 0));
      RC_ASSERT(d.same_words);
    }
  });
}
