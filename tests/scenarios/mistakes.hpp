// What the loader says about a good scenario that is changed in one place.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/scenarios/loading.hpp"

/// Columns in complaints are counted in these lines.
inline const std::string kBase = R"({ "seed": 1,
  "cluster": { "pools": [ { "name": "gpu", "instance": "p3.2xlarge", "nodes": 2 } ] },
  "jobs": [ { "gpus": 1, "duration_s": 60 } ],
  "policies": [ "manual" ] })";

/// What to change in the base, with ' for ", and what the loader says then.
struct Case {
  std::string what, instead, complaint;
};

inline std::string quoted(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

inline void check_all(const std::vector<Case>& cases, const std::string& base = kBase) {
  const TemporaryFolder folder;
  for (const Case& c : cases) {
    INFO(c.what << " -> " << c.instead);
    CHECK(complaints(folder, with(base, quoted(c.what), quoted(c.instead))) == c.complaint);
  }
}
