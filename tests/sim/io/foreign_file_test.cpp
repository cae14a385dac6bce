// Files in other programs' formats: by their bytes, by the files in a zip archive, and by name; hostile bytes.
#include "sim/io/foreign_file.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>

#include "sim/base/errors.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_input.hpp"
#include "tests/scenarios/temporary_folder.hpp"

using namespace rehearse::sim;
using Catch::Contains;
using namespace std::string_literals;

namespace {

std::string two(std::size_t n) { return {static_cast<char>(n & 255), static_cast<char>(n >> 8)}; }

/// A zip archive's local headers (APPNOTE 4.3.7), each with an empty file behind it.
std::string zip(const std::vector<std::string>& names) {
  std::string bytes;
  for (const std::string& name : names) bytes += "PK\x03\x04" + std::string(22, '\0') + two(name.size()) + two(0) + name;
  return bytes;
}

struct Foreign {
  const char* name;
  std::string bytes;
  const char* what;
};

const std::string kHdf = "\x89HDF\r\n\x1A\n\0\0\0\0"s;

std::vector<Foreign> foreign() {
  return {
      {"weights.h5", kHdf, "HDF5"},
      {"renamed.csv", kHdf, "model.to_json()"},
      {"behind_a_user_block.h5", std::string(512, '\0') + kHdf, "HDF5"},
      {"model.keras", zip({"metadata.json", "config.json", "model.weights.h5"}), "a Keras model"},
      {"model.json", zip({"config.json"}), "model.to_json()"},
      {"net.pt", zip({"archive/data.pkl", "archive/version"}), "python/rehearse_torch.py"},
      {"net.bin", zip({"net/data.pkl"}), "a PyTorch file"},
      {"program.pt2", zip({"serialized_exported_program.json", "version"}), "a PyTorch file"},
      {"old.pth",
       "\x80\x02\x8A\x0Al\xFC\x9C"
       "F\xF9 j\xA8P\x19.\x80\x02",
       "a PyTorch file"},
      {"net.pth", "\0\1\2"s, "a PyTorch file"},
      {"mobile.tflite", "\x1C\0\0\0TFL3\x14\0"s, "--tflite"},
      {"saved_model.pb", "\x08\x01\x12\xC4\x9E\x02\x0A\xB0\x01"s, "--saved-model"},
      {"graph.pb", "\x0A\x1F\x0A\x01x\x12"s, "--graphdef"},
      {"jobs.parquet", "PAR1\x15\x04"s, "read_parquet"},
      {"jobs.csv", "PAR1", "read_parquet"},
      {"jobs.feather", "ARROW1\0\0\xFF"s, "read_feather"},
      {"jobs.xlsx", zip({"[Content_Types].xml", "_rels/.rels", "xl/workbook.xml"}), "save the sheet as CSV"},
      {"jobs.xls", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "an Excel workbook"},
      {"jobs.ods", zip({"mimetype", "content.xml"}), "save the sheet as CSV"},
      {"weights.npz", zip({"arr_0.npy"}), "NumPy"},
      {"weights.npy", "\x93NUMPY\x01\0"s, "NumPy"},
      {"table.pkl", "\x80\x04\x95\x10\0"s, "a Python pickle"},
      {"weights.safetensors", "\x40\0\0\0\0\0\0\0{\"a\""s, "safetensors"},
      {"jobs.db", "SQLite format 3\0\x10"s, "an SQLite database"},
      {"large.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "git lfs pull"},
      {"jobs.zip", zip({"jobs.csv"}), "a zip archive: unpack it first"},
      {"jobs.csv.bz2", "BZh91AY&SY\0"s, "a bzip2 file"},
  };
}

}  // namespace

TEST_CASE("a file in another program's format says what it is and what to do") {
  const TemporaryFolder folder;
  for (const Foreign& one : foreign()) {
    CAPTURE(one.name, one.what);
    CHECK_THAT(std::string(foreign_file(one.bytes, one.name)), Contains(one.what));
    const std::string path = folder.write(one.name, one.bytes);
    CHECK_THROWS_WITH(LineReader(path), Contains(path + ": expected a text file, plain or compressed") && Contains(one.what));
    CHECK_THROWS_WITH(read_json_file(path), Contains(one.what));
    CHECK_THROWS_WITH(read_unpacked(path, 1 << 20, "a network"), Contains("expected a network, plain") && Contains(one.what));
  }
}

TEST_CASE("text is read whatever its name, and whatever word it begins with") {
  for (const char* const name : {"a.h5", "a.parquet", "a.pt", "a.csv"})
    for (const char* const text : {"", "ORC,b\n1,2\n", "PAR1,b\n1,2\n", "BZh\n", "GGUF\n1\n", "a,b\n",
                                   "\xEF\xBB\xBF"
                                   "a,\xC3\xA4\n",
                                   "{}"})
      CHECK(foreign_file(text, name) == "");
  // ONNX, of version 1 with a producer's name, and of version 8; in a file that is called otherwise.
  CHECK(foreign_file("\x08\x01\x12\x04"
                     "CNTK\x3A"s,
                     "net.onnx") == "");
  CHECK(foreign_file("\x08\x08\x3A\x10"s, "net.pb") == "");
}

TEST_CASE("formats are recognised in cut, mutated and random bytes, or are not, and nothing else happens") {
  rc::prop("no bytes do harm, and the answer is one line", [] {
    const std::vector<Foreign> all = foreign();
    const Foreign& one = all[*rc::gen::inRange<std::size_t>(0, all.size())];
    std::string bytes = one.bytes.substr(0, *rc::gen::inRange<std::size_t>(0, one.bytes.size() + 1));
    for (const auto& [at, with] : *rc::gen::container<std::vector<std::pair<unsigned, char>>>(
             rc::gen::pair(rc::gen::arbitrary<unsigned>(), rc::gen::arbitrary<char>())))
      if (!bytes.empty()) bytes[at % bytes.size()] = with;
    bytes += *rc::gen::arbitrary<std::string>();
    RC_ASSERT(foreign_file(bytes, one.name).find('\n') == std::string_view::npos);
  });
}
