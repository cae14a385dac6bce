// The graph command: what it prints and writes, and what it refuses.
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/cli/program.hpp"

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("graph: a model unrolled, written, and read back") {
  const TemporaryFolder folder;
  const Ended unrolled =
      run_program(folder.path(), {"graph", "rnnlm", "--unroll", "--groups", "12", "--dot", "g.dot", "--json", "g.json"});
  CHECK(unrolled.status == 0);
  CHECK(unrolled.err == "");
  CHECK(contains(unrolled.out, "rnnlm, batch 64, unrolled: 813 operations"));
  CHECK(contains(unrolled.out, "175 by chains"));
  CHECK(contains(unrolled.out, "12 after coarsening"));
  CHECK(text_of(folder.path() + "/g.dot").starts_with("digraph \"rnnlm\" {"));
  const Ended again = run_program(folder.path(), {"graph", "g.json"});
  CHECK(again.status == 0);
  const auto times = [](const std::string& out) { return out.substr(out.find("one after the other"), 100); };
  CHECK(times(again.out) == times(unrolled.out));
}

TEST_CASE("graph: in TensorFlow's operations, with the paper's counts beside") {
  const TemporaryFolder folder;
  const Ended paper = run_program(folder.path(), {"graph", "nmt", "--granularity", "tensorflow"});
  CHECK(paper.status == 0);
  CHECK(contains(paper.out, "nmt in TensorFlow's operations, batch 64: 20596 operations"));
  CHECK(contains(paper.out, "graph: 21130 operations, of which a step runs 20596 (Mirhoseini et al. 2017: 22097, -4.4 %)"));
  const Ended small = run_program(folder.path(), {"graph", "rnnlm", "--granularity", "tensorflow", "--steps", "3", "--hidden",
                                                  "8", "--vocabulary", "20", "--json", "t.json"});
  CHECK(small.status == 0);
  CHECK(run_program(folder.path(), {"graph", "t.json"}).status == 0);
}

TEST_CASE("graph: mistakes end with status 3, wrong usage with 2") {
  const TemporaryFolder folder;
  const auto refused = [&](std::vector<std::string> arguments, int status, std::string_view part) {
    arguments.insert(arguments.begin(), "graph");
    const Ended ended = run_program(folder.path(), arguments);
    CHECK(ended.status == status);
    CHECK(ended.out == "");
    INFO(ended.err);
    CHECK(contains(ended.err, part));
  };
  refused({"rnlm"}, 3, "did you mean \"rnnlm\"?");
  refused({"rnnlm", "--device", "k8"}, 3, "did you mean \"k80\"?");
  refused({"absent.json"}, 3, "absent.json");
  refused({"absent.txt", "--format", "pipedream"}, 3, "absent.txt");
  refused({"rnnlm", "--batch", "0"}, 2, "--batch");
  refused({"rnnlm", "--format", "onnx"}, 2, "--format");
  refused({"rnnlm", "--granularity", "kernels"}, 2, "--granularity");
  refused({"rnnlm", "--steps", "3"}, 3, "with --granularity tensorflow");
  refused({"vgg16", "--granularity", "tensorflow", "--steps", "3"}, 3, "sizes of rnnlm or nmt alone");
  refused({"rnnlm", "--granularity", "tensorflow", "--dataset", "ptb"}, 3, "no dataset");
  const std::string many = "999999";
  CHECK(run_program(folder.path(), {"graph", "rnnlm", "--groups", many}).status == 3);
  CHECK(contains(run_program(folder.path(), {"graph", "rnnlm", "--groups", many}).err, "groups, one for each operation at most"));
}
