#include "report/html_report.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "report/metric_fields.hpp"
#include "report/packed_table.hpp"
#include "sim/base/errors.hpp"
#include "tests/scenarios/temporary_folder.hpp"

using namespace rehearse;
using nlohmann::json;

namespace {

std::string inflated(const std::string& base64) {
  static const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned char> bytes;
  for (std::size_t i = 0; i + 3 < base64.size(); i += 4) {
    std::uint32_t word = 0;
    int padding = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const char c = base64[i + k];
      padding += c == '=';
      word = word << 6 | (c == '=' ? 0 : static_cast<std::uint32_t>(digits.find(c)));
    }
    for (int k = 0; k < 3 - padding; ++k) bytes.push_back(static_cast<unsigned char>(word >> (16 - 8 * k)));
  }
  std::string out(1 << 22, '\0');
  uLongf size = out.size();
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(out.data()), &size, bytes.data(), bytes.size()) == Z_OK);
  out.resize(size);
  return out;
}

const std::string kPage = "<title>@rehearse-title@</title>{@rehearse-summary@}{@rehearse-detail@}";

std::string write_summary(const TemporaryFolder& folder, const std::string& scenario) {
  return folder.write("summary.json", "{\n  \"scenario\": " + json(scenario).dump() + ",\n  \"policies\": []\n}\n");
}

}  // namespace

TEST_CASE("base64 of every length, and deflated text comes back") {
  for (std::size_t length = 0; length < 300; ++length) {
    const std::string text(length, 'x');
    CHECK(inflated(report::deflated_base64(text)) == text);
  }
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>((i * 7919) >> 3);
  CHECK((inflated(report::deflated_base64(bytes)) == bytes));
}

TEST_CASE("JSON inside a script element has no < left, and is the same JSON") {
  const json value = {{"name", "</script><!-- <b>"}, {"x", 1}};
  const std::string safe = report::script_safe(value.dump());
  CHECK(safe.find('<') == std::string::npos);
  CHECK(json::parse(safe) == value);
}

TEST_CASE("a packed table: texts by number, equal columns once, numbers rounded") {
  report::PackedTable table({{"policy"}, {"job"}, {"cost_usd", report::Packing::number}, {"end_s", report::Packing::date}});
  const auto row = [&](const char* job, double usd, double end_s) {
    table.add_text("manual");
    table.add_text(job);
    table.add_number(usd);
    table.add_number(end_s);
    table.end_row();
  };
  row("b", 1.23456789, 1000000.126);
  row("", std::nan(""), 5);
  row("b", 2e-7, 0);
  CHECK(json::parse(table.json()) == json::parse(R"({"rows": 3, "columns": {
    "policy": {"all": "manual"}, "job": {"names": ["b"], "codes": [0, -1, 0]},
    "cost_usd": {"numbers": [1.23457, null, 2e-7]}, "end_s": {"numbers": [1000000.13, 5, 0]}}})"));
  // Rows taken out again: as if they had never been put in.
  table.keep([](std::size_t r) { return r > 0; });
  CHECK(json::parse(table.json()) == json::parse(R"({"rows": 2, "columns": {
    "policy": {"all": "manual"}, "job": {"names": ["b"], "codes": [-1, 0]},
    "cost_usd": {"numbers": [null, 2e-7]}, "end_s": {"numbers": [5, 0]}}})"));
  CHECK(report::PackedTable({{"a"}, {"b", report::Packing::number}}).json() ==
        R"({"rows":0,"columns":{"a":{"all":null},"b":{"all":null}}})");
}

// Samples at 0, 1, 4 and 8 s: 2, 10, 6, and 0 that holds for no time. In two steps of 4 s:
// (1 x 2 + 3 x 10)/4 = 8 and (4 x 6)/4 = 6.
TEST_CASE("a step function thinned out keeps its integral") {
  const std::vector<report::StepSample<1>> samples{{0, {2}}, {1, {10}}, {4, {6}}, {8, {0}}};
  const auto means = report::step_means(samples, 2);
  REQUIRE(means.size() == 2);
  CHECK(means[0].time_s == 0);
  CHECK(means[0].values[0] == Approx(8));
  CHECK(means[1].time_s == 4);
  CHECK(means[1].values[0] == Approx(6));
  CHECK(report::step_means(samples, 4).size() == 4);
  // Three steps: the integral stays 2 + 30 + 24 = 56.
  double integral = 0;
  for (const auto& mean : report::step_means(samples, 3)) integral += mean.values[0] * 8 / 3;
  CHECK(integral == Approx(56));
  CHECK(report::step_means(std::vector<report::StepSample<1>>{}, 3).empty());
}

TEST_CASE("the page is filled slot by slot: what goes in is not looked at again") {
  const TemporaryFolder folder;
  write_summary(folder, "<a> & @rehearse-detail@");
  const std::string html = report::html_report({.folder = folder.path(), .page = kPage});
  CHECK(html.starts_with("<title>&lt;a&gt; &amp; @rehearse-detail@</title>{"));
  CHECK(html.find("\\u003ca>") != std::string::npos);
  const std::string detail = html.substr(html.rfind('{') + 1);
  const json parts = json::parse(inflated(detail.substr(0, detail.size() - 1)));
  CHECK(parts.at("jobs").is_null());
  CHECK(parts.at("counted") == json::object());
}

