#include "report/row_writer.hpp"

#include <rapidcheck/catch.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "sim/base/errors.hpp"
#include "sim/base/units.hpp"
#include "sim/io/file.hpp"
#include "sim/io/json.hpp"
#include "tests/sim/io/temporary_file.hpp"

using namespace rehearse::report;
using rehearse::sim::InputError;
using rehearse::sim::read_file;

namespace {

template <class Write>
std::string written(Write&& write) {
  const TemporaryFile file("");
  RowWriter out(file.path());
  write(out);
  out.close();
  return read_file(file.path(), 1 << 20);
}

}  // namespace

TEST_CASE("fields are quoted where RFC 4180 wants it, and nowhere else") {
  CHECK(written([](RowWriter& out) { out.text("plain").text("").text("two words").end_row(); }) == "plain,,two words\n");
  CHECK(written([](RowWriter& out) { out.text("a,b").text("say \"hi\"").text("two\nlines").text("\r").end_row(); }) ==
        "\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\"\r\"\n");
  CHECK(written([](RowWriter& out) {
          out.empty().flag(true).flag(false).integer(-3).end_row();
          out.text("next").end_row();
          out.line("as, it, is");
          out.text("x").end_row();
        }) == ",true,false,-3\nnext\nas, it, is\nx\n");
}

TEST_CASE("numbers are as short as they can be") {
  const auto number = [](double value) { return written([value](RowWriter& out) { out.number(value).end_row(); }); };
  CHECK(number(0.1) == "0.1\n");
  CHECK(number(-0.0) == "0\n");
  CHECK(number(3600) == "3600\n");
  CHECK(number(-7) == "-7\n");
  CHECK(number(1e20) == "1e+20\n");
  CHECK(number(999999999999999) == "999999999999999\n");
  CHECK(number(std::numeric_limits<double>::quiet_NaN()) == "\n");
  rc::prop("and read back exactly", [number](std::uint64_t bits) {
    double value = 0;
    static_assert(sizeof value == sizeof bits);
    std::memcpy(&value, &bits, sizeof value);
    RC_PRE(std::isfinite(value));
    RC_ASSERT(std::strtod(number(value).c_str(), nullptr) == value);
  });
}

TEST_CASE("digits are those of fmt, wherever the point stands") {
  for (const double value :
       {0.1, -0.1, 1e-4, 1.5e-4, 9.99e-5, 0.00012345678901234567, 1.25, -1234.5, 99999.99999999999, 123456789012345.6,
        999999999999999.9, 1e15 + 0.5, 4.1e-300, 1.7976931348623157e308, -std::numeric_limits<double>::infinity()})
    CHECK(written([value](RowWriter& out) { out.number(value).end_row(); }) == fmt::format("{}\n", value));
  rc::prop("of any decimal", [](std::int32_t digits, std::uint8_t places, std::int64_t more) {
    const double value = (digits + 1e-9 * static_cast<double>(more % 1'000'000'000)) * std::pow(10.0, -(places % 14));
    RC_PRE(value != std::floor(value));
    RC_ASSERT(written([value](RowWriter& out) { out.number(value).end_row(); }) == fmt::format("{}\n", value));
  });
}

TEST_CASE("a row longer than the buffer arrives whole") {
  const std::string long_text(700'000, 'x');
  CHECK(written([&](RowWriter& out) {
          for (int i = 0; i < 2; ++i) out.text(long_text.substr(0, 300'000)).end_row();
        }).size() == 600'002);
}

TEST_CASE("files that cannot be written are the user's mistake") {
  CHECK_THROWS_AS(RowWriter("/no/such/folder/jobs.csv"), InputError);
  CHECK_THROWS_WITH(RowWriter("/no/such/folder/jobs.csv"), Catch::Matchers::Contains("/no/such/folder/jobs.csv") &&
                                                               Catch::Matchers::Contains("No such file or directory"));
  RowWriter full("/dev/full");
  full.text("more than the disk takes").end_row();
  CHECK_THROWS_WITH(full.close(), Catch::Matchers::Contains("No space left"));
}

TEST_CASE("JSON strings are what a reader of JSON gets back") {
  CHECK(json_string("a\"b\\c\n\t\r") == R"("a\"b\\c\n\t\r")");
  CHECK(json_string(std::string_view("\x01\x1f", 2)) == R"("\u0001\u001f")");
  rc::prop("any ASCII", [](const std::vector<std::uint8_t>& bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) text += static_cast<char>(byte % 128);
    const auto document = rehearse::sim::parse_json(json_string(text), "text");
    RC_ASSERT(document.root().text() == text);
  });
}

TEST_CASE("a date is short, a number that comes again the same") {
  const double usd = 0.0515040503501892, date_s = rehearse::sim::on_date_grid(24.996);
  CHECK(written([&](RowWriter& out) {
          for (int row = 0; row < 2; ++row)
            out.date(date_s).number(date_s).number(usd).number(usd / 3).number(usd / 5).number(usd / 7).number(usd).end_row();
          out.date(std::nan("")).date(7200).end_row();
        }) == [&] {
    const std::string row = fmt::format("24.996,{},{},{},{},{},{}\n", date_s, usd, usd / 3, usd / 5, usd / 7, usd);
    return row + row + ",7200\n";
  }());
}
