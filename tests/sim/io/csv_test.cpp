#include "sim/io/csv.hpp"

#include <rapidcheck/catch.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/io/file.hpp"
#include "tests/sim/io/temporary_file.hpp"

using namespace rehearse::sim;

namespace {

const CsvColumns kJobs{.required = {"job_id", "submit_s", "gpus"}, .optional = {"model"}};

std::string compressed(const std::string& content) {
  const TemporaryFile file("");
  const gzFile out = ::gzopen(file.path().c_str(), "wb");
  ::gzwrite(out, content.data(), static_cast<unsigned>(content.size()));
  ::gzclose(out);
  std::ifstream in(file.path(), std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// All rows as "line|job_id|submit_s|gpus|model", then each row's mistakes without the file's name.
std::string read_all(const std::string& path) {
  std::string text;
  CsvReader reader(path, kJobs);
  while (CsvRow* row = reader.next()) {
    const double submit_s = row->number("submit_s", at_least(0));
    const std::int64_t gpus = row->integer("gpus", at_least(1));
    text += std::to_string(row->line()) + "|" + std::string(row->text("job_id")) + "|" + std::to_string(submit_s).substr(0, 4) +
            "|" + std::to_string(gpus) + "|" + std::string(row->text("model")) + "\n";
    for (const Mistake& mistake : row->mistakes()) text += to_string(mistake).substr(path.size()) + "\n";
  }
  return text;
}

/// What read_all gives, or the message of its InputError without the file's name.
std::string outcome(const std::string& content) {
  const TemporaryFile file(content);
  try {
    return read_all(file.path());
  } catch (const InputError& error) {
    std::string text = error.what();
    for (std::size_t at = 0; (at = text.find(file.path())) != text.npos;) text.erase(at, file.path().size());
    return text;
  }
}

std::string file_outcome(const std::string& path) {
  try {
    return read_all(path);
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("rows are read by column name, whatever the columns' order, quoting and line ends") {
  CHECK(outcome("job_id,submit_s,gpus\na,0,1\nb,1.5,2.0\n") == "2|a|0.00|1|\n3|b|1.50|2|\n");
  CHECK(outcome("\xEF\xBB\xBFgpus, model ,extra,submit_s,job_id\r\n1,vgg,x, 2 ,a\r\n\r\n8,\"vgg,\"\"16\"\"\",,3,b") ==
        "2|a|2.00|1|vgg\n4|b|3.00|8|vgg,\"16\"\n");
  CHECK(outcome("\"job_id\",\"submit_s\",gpus\n\"a\nb\",0,1\n\"\",\"4\",\"2\"\r\nc\"d,0,1\n") ==
        "2|a\nb|0.00|1|\n4||4.00|2|\n5|c\"d|0.00|1|\n");
  CHECK(outcome("job_id,submit_s,gpus\n").empty());
}

TEST_CASE("gzip files are read the same") {
  const std::string content = "job_id,submit_s,gpus\na,0,1\n";
  CHECK(outcome(compressed(content)) == outcome(content));
  CHECK(outcome(compressed(content).substr(0, 25)) == ": expected a readable file, found an error: unexpected end of file");
  std::string damaged = compressed(content);
  damaged[damaged.size() - 6] ^= 1;  // in the checksum
  CHECK(outcome(damaged) == ": expected a readable file, found an error: incorrect data check");
}

TEST_CASE("gzip files may be several in a row and padded with zeros; one of another length than it says is refused") {
  const std::string head = "job_id,submit_s,gpus\na,0,1\n", tail = "b,1,2\n";
  CHECK(outcome(compressed(head) + compressed(tail)) == outcome(head + tail));
  CHECK(outcome(compressed(head) + std::string(512, '\0')) == outcome(head));
  CHECK(outcome(compressed(head) + compressed(tail).substr(0, 20)) ==
        ": expected a readable file, found an error: unexpected end of file");
  std::string longer = compressed(head);
  longer[longer.size() - 4] ^= 1;  // the length's lowest byte
  CHECK(outcome(longer) == ": expected a readable file, found an error: incorrect length check");
}

TEST_CASE("a bad field is the row's mistake, and reading goes on") {
  CHECK(outcome("job_id,submit_s,gpus,model\n"
                "a,zero,0,\n"
                "b,,1e400,\n"
                "c,-1,1.5,\n"
                "d,inf,9007199254740992,\n"
                "e,0x10,\"4\",\xFF\n"
                "f,1,1,ok\n") ==
        "2|a|0.00|1|\n"
        ":2: submit_s: expected a number of at least 0, found \"zero\"\n"
        ":2: gpus: expected a whole number of at least 1, found \"0\"\n"
        "3|b|0.00|1|\n"
        ":3: submit_s: expected a number of at least 0, found nothing\n"
        ":3: gpus: expected a whole number of at least 1, found \"1e400\"\n"
        "4|c|0.00|1|\n"
        ":4: submit_s: expected a number of at least 0, found \"-1\"\n"
        ":4: gpus: expected a whole number of at least 1, found \"1.5\"\n"
        "5|d|0.00|1|\n"
        ":5: submit_s: expected a number of at least 0, found \"inf\"\n"
        ":5: gpus: expected a whole number between -2^53 and 2^53, found \"9007199254740992\"\n"
        "6|e|0.00|4|\n"
        ":6: submit_s: expected a number of at least 0, found \"0x10\"\n"
        ":6: model: expected UTF-8 text, found \"\\xFF\"\n"
        "7|f|1.00|1|ok\n");
}

TEST_CASE("a row with too few or too many fields, or a broken quote, has that as its mistake") {
  CHECK(outcome("job_id,submit_s,gpus\na,0\nb,0,1,2\nc,0,1\n\"d\"x,0,1\n") ==
        "2|a|0.00|1|\n:2: expected 3 fields, found 2\n"
        "3|b|0.00|1|\n:3: expected 3 fields, found 4\n"
        "4|c|0.00|1|\n"
        "5|d|0.00|1|\n:5: expected a comma or the line's end behind a closing quote, found more text in field 1\n");
}

TEST_CASE("fallbacks and optional columns") {
  const TemporaryFile file("a,b\n1,\n,2.5\n");
  CsvReader reader(file.path(), {.optional = {"a", "b", "c"}});
  CsvRow* row = reader.next();
  REQUIRE(row != nullptr);
  CHECK(row->has("a"));
  CHECK_FALSE(row->has("b"));
  CHECK_FALSE(row->has("c"));
  CHECK(row->maybe_integer("a") == 1);
  CHECK(row->maybe_number("b") == std::nullopt);
  CHECK(row->maybe_number("c") == std::nullopt);
  CHECK(row->number("b", at_least(0), 7.0) == 7);
  CHECK(row->integer("c", at_least(0), 8) == 8);
  CHECK_THROWS_AS(row->text("d"), CheckFailed);
  CHECK(row->mistakes().empty());
  row->refuse("a", "a job of the cluster");
  CHECK(to_string(row->mistakes().at(0)) == file.path() + ":2: a: expected a job of the cluster, found \"1\"");
  row = reader.next();
  REQUIRE(row != nullptr);
  CHECK(row->mistakes().empty());
  CHECK(row->maybe_number("b") == 2.5);
  CHECK(reader.next() == nullptr);
  CHECK(reader.next() == nullptr);
}

TEST_CASE("all mistakes of the header are reported at once") {
  CHECK(outcome("jobid,gpu,submit,model,model\n1,2,3,4,5\n") ==
        ":1: expected a column \"job_id\", found \"jobid\"\n"
        ":1: expected a column \"submit_s\", found \"submit\"\n"
        ":1: expected a column \"gpus\", found \"gpu\"\n"
        ":1: expected each column once, found \"model\" again");
  CHECK(outcome("a;b;c\n") == ":1: expected columns separated by commas, found semicolons");
  CHECK(outcome("a:b:c\n") ==
        ":1: expected a column \"job_id\", found a:b:c\n:1: expected a column \"submit_s\", found a:b:c\n"
        ":1: expected a column \"gpus\", found a:b:c");
  const TemporaryFile file("submit_s,gpu,gpus\n");
  CHECK_THROWS_WITH(CsvReader(file.path(), {.required = {"submit_s", "gpus"}, .others_allowed = false}),
                    file.path() + ":1: found unknown column \"gpu\"; did you mean \"gpus\"?");
}

TEST_CASE("files that are no CSV are refused") {
  CHECK(outcome("") == ": expected a line with the columns' names, found an empty file");
  CHECK(outcome("\xEF\xBB\xBF\n\n") == ": expected a line with the columns' names, found an empty file");
  CHECK(outcome(std::string("job_id,submit_s,gpus\na,0,1\n\0\n", 30)) ==
        ":3: expected text, found a NUL character: a binary file");
  CHECK(outcome("job_id,submit_s,gpus\na,0,1\n" + std::string((1 << 20) + 1, 'x')) ==
        ":3: expected lines of at most 1 MiB, found a longer one, or a quote that is never closed");
  CHECK(outcome("job_id,submit_s,gpus\na,0,1\n\"" + std::string(5 << 20, '\n')) ==
        ":3: expected lines of at most 1 MiB, found a longer one, or a quote that is never closed");
  CHECK(outcome("job_id,submit_s,gpus\n\"a,0,1\nb,0,1\n") ==
        ":2: expected a closing quote, found the end of the file in a quoted field of this row");
  CHECK(outcome("\"job_id\"x,submit_s,gpus\n") ==
        ":1: expected a comma or the line's end behind a closing quote, found more text in field 1");
  CHECK(file_outcome("/no/such.csv") == "/no/such.csv: expected a readable file, found no such file");
  CHECK(file_outcome("/tmp") == "/tmp: expected a readable file, found a directory");
  CHECK(file_outcome("/proc/self/mem") == "/proc/self/mem: expected a readable file, found an error: Input/output error");
}

TEST_CASE("rows are whole wherever the read buffer ends") {
  // About 5 MB: the buffer is refilled in the middle of rows, quoted ones with line ends among them.
  std::string content = "job_id,submit_s,gpus,model\n";
  const int count = 200'000;
  for (int i = 0; i < count; ++i)
    content += (i % 3 == 0 ? "\"" + std::to_string(i) + "\n\"\"\"" : std::to_string(i)) + ",0.5,4,resnet50\n";
  const TemporaryFile file(content);
  CsvReader reader(file.path(), kJobs);
  std::int64_t line = 2;
  for (int i = 0; i < count; ++i) {
    CsvRow* const row = reader.next();
    const std::string id = std::to_string(i) + (i % 3 == 0 ? "\n\"" : "");
    const bool good = row != nullptr && row->text("job_id") == id && row->integer("gpus") == 4 && row->line() == line;
    if (!good || !row->mistakes().empty()) FAIL("row " << i);
    line += i % 3 == 0 ? 2 : 1;
  }
  CHECK(reader.next() == nullptr);
}

TEST_CASE("whatever the fields hold, quoting them gives them back") {
  rc::prop("round trip", [] {
    const auto texts = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::element('a', '"', ',', '\n', '\r', ' ')));
    std::string content = "x,y\n";
    for (const std::string& text : texts) {
      content += '"';
      for (const char c : text) content += c == '"' ? "\"\"" : std::string(1, c);
      content += "\",1\n";
    }
    const TemporaryFile file(content);
    CsvReader reader(file.path(), {.required = {"x", "y"}});
    for (const std::string& text : texts) {
      CsvRow* const row = reader.next();
      RC_ASSERT(row != nullptr);
      RC_ASSERT(row->mistakes().empty());
      RC_ASSERT(row->text("x") == text);
      RC_ASSERT(row->integer("y") == 1);
    }
    RC_ASSERT(reader.next() == nullptr);
  });
}

TEST_CASE("any bytes are read or refused") {
  rc::prop("after a header", [](const std::string& rest) { outcome("job_id,submit_s,gpus\n" + rest); });
  rc::prop("from the start", [](const std::string& text) { outcome(text); });
  rc::prop("hostile", [] {
    outcome("job_id,submit_s,gpus\n" +
            *rc::gen::container<std::string>(rc::gen::element('"', ',', '\n', '\r', '1', '.', 'e', '-', '\xFF')));
  });
}

TEST_CASE("SHA-256 of files") {
  // FIPS 180-4's examples: the empty text and "abc".
  CHECK(sha256_of_file(TemporaryFile("").path()) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_of_file(TemporaryFile("abc").path()) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // One million "a": the third example, several buffers long.
  CHECK(sha256_of_file(TemporaryFile(std::string(1'000'000, 'a')).path()) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  CHECK_THROWS_AS(sha256_of_file("/tmp"), InputError);
  CHECK_THROWS_AS(sha256_of_file("/no/such/file"), InputError);
}

TEST_CASE("texts that a spreadsheet takes for formulas are quoted when that is asked for, and numbers never") {
  using rehearse::sim::csv_text;
  CHECK(csv_text("=1+1") == "=1+1");
  rehearse::sim::set_csv_safe(true);
  CHECK(csv_text("=HYPERLINK(\"x\",1)") == "\"'=HYPERLINK(\"\"x\"\",1)\"");
  for (const std::string text : {"+a", "-a", "@a", "\tb", "-", "-1-1", "+1e"}) CHECK(csv_text(text) == "'" + text);
  for (const std::string text : {"-1", "-1e-9", "a=b", "", "'=a"}) CHECK(csv_text(text) == text);
  rehearse::sim::set_csv_safe(false);
  CHECK(csv_text("@a") == "@a");
}