TEST_CASE("the page is told the columns that the summary's kind of study shows, as the terminal has them") {
  const TemporaryFolder folder;
  const auto tables = [&](const std::string& kinds) {
    folder.write("summary.json", R"({"scenario": "s", )" + kinds + R"("policies": []})");
    const std::string html = report::html_report({.folder = folder.path(), .page = kPage});
    const std::size_t begin = html.find('{') + 1;
    return json::parse(html.substr(begin, html.rfind("}{") - begin)).at("tables");
  };
  const auto fields = [](const json& of) {
    std::vector<std::string> names;
    for (const json& table : of)
      for (const json& column : table.at("columns")) names.push_back(column.at("field"));
    return names;
  };
  const auto shown = [](const report::StudyKinds& kinds) {
    std::vector<std::string> names;
    for (const report::MetricColumns& columns : report::metric_columns(kinds))
      for (const report::MetricField* field : columns.fields) names.emplace_back(field->name);
    return names;
  };
  const json queue = tables(R"("kinds": ["queue", "nodes"], )");
  CHECK(fields(queue) == shown({.queue = true, .nodes = true}));
  CHECK(queue[0].at("queue") == true);
  CHECK(queue[2].at("queue") == false);
  CHECK(queue[0].at("columns")[0].at("label") == "mean JCT");
  CHECK(queue[0].at("columns")[0].at("shown") == "duration");
  CHECK(queue[0].at("columns")[0].at("over") == "jobs_completed");
  CHECK(fields(tables("")) == shown({.configuration = true}));  // results of before they said what they are about
}

TEST_CASE("a folder without our summary is the user's mistake") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(report::html_report({.folder = folder.path(), .page = kPage}), sim::InputError);
  folder.write("summary.json", "{\"policies\": []}");
  CHECK_THROWS_AS(report::html_report({.folder = folder.path(), .page = kPage}), sim::InputError);
  folder.write("summary.json", "not JSON");
  CHECK_THROWS_AS(report::html_report({.folder = folder.path(), .page = kPage}), sim::InputError);
  folder.write("summary.json", "{\"scenario\": \"s\"}");
  CHECK_THROWS_WITH(report::html_report({.folder = folder.path(), .page = kPage}), Catch::Contains("a list of policies"));
}

TEST_CASE("details of a run: the first repetition's jobs, all repetitions counted") {
  const TemporaryFolder folder;
  write_summary(folder, "s");
  folder.write("jobs.csv",
               "policy,repetition,job,submit_s,start_s,end_s,state,reason,deadline_met,accuracy_met,cost_usd\n"
               "p,0,a,0,1,11,finished,,true,true,1\n"
               "p,0,b,5,5,25,finished,,false,false,2\n"
               "p,1,a,0,0,30,finished,,false,true,4\n"
               "p,1,b,0,,0,failed,rejected,,,0\n");
  const json details = json::parse(report::run_details_json(folder.path()));
  CHECK(details.at("jobs").at("all_rows") == 2);
  const json& columns = details.at("jobs").at("table").at("columns");
  CHECK(columns.at("job").at("names") == json::parse(R"(["a", "b"])"));
  CHECK(columns.at("end_s").at("numbers") == json::parse("[11, 25]"));
  CHECK(columns.at("user").at("all").is_null());  // a column that the file has not
  const json& p = details.at("counted").at("p");
  CHECK(p.at("fates") == json::parse(R"({"limits kept": 1, "late and inaccurate": 1, "late": 1, "failed: rejected": 1})"));
  CHECK(p.at("completion_s") == json::parse(R"({"count": 3, "values": [11, 20, 30]})"));  // end - submission, finished ones
  CHECK(p.at("waiting_s") == json::parse(R"({"count": 3, "values": [0, 0, 1]})"));
  CHECK(p.at("cost_usd").at("count") == 4);
  CHECK(details.at("nodes").is_null());
  folder.write("summary.json", "{\"scenario\": \"s\", \"measure\": {\"warmup_s\": 1, \"until_s\": null}}");
  const json measured = json::parse(report::run_details_json(folder.path()));
  CHECK(measured.at("counted").at("p").at("completion_s").at("count") == 1);  // b of repetition 0 alone is submitted after 1 s
}

TEST_CASE("of several decisions at one date the report has the last, pool by pool") {
  const TemporaryFolder folder;
  folder.write("summary.json", R"({"scenario": "s", "policies": []})");
  folder.write("jobs.csv", "policy,repetition,job,submit_s,end_s,state\n");
  folder.write("utilization.csv",
               "policy,repetition,time_s,pool,busy_devices,allocated_devices,queued_jobs,power_w\n"
               "a,0,0,v,8,8,2,100\na,0,0,t,1,1,2,50\na,0,0,v,4,6,1,90\na,0,5,v,0,0,0,10\n");
  const json found = json::parse(report::run_details_json(folder.path())).at("utilization");
  CHECK(found.at("rows") == 3);
  CHECK(found.at("columns").at("time_s") == json::parse(R"({"numbers": [0, 5, 0]})"));
  CHECK(found.at("columns").at("busy_devices") == json::parse(R"({"numbers": [4, 0, 1]})"));
}

