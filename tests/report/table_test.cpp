#include "report/table.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <limits>
#include <sstream>

#include "sim/base/errors.hpp"
#include "tests/scenarios/temporary_folder.hpp"

namespace {

using namespace rehearse::report;

const Table kTable{.name = "steps",
                   .title = "Steps",
                   .columns = {{"device", "device"}, {"step_s", "step, s", "{:.2f}"}, {"hidden", ""}},
                   .rows = {{"a \"b\", c", 1.25, 3.0}, {"v100", std::numeric_limits<double>::quiet_NaN(), 0.5}}};

TEST_CASE("a table on the terminal: text flush left, numbers flush right, columns without a heading only in files") {
  CHECK(table_text(kTable) ==
        "Steps\n"
        "device    step, s\n"
        "-----------------\n"
        "a \"b\", c     1.25\n"
        "v100            -\n");
  Table silent = kTable;
  silent.title.clear();
  CHECK(table_text(silent).empty());
}

TEST_CASE("a table in files: quoted as CSV and JSON ask, undefined numbers empty or null") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/steps.csv";
  write_csv(path, kTable);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  CHECK(text.str() == "device,step_s,hidden\n\"a \"\"b\"\", c\",1.25,3\nv100,,0.5\n");
  CHECK(table_json(kTable) == R"([
      {"device": "a \"b\", c", "step_s": 1.25, "hidden": 3},
      {"device": "v100", "step_s": null, "hidden": 0.5}])");
}

TEST_CASE("a row of another length than its table is a bug") {
  const TemporaryFolder folder;
  Table broken = kTable;
  broken.rows.push_back({"k80"});
  CHECK_THROWS_AS(write_csv(folder.path() + "/steps.csv", broken), rehearse::sim::CheckFailed);
}

TEST_CASE("words of a last column that is too wide go on below, within a terminal's columns") {
  // fifo and two blanks are 6 columns, 94 are left: 18 words of five letters with their blanks are 17 x 6 + 5 = 107.
  std::string words = "words";
  for (int i = 1; i < 18; ++i) words += " words";
  const std::vector<std::vector<std::string>> rows{{"name", "verdict"}, {"fifo", words}, {"sjf", "short"}, {"las", "FAILED"}};
  // 15 of them are 89 columns, and 16 would be 95.
  CHECK(aligned(rows, {true, true}) == "name  verdict\n" + std::string(100, '-') + "\nfifo  " + words.substr(0, 89) +
                                           "\n      words words words\nsjf   short\nlas   FAILED\n");
  // A row that says one thing alone, and a word that fits nowhere.
  const std::vector<std::vector<std::string>> failed{{"name", "a", "b"}, {"fifo", words}, {"sjf", std::string(120, 'x')}};
  CHECK(aligned(failed, {true, true, true}) == "name  a  b\n----------\nfifo  " + words.substr(0, 89) +
                                                   "\n      words words words\nsjf   " + std::string(120, 'x') + "\n");
}

TEST_CASE("a table wider than a terminal goes on below, each block beginning with the first column") {
  const std::string wide(40, 'x');
  // 6 + 2 + 40 + 2 + 40 = 90 columns; a third column of 40 would need 132.
  const std::vector<std::vector<std::string>> rows{{"policy", "a", "b", "c"}, {"fifo", wide, wide, wide}, {"sjf", "FAILED: why"}};
  const std::string line(90, '-'), blanks(38, ' ');
  CHECK(aligned(rows, {true, true, true, true}) == "policy  a" + blanks + "   b\n" + line + "\nfifo    " + wide + "  " + wide +
                                                       "\nsjf     FAILED: why\n\npolicy  c\n" + std::string(48, '-') +
                                                       "\nfifo    " + wide + "\n");
}

TEST_CASE("a table that is split has in each block the columns that tell its rows apart") {
  const std::string wide(45, 'x');  // 5 + 6 + 2 x 45 and three gaps are more than 100
  const std::vector<std::vector<std::string>> rows{{"graph", "seed", "method", "a", "b"},
                                                   {"g1", "7", "heft", wide, wide},
                                                   {"g1", "7", "rl", wide, wide},
                                                   {"g2", "7", "heft", wide, wide}};
  const std::vector<bool> left(5, true);
  const std::string text = aligned(rows, left);
  CHECK(text.starts_with("graph  seed  method  a"));  // in their order; the seed parts no rows, and is not repeated
  CHECK(text.find("\n\ngraph  method  b\n") != std::string::npos);
  CHECK(text.find("\ng1     rl      " + wide + "\n") != std::string::npos);
  // A key that leaves no room beside it: the first column alone.
  std::vector<std::vector<std::string>> long_key = rows;
  long_key[1][2] += std::string(70, 'y');
  CHECK(aligned(long_key, left).find("\n\ngraph  a ") != std::string::npos);
}

TEST_CASE("a table is as wide as its terminal: one block where there is room, narrower ones where there is not") {
  const std::string wide(40, 'x');
  const std::vector<std::vector<std::string>> rows{{"policy", "a", "b", "c"}, {"fifo", wide, wide, wide}};
  for (const std::size_t width : {60, 80, 100, 140, 200}) {
    const std::string text = aligned(rows, {true, true, true, true}, {}, width);
    for (std::size_t from = 0; from < text.size(); from = text.find('\n', from) + 1) CHECK(text.find('\n', from) - from <= width);
    CHECK((text.find("\n\n") == text.npos) == (width >= 132));  // 6 + 3 x 42
  }
}

TEST_CASE("a table that is a little too wide for a terminal stands closer instead") {
  // 4 columns of 24: 96 + 6 = 102 with two blanks between them, 99 with one.
  const std::string cell(24, 'x');
  CHECK(aligned({{cell, cell, cell, cell}}, {true, true, true, true}) ==
        cell + " " + cell + " " + cell + " " + cell + "\n" + std::string(99, '-') + "\n");
}

TEST_CASE("a row's tone colours its line, and nothing else changes") {
  const std::vector<std::vector<std::string>> rows{{"policy", "cost"}, {"fifo", "12"}, {"sjf", "9"}, {"bad", "FAILED"}};
  const std::string plain = aligned(rows, {true, false});
  const std::string coloured = aligned(rows, {true, false}, {Tone::plain, Tone::broken, Tone::best, Tone::failed});
  CHECK(coloured.find("\x1b[33mfifo        12\x1b[0m\n") != std::string::npos);
  CHECK(coloured.find("\x1b[1;32msjf          9\x1b[0m\n") != std::string::npos);
  CHECK(coloured.find("\x1b[31mbad     FAILED\x1b[0m\n") != std::string::npos);
  std::string bare = coloured;
  for (const std::string_view sequence : colour_sequences())
    for (std::size_t at = bare.find(sequence); at != bare.npos; at = bare.find(sequence)) bare.erase(at, sequence.size());
  CHECK(bare == plain);
}

TEST_CASE("numbers without a format of their own have four digits and no exponent") {
  const Table table{.name = "n", .title = "N", .columns = {{"n", "n"}}, .rows = {{1234567.0}, {0.123456}, {500.0}}};
  CHECK(table_text(table) == "N\n        n\n---------\n1,234,567\n   0.1235\n      500\n");
}

}  // namespace
