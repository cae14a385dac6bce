#include "scenarios/read/embedded.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sim/base/errors.hpp"

using namespace rehearse;
namespace fs = std::filesystem;

TEST_CASE("the program carries every catalogue file, byte for byte") {
  const fs::path root = REHEARSE_SOURCE_DIR;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(root / "sim/cluster/catalogue")) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string on_disk{std::istreambuf_iterator<char>(in), {}};
    const std::string name = entry.path().lexically_relative(root).generic_string();
    INFO(name);
    CHECK((scenarios::embedded_file(name) == on_disk));
    ++files;
  }
  CHECK(files == 3);
}

TEST_CASE("embedded files are in order of name, and an unknown name is a bug of ours") {
  const auto files = scenarios::embedded_files();
  for (std::size_t i = 1; i < files.size(); ++i) CHECK(files[i - 1].name < files[i].name);
  CHECK_THROWS_AS(scenarios::embedded_file("sim/cluster/catalogue"), sim::CheckFailed);
}