TEST_CASE("files that a run did not write are named, and their figures left out") {
  const TemporaryFolder folder;
  write_summary(folder, "s");
  folder.write("decisions.csv", "policy,repetition,job,decision\np,0,a,start\n");
  const json details = json::parse(report::run_details_json(folder.path()));
  CHECK(details.at("missing") == json::parse(R"(["jobs.csv", "nodes.csv", "stages.csv", "predictions.csv", "utilization.csv"])"));
  CHECK(details.at("decisions").at("all_rows") == 1);
}

// 12,000 jobs of two policies, submitted one a second: 24,000 rows of jobs.csv, of which a third of 60,000 go in: 10,000 jobs,
// 833 of each 1,000. Each has three decisions a policy: 10,000 rows are of 10,000 / 6 = 1,666 jobs, 138 or 139 of each 1,000. Of
// the nodes 20,000 rows of two a job: the first 10,000 jobs.
TEST_CASE("of many jobs an even sample goes in, and what is counted is over all") {
  const TemporaryFolder folder;
  write_summary(folder, "s");
  std::string jobs = "policy,repetition,job,model,submit_s,start_s,end_s,state\n", decisions = "policy,repetition,job,decision\n",
              nodes = "policy,repetition,job,pool,node,devices,start_s,end_s\n";
  for (const char* policy : {"p", "q"})
    for (int i = 0; i < 12000; ++i) {
      jobs += fmt::format("{},0,j{},m{},{},{},{},finished\n", policy, i, i % 2, i, i, i + 10);
      for (int d = 0; d < 3; ++d) decisions += fmt::format("{},0,j{},start\n", policy, i);
      nodes += fmt::format("{},0,j{},v,0,1,{},{}\n", policy, i, i, i + 10);
    }
  folder.write("jobs.csv", jobs);
  folder.write("decisions.csv", decisions);
  folder.write("nodes.csv", nodes);
  const json details = json::parse(report::run_details_json(folder.path()));
  CHECK(details.at("all_jobs") == 12000);
  CHECK(details.at("sampled") == true);
  CHECK(details.at("counted").at("p").at("fates").at("limits kept") == 12000);
  CHECK(details.at("counted").at("q").at("completion_s").at("count") == 12000);
  const auto names_in = [&](const char* part) {
    std::set<int> numbers;
    for (const json& name : details.at(part).at("table").at("columns").at("job").at("names"))
      numbers.insert(std::stoi(name.get<std::string>().substr(1)));
    return numbers;
  };
  const auto check_spread = [](const std::set<int>& numbers, std::size_t all) {
    CHECK(numbers.size() == all);
    for (int from = 0; from < 12000; from += 1000) {
      const auto count = std::distance(numbers.lower_bound(from), numbers.lower_bound(from + 1000));
      CHECK(std::abs(static_cast<double>(count) - static_cast<double>(all) / 12) <= 10);
    }
  };
  CHECK(details.at("jobs").at("all_rows") == 24000);
  CHECK(details.at("jobs").at("table").at("rows") == 20000);
  CHECK(details.at("decisions").at("all_rows") == 72000);
  CHECK(details.at("decisions").at("table").at("rows") == 1666 * 6);
  const std::set<int> listed = names_in("jobs"), decided = names_in("decisions"), drawn = names_in("nodes");
  check_spread(listed, 10000);
  check_spread(decided, 1666);
  CHECK(std::includes(listed.begin(), listed.end(), decided.begin(), decided.end()));
  CHECK(drawn.size() == 10000);
  CHECK(*drawn.rbegin() == 9999);
  // Jobs that are drawn and not listed have their models.
  CHECK(details.at("nodes").at("table").at("columns").at("model").at("names") == json::parse(R"(["m0", "m1"])"));
}

TEST_CASE("a file that cannot be read is the user's mistake, with its line") {
  const TemporaryFolder folder;
  write_summary(folder, "s");
  folder.write("jobs.csv", "policy,repetition,job,submit_s,end_s,state\np,0,a,soon,1,finished\n");
  CHECK_THROWS_WITH(report::run_details_json(folder.path()), Catch::Contains("jobs.csv:2"));
}

TEST_CASE("details of a study: its graphs and timelines, and nothing that needs another program") {
  const TemporaryFolder folder;
  folder.write("a.svg", "<svg/>");
  folder.write("g.dot", "digraph {}");
  folder.write("timeline-x.json", "{}");
  folder.write("scenario.json", "{}");
  folder.write("t.csv", "a\n1\n");
  const json details = json::parse(report::study_details_json(folder.path()));
  CHECK(details.at("files") == json::parse(R"({"g.dot": "digraph {}", "timeline-x.json": "{}"})"));
  CHECK(details.at("left_out") == json::array());
}
