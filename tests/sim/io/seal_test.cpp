// Sums of files and of texts, and disks that fail.
#include "sim/io/seal.hpp"

#include <rapidcheck/catch.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>

#include "sim/base/errors.hpp"
#include "sim/io/disk.hpp"
#include "sim/io/json.hpp"
#include "sim/io/output_file.hpp"
#include "tests/scenarios/temporary_folder.hpp"

using namespace rehearse::sim;
using Catch::Contains;

namespace {

const std::string kObject = "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ]\n}\n";

std::string written(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a sealed object has its sum as its last member, and comes back without it") {
  const std::string text = sealed(kObject);
  // printf '{\n  "a": 1,\n  "b": [\n    2\n  ]' | sha256sum
  CHECK(text ==
        "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ],\n  \"sha256\": "
        "\"1c987df37f8fc2da1489ab779f1a86ddbd7327384ec415682e9aa8306c4054a8\"\n}\n");
  CHECK(unsealed(text, "f", "r") == kObject);
  CHECK(unsealed(kObject, "f", "r") == kObject);  // of before there were sums
  CHECK(unsealed("", "f", "r") == "");
}

TEST_CASE("no change of a sealed object passes: it is refused, is no JSON, or leaves what was sealed as it is") {
  const std::string text = sealed(kObject);
  rc::prop("one byte is another", [&] {
    std::string changed = text;
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    changed[at] = *rc::gen::distinctFrom(text[at]);
    try {
      const JsonDocument document = parse_json(unsealed(changed, "f", "r"), "f");
      const std::string sealed_part = text.substr(0, kObject.size() - 3);
      RC_ASSERT(changed.starts_with(sealed_part));
    } catch (const InputError&) {
    }
  });
  CHECK_THROWS_WITH(unsealed(std::string(text).replace(8, 1, "9"), "f.json", "make it again"),
                    Contains("f.json: expected a text with the SHA-256 ") && Contains("as Rehearse wrote it (make it again)"));
}

TEST_CASE("a file that was changed is named, with what was written, what is there, and what repairs it") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", "1,2\n");
  const FileSum sum = sum_of_file(path);
  CHECK(sum.bytes == 4);
  check_file(path, sum, "run again");
  folder.write("a.csv", "1,3\n");
  CHECK_THROWS_WITH(check_file(path, sum, "run again"),
                    Contains("a.csv: expected 4 bytes with the SHA-256 " + sum.sha256.substr(0, 12)) &&
                        Contains("as Rehearse wrote it (run again), found "));
  folder.write("a.csv", "1,2\n\n");
  CHECK_THROWS_WITH(check_file(path, sum, "run again"),
                    Contains("a.csv: expected 4 bytes, as Rehearse wrote it (run again), found 5"));
  CHECK_THROWS_WITH(check_file(path + "x", sum, "run again"), Contains("found no file"));
}

TEST_CASE("a disk that fails or is torn off at the Nth operation") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "old");
  const auto broken = [&](const char* setting) {
    const pid_t child = ::fork();
    if (child == 0) {
      break_disk(setting);
      int status = 0;
      try {
        write_file(path, "12345678");  // a write, a sync, a rename
      } catch (const InputError&) {
        status = 3;
      }
      ::_exit(status);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  };
  for (const char* setting : {"fail:1", "fail:2", "fail:3"}) {
    CHECK(broken(setting) == 3);
    CHECK(written(path) == "old");
  }
  for (const char* setting : {"tear:1", "tear:2", "tear:3"}) {
    CHECK(broken(setting) == -SIGKILL);
    CHECK(written(path) == "old");
  }
  CHECK(broken("fail:4") == 0);
  CHECK(written(path) == "12345678");
  CHECK_THROWS_WITH(break_disk("fail"), Contains("REHEARSE_TEST_FAIL_IO: expected \"fail:N\" or \"tear:N\""));
}
