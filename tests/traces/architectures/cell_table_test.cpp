#include "traces/architectures/cell_table.hpp"

#include <rapidcheck/catch.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/base/errors.hpp"

using namespace rehearse;
using workloads::NasCell;

namespace {

NasCell cell_of(std::size_t index) {
  NasCell cell;
  for (std::size_t edge = cell.size(); edge-- > 0; index /= 5) cell[edge] = static_cast<workloads::NasOp>(index % 5);
  return cell;
}

class TableFile {
 public:
  explicit TableFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("cells-" + std::to_string(getpid()) + ".csv")) {
    std::ofstream(path_) << text;
  }
  ~TableFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Every cell, its number in the latency; the row of `changed` is `instead`.
std::string table_text(std::size_t changed = workloads::kNasCells, const std::string& instead = "") {
  std::string text = "arch_str,acc,more,gpu_ms\n";
  for (std::size_t i = 0; i < workloads::kNasCells; ++i)
    text += i == changed ? instead : to_string(cell_of(i)) + ",93.5,x," + std::to_string(i + 1) + "\n";
  return text;
}

std::string said_of(const std::string& text) {
  const TableFile file(text);
  try {
    traces::read_cell_table(file.path(), {.accuracy = "acc", .latency = {"gpu_ms"}});
  } catch (const sim::InputError& error) {
    return to_string(error.mistakes().front());
  }
  return "";
}

}  // namespace

TEST_CASE("cells as the benchmark writes them") {
  const std::string text = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|none~2|";
  const auto cell = workloads::parse_nas_cell(text);
  REQUIRE(cell);
  CHECK((*cell)[0] == workloads::NasOp::conv_3x3);
  CHECK((*cell)[4] == workloads::NasOp::conv_1x1);
  CHECK(to_string(*cell) == text);
  // 3, 0, 1, 4, 2, 0 to the base of 5: ((((3 x 5 + 0) 5 + 1) 5 + 4) 5 + 2) 5 + 0 = 9610.
  CHECK(workloads::nas_cell_index(*cell) == 9610);
}

TEST_CASE("every cell goes there and back, and nothing else is one") {
  rc::prop("there and back", [] {
    const std::size_t index = *rc::gen::inRange<std::size_t>(0, workloads::kNasCells);
    const NasCell cell = cell_of(index);
    RC_ASSERT(workloads::nas_cell_index(cell) == index);
    std::string text = to_string(cell);
    RC_ASSERT(workloads::parse_nas_cell(text) == cell);
    RC_ASSERT(!workloads::parse_nas_cell(text + "|"));
    text.erase(*rc::gen::inRange<std::size_t>(0, text.size()), 1);
    RC_ASSERT(!workloads::parse_nas_cell(text));
  });
  for (const char* text : {"", "|", "~", "|none~0|+|none~0|none~1|+|none~0|none~1|none~3|", "none"})
    CHECK_FALSE(workloads::parse_nas_cell(text));
}

TEST_CASE("a table of cells") {
  const TableFile file(table_text());
  const traces::CellTable table = traces::read_cell_table(file.path(), {.accuracy = "acc", .latency = {"gpu_ms"}});
  CHECK(table.accuracy[9610] == 0.935);
  CHECK(table.latency_s[0][9610] == Approx(9.611));
}

TEST_CASE("tables of cells with mistakes") {
  CHECK(said_of(table_text(3)).find("expected all 15625 cells of NAS-Bench-201, found 15624") != std::string::npos);
  CHECK(said_of(table_text(3, to_string(cell_of(2)) + ",93,x,1\n")).find(":5: arch_str: expected each cell once") !=
        std::string::npos);
  CHECK(said_of(table_text(3, "|none~0|,93,x,1\n")).find(":5: arch_str: expected a cell") != std::string::npos);
  CHECK(said_of(table_text(3, to_string(cell_of(3)) + ",193,x,1\n")).find(":5: acc: expected a number from 0 to 100") !=
        std::string::npos);
  CHECK(said_of(table_text(3, to_string(cell_of(3)) + ",93,x,0\n")).find(":5: gpu_ms: expected a number above 0") !=
        std::string::npos);
  CHECK(said_of("arch_str,acc\n").find("gpu_ms") != std::string::npos);
}
