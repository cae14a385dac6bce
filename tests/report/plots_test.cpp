// Figures as gnuplot's scripts: what users wrote stays inside its quotes, and each kind finds its numbers.
#include <rapidcheck/catch.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>

#include "report/plots/gnuplot.hpp"
#include "report/plots/kinds.hpp"
#include "sim/base/errors.hpp"
#include "tests/scenarios/temporary_folder.hpp"

using namespace rehearse::report;
using rehearse::sim::InputError;
using Numbers = std::vector<std::vector<double>>;

namespace {

/// The script without what is in quotes; "unclosed" when a quote does not end on its line.
std::string skeleton(const std::string& script) {
  std::string out;
  bool quoted = false;
  for (const char c : script) {
    if (quoted && c == '\n') return "unclosed";
    if (c == '\'')
      quoted = !quoted;
    else if (!quoted)
      out += c;
  }
  return quoted ? "unclosed" : out;
}

Figure figure_with(const std::string& text) {
  return {.title = text,
          .x = {.label = text, .tics = {{0, text}, {1, text}}},
          .y = {.label = text},
          .series = {{.name = text, .style = Style::bars, .rows = {{0, 1, 1, 1}}},
                     {.name = text, .style = Style::line, .rows = {{0, 1}, {1, 2}}}}};
}

PlotRequest of(const std::string& folder, std::vector<Condition> where = {}) {
  return {.results = {folder}, .where = std::move(where), .x = {}, .y = {}, .by = {}, .higher = {}};
}

Figure make(const std::string& kind, const PlotRequest& request) {
  for (const PlotKind& k : plot_kinds())
    if (k.name == kind) return figure_of(k, request);
  throw std::out_of_range(kind);
}

const Numbers& rows_of(const Figure& figure, const std::string& name) {
  for (const Series& series : figure.series)
    if (series.name == name) return series.rows;
  throw std::out_of_range(name);
}

}  // namespace

TEST_CASE("a policy has its colour whoever stands beside it, and a yardstick is grey") {
  const auto colour_of = [](const std::vector<std::string>& names, std::size_t of) {
    Figure figure;
    for (const std::string& name : names) figure.series.push_back({.name = name, .style = Style::line, .rows = {{0, 1}, {1, 2}}});
    const std::string script = gnuplot_script(figure, {.name = "figure"});
    const std::string before = "index " + std::to_string(of) + " using 1:2 with lines lc rgb '";
    return script.substr(script.find(before) + before.size(), 7);
  };
  // static-isotonic has the fourth colour; others take the first that is free.
  CHECK(colour_of({"manual", "static-isotonic"}, 1) == "#CC6677");
  CHECK(colour_of({"static-isotonic", "mine"}, 0) == "#CC6677");
  CHECK(colour_of({"static-isotonic", "mine"}, 1) == "#332288");
  CHECK(colour_of({"mine", "manual", "another"}, 0) == "#44AA99");  // manual's own is the first
  CHECK(colour_of({"manual", "oracle", "another"}, 1) == "#777777");
  CHECK(colour_of({"manual", "oracle", "another"}, 2) == "#44AA99");  // a yardstick takes none
  CHECK(colour_of({"manual", "mine (yardstick)"}, 1) == "#777777");   // as its results say
}

TEST_CASE("no text leaves its quotes in a script, and none its line in the data") {
  rc::prop("any text", [](const std::string& text) {
    if (text.empty()) return;  // a series without a name has no title
    const Figure hostile = figure_with(text), tame = figure_with(std::string(text.size(), 'x'));
    for (const PlotFormat format : {PlotFormat::pdf, PlotFormat::svg, PlotFormat::png}) {
      const std::string script = gnuplot_script(hostile, {.format = format, .name = plot_name(text)});
      RC_ASSERT(skeleton(script) == skeleton(gnuplot_script(tame, {.format = format, .name = "x"})));
      for (const char c : script) RC_ASSERT(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
    }
    const std::string data = gnuplot_data(hostile), tame_data = gnuplot_data(tame);
    RC_ASSERT(std::count(data.begin(), data.end(), '\n') == std::count(tame_data.begin(), tame_data.end(), '\n'));
  });
  CHECK(gnuplot_quoted("it's `rm -rf`\n$(x)") == "'it\xe2\x80\x99s `rm -rf`?$(x)'");
  CHECK(gnuplot_quoted("caf\xc3\xa9") == "'caf\xc3\xa9'");
  CHECK(gnuplot_quoted("\xff\xfe") == std::string("'") + "?" + "?'");
  // A tic's label is a format of gnuplot's.
  CHECK(gnuplot_script(figure_with("5 %s"), {.name = "f"}).find("'5 %%s' 0") != std::string::npos);
  CHECK(plot_name("< touch x'") == "__touch_x_");
  CHECK(plot_name("") == "figure");
}

TEST_CASE("data: a block for each series, undefined numbers as such") {
  const Figure figure{.x = {},
                      .y = {},
                      .series = {{.name = "a", .style = Style::line, .rows = {{1, 0.1}, {2, NAN}}},
                                 {.name = "b", .style = Style::points, .rows = {}}}};
  CHECK(gnuplot_data(figure) == "# a\n# x y\n1 0.1\n2 NaN\n\n\n# b\n# x y\nNaN NaN NaN NaN\n");
}

TEST_CASE("data: what stands at an axis of names stands behind the numbers too, and what was kept above all") {
  Figure figure{.x = {.tics = {{0, "fifo"}, {1, "it's \"sjf\""}}}, .series = {}, .note = "policy=fifo"};
  figure.series.push_back({.name = "", .style = Style::bars, .rows = {{-0.2, 1}, {1.2, 2}}});
  figure.series.push_back({.name = "boxes", .style = Style::boxes, .rows = {{0.65, 1.35, 0, 1}}});
  figure.series.push_back({.name = "", .style = Style::guide, .rows = {{0, 0}}});
  CHECK(gnuplot_data(figure) ==
        "# policy=fifo\n# \n# x y low high\n-0.2 1 # fifo\n1.2 2 # it's 'sjf'\n"
        "\n\n# boxes\n# left right bottom top\n0.65 1.35 0 1 # it's 'sjf'\n\n\n# \n# x y\n0 0\n");
}

TEST_CASE("names that a legend has no room for keep their head and tail, and stay apart") {
  // One column: 3.5 in, less 0.15 + 3 x 0.066 of the axis and 0.5 of the sample, of 0.048 in a letter: 55.
  Figure figure{.series = {}};
  const std::string middle(80, 'm');
  for (const std::string& name : {"first" + middle + "end", "first" + middle + "mend", std::string("short")})
    figure.series.push_back({.name = name, .style = Style::line, .rows = {{1, 1}}});
  const std::string script = gnuplot_script(figure, {.name = "f"});
  const std::string gap = "\xe2\x80\xa6";
  CHECK(script.find("title 'first" + std::string(22, 'm') + gap + std::string(24, 'm') + "end'") != std::string::npos);
  CHECK(script.find("mend'") != std::string::npos);
  CHECK(script.find("title 'short'") != std::string::npos);
  CHECK(script.find(middle) == std::string::npos);
  figure.series[1].name = figure.series[0].name;  // of two folders of one name
  CHECK(gnuplot_script(figure, {.name = "f"}).find(gap + "2" + gap) != std::string::npos);
  CHECK(gnuplot_script(figure, {.two_columns = true, .name = "f"}).find("'first" + middle + "end'") != std::string::npos);
}

TEST_CASE("a legend has as many columns as fit right of the numbers at the axis") {
  // Names of 18 letters: 0.5 + 18 x 0.048 = 1.364 in for the last column, 27 x 0.058 = 1.566 in for each before it.
  const auto columns = [](double high, bool two_columns) {
    Figure figure{.y = {.label = "time, s", .low = 0.0, .high = high}, .series = {}};
    for (int i = 0; i < 6; ++i)
      figure.series.push_back({.name = "oracle (yardstick)", .style = Style::line, .rows = {{1, 1}, {2, high}}});
    const std::string script = gnuplot_script(figure, {.two_columns = two_columns, .name = "f"});
    const std::string word = "maxcols ";
    return std::stoi(script.substr(script.find(word) + word.size()));
  };
  // One column wide, 3.5 in: 0.15 + 0.2 + 3 x 0.066 leave 2.952 for " 9", 0.15 + 0.2 + 6 x 0.066 leave 2.754 for " 90000".
  CHECK(columns(9, false) == 2);
  CHECK(columns(90000, false) == 1);
  CHECK(columns(90000, true) == 4);  // 7.16 in: 6.414 - 1.364 = 5.05 = 3.2 x 1.566
}

TEST_CASE("a distribution counts failed jobs as never done") {
  const TemporaryFolder folder;
  // Two of three are done, after 60 and 120 s: 1 and 2 minutes, thirds of all jobs.
  folder.write("jobs.csv", "policy,state,submit_s,end_s\na,finished,0,120\na,failed,0,10\na,finished,30,90\n");
  const Figure figure = make("cdf", of(folder.path()));
  CHECK(rows_of(figure, "a") == Numbers{{1, 1.0 / 3}, {2, 2.0 / 3}});
}

TEST_CASE("rows that are asked for: any of a column's values, and of every column one") {
  const TemporaryFolder folder;
  folder.write("jobs.csv",
               "policy,repetition,state,submit_s,end_s\nfifo,0,finished,0,60\neasy,0,finished,0,120\n"
               "sjf,0,finished,0,180\nfifo,1,finished,0,240\n");
  const auto drawn = [&](std::vector<Condition> where) {
    std::vector<std::string> names;
    for (const Series& series : make("cdf", of(folder.path(), std::move(where))).series) names.push_back(series.name);
    return names;
  };
  CHECK(drawn({{"policy", "fifo"}, {"policy", "sjf"}}) == std::vector<std::string>{"fifo", "sjf"});
  CHECK(drawn({{"policy", "fifo"}, {"policy", "sjf"}, {"repetition", "1"}}) == std::vector<std::string>{"fifo"});
  CHECK_THROWS_WITH(drawn({{"policy", "fifo"}, {"policy", "eazy"}}),
                    Catch::Contains("--where policy=eazy") && Catch::Contains("did you mean \"easy\"?"));
  CHECK_THROWS_WITH(drawn({{"policy", "easy"}, {"repetition", "1"}}), Catch::Contains("rows that meet every --where"));
}

TEST_CASE("savings: bars of several results side by side") {
  const TemporaryFolder folder;
  for (const char* name : {"one", "two"}) std::filesystem::create_directory(folder.path() + "/" + name);
  const std::string summary =
      R"({"yardsticks": ["best"], "policies": [{"policy": "manual", "status": "ok", "effective_saving_percent": {"mean": 0, "ci95_low": null, "ci95_high": null}},
    {"policy": "bad", "status": "failed", "reason": "x"},
    {"policy": "best", "status": "ok", "effective_saving_percent": {"mean": 20, "ci95_low": 15, "ci95_high": 25}}]})";
  folder.write("one/summary.json", summary);
  folder.write("two/summary.json", summary);
  const Figure one = make("savings", of(folder.path() + "/one"));
  const Numbers& bars = rows_of(one, "");
  REQUIRE(bars.size() == 2);
  CHECK(bars[0][0] == Approx(0).margin(1e-12));
  CHECK(std::vector<double>(bars[0].begin() + 1, bars[0].end()) == std::vector<double>{0, 0, 0});  // without bounds, no whisker
  CHECK(bars[1][0] == Approx(1));
  CHECK(std::vector<double>(bars[1].begin() + 1, bars[1].end()) == std::vector<double>{20, 15, 25});
  CHECK(one.x.tics == std::vector<std::pair<double, std::string>>{{0, "manual"}, {1, "best (yardstick)"}});
  PlotRequest both = of(folder.path() + "/one/");
  both.results.push_back(folder.path() + "/two");
  const Figure two = make("savings", both);
  CHECK(rows_of(two, "one")[1][0] == Approx(0.8));
  CHECK(rows_of(two, "two")[1][0] == Approx(1.2));
  PlotRequest other = of(folder.path() + "/one");
  other.y = "effective_saving_percnt";
  CHECK_THROWS_WITH(make("savings", other), Catch::EndsWith("found none; did you mean \"effective_saving_percent\"?"));
}

TEST_CASE("yardsticks are marked in legends, also beside another folder's") {
  const TemporaryFolder folder;
  folder.write("summary.json", R"({"yardsticks": ["oracle"], "policies": []})");
  folder.write("jobs.csv", "policy,state,submit_s,end_s\noracle,finished,0,120\noracle-like,finished,0,120\n");
  const Figure figure = make("cdf", of(folder.path()));
  REQUIRE(figure.series.size() == 2);
  CHECK(figure.series[0].name == "oracle (yardstick)");
  CHECK(figure.series[1].name == "oracle-like");
  Figure two{.x = {}, .y = {}, .series = {{.name = "oracle (first)"}, {.name = "oracles"}}};
  mark_yardsticks(two, {"oracle"});
  CHECK(two.series[0].name == "oracle (yardstick) (first)");
  CHECK(two.series[1].name == "oracles");
}

TEST_CASE("of a queue study the bars are speed-ups, and any column is named as in the tables") {
  const TemporaryFolder folder;
  folder.write("summary.json", R"({"kinds": ["queue"], "policies": [{"policy": "a", "status": "ok",
    "jct_speedup": {"mean": 2, "ci95_low": 1.5, "ci95_high": 3}, "waiting_mean_s": {"mean": 60, "ci95_low": null, "ci95_high": null}}]})");
  const Figure speedups = make("savings", of(folder.path()));
  CHECK(speedups.y.label == "speed-up");
  CHECK(std::vector<double>(rows_of(speedups, "")[0].begin() + 1, rows_of(speedups, "")[0].end()) ==
        std::vector<double>{2, 1.5, 3});
  PlotRequest waiting = of(folder.path());
  waiting.y = "waiting_mean_s";
  CHECK(make("savings", waiting).y.label == "waiting, s");
}

TEST_CASE("the Pareto front is a staircase through what nothing else beats") {
  const TemporaryFolder folder;
  const std::string csv = folder.write("front.csv", "name,cost_usd,accuracy\na,1,0.5\nb,2,0.9\nc,3,0.8\nd,2,0.7\n");
  PlotRequest request = of(csv);
  request.x = "cost_usd";
  request.y = "accuracy";
  request.higher = {"accuracy"};
  const Figure figure = make("pareto", request);
  CHECK(rows_of(figure, "Pareto front") == Numbers{{1, 0.5}, {2, 0.5}, {2, 0.9}});  // c and d lose against b
  CHECK(rows_of(figure, "").size() == 4);
  CHECK(figure.x.label == "cost, $");
  request.higher.clear();  // dear and inaccurate: a alone
  CHECK(rows_of(make("pareto", request), "Pareto front") == Numbers{{1, 0.5}});
}

TEST_CASE("a column of which more is better is one of the axes'") {
  const TemporaryFolder folder;
  PlotRequest request = of(folder.write("front.csv", "cost_usd,accuracy\n1,0.5\n"));
  request.x = "cost_usd";
  request.y = "accuracy";
  request.higher = {"acuracy"};
  CHECK_THROWS_WITH(
      make("pareto", request),
      "--higher: expected the column of an axis (cost_usd or accuracy), found \"acuracy\"; did you mean \"accuracy\"?");
}

TEST_CASE("what a kind does not heed is refused, with the kinds that do") {
  const auto message = [](const std::string& name, const PlotRequest& request) -> std::string {
    for (const PlotKind& kind : plot_kinds())
      if (kind.name == name) try {
          check_request(kind, request);
          return "";
        } catch (const InputError& error) {
          return error.what();
        }
    throw std::out_of_range(name);
  };
  CHECK(
      message("savings", of("r", {{"policy", "a"}})).starts_with("--where: expected a kind that takes that (line, heat, bars, "));
  PlotRequest request = of("r");
  request.y = "cost_usd";
  CHECK(message("savings", request) == "");
  CHECK(message("cdf", request) ==
        "--y: expected a kind that takes that (savings, line, heat, bars, tradeoff, queue, utilization, pareto, errors), found "
        "cdf");
  request = of("r");
  request.x = request.by = "policy";
  request.higher = {"policy"};
  CHECK(message("pareto", request) == "");
  CHECK(message("errors", request) == "--higher: expected a kind that takes that (pareto), found errors");
  CHECK(message("savings", request) ==
        "--x: expected a kind that takes that (line, heat, bars, tradeoff, cdf, choices, pareto, errors), found savings\n"
        "--by: expected a kind that takes that (line, bars, tradeoff, cdf, choices, queue, utilization, pareto, errors), found "
        "savings\n"
        "--higher: expected a kind that takes that (pareto), found savings");
  request = of("r");
  request.results.emplace_back("s");
  CHECK(message("cdf", request) == "");
  CHECK(message("gantt", request) == "several folders of results: expected a kind that takes that (savings, cdf), found gantt");
}

TEST_CASE("numbers on a logarithmic axis have one style: plain up to 100000, powers beyond") {
  const auto script = [](double low, double high) {
    const Figure figure{.x = {.logarithmic = true},
                        .y = {.low = 0, .high = 1},
                        .series = {{.name = "a", .style = Style::line, .rows = {{low, 0.1}, {high, 0.2}}}}};
    return gnuplot_script(figure, {.name = "f"});
  };
  const auto has = [](const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; };
  CHECK(has(script(200, 5000), "set xtics ('200' 200, '500' 500, '1000' 1000, '2000' 2000, '5000' 5000)"));
  CHECK(has(script(20000, 1e5), "'20000' 20000, '50000' 50000, '100000' 100000)"));
  CHECK(has(script(20000, 2e5), "'2e4' 20000, '5e4' 50000, '1e5' 100000, '2e5' 200000)"));
  CHECK(has(script(2e-5, 1e-3), "'2e-5' 2e-05, '5e-5' 5e-05, '1e-4' 0.0001, "));
  CHECK(has(script(1, 1e6), "set format x '1e%T'"));  // decades, which gnuplot places
  CHECK_FALSE(has(script(1, 1e4), "set format"));
}

TEST_CASE("speed-up: samples a second over those of one device, at the batch size with most rows") {
  const TemporaryFolder folder;
  folder.write("grid.csv", "job,pool,workers,batch_size,samples_per_s\nj,p,1,32,100\nj,p,2,32,150\nj,p,1,64,500\nk,p,1,32,1\n");
  const Figure figure = make("speedup", of(folder.path()));
  CHECK(rows_of(figure, "p") == Numbers{{1, 1}, {2, 1.5}});
  CHECK(figure.note == "job=j, batch_size=32");
  CHECK(rows_of(make("speedup", of(folder.path(), {{"batch_size", "64.0"}})), "p") == Numbers{{1, 1}});
}

TEST_CASE("a Gantt chart has a row for each job, its stages by pool, and what it waited") {
  const TemporaryFolder folder;
  folder.write(
      "jobs.csv",
      "policy,repetition,job,submit_s,start_s,end_s,pool\np,0,late,0,7200,10800,a\np,0,first,0,0,3600,a\np,0,never,0,,9,\n");
  folder.write("stages.csv",
               "policy,repetition,job,pool,start_s,end_s\np,0,first,a,0,3600\np,0,late,a,7200,9000\np,0,late,b,9000,10800\n");
  const Figure figure = make("gantt", of(folder.path()));
  CHECK(rows_of(figure, "a").size() == 2);
  CHECK(rows_of(figure, "b")[0][0] == 2.5);
  REQUIRE(rows_of(figure, "waiting").size() == 1);
  CHECK(rows_of(figure, "waiting")[0][1] == 2);
  CHECK(rows_of(figure, "waiting")[0][2] == Approx(2 - 0.08));  // the second row
}

TEST_CASE("files that are missing, have no such column or no such row are refused") {
  const TemporaryFolder folder;
  for (const PlotKind& kind : plot_kinds()) {
    INFO(kind.name);
    CHECK_THROWS_AS(kind.make(of(folder.path())), InputError);
  }
  // A run's folder, for kinds that draw a study's.
  const auto wants = [&](const std::string& study, const std::string& file) {
    return folder.path() + ": expected results of the study " + study + ", with " + file + ", found a folder without it";
  };
  CHECK_THROWS_WITH(make("deadlines", of(folder.path())), wants("frontier", "frontier.csv"));
  CHECK_THROWS_WITH(make("pareto", of(folder.path())), wants("frontier", "frontier.csv"));
  CHECK_THROWS_WITH(make("learning", of(folder.path())), wants("learning-curve", "learning.csv"));
  CHECK_THROWS_WITH(make("threads", of(folder.path())), wants("threads", "threads-curves.csv"));
  CHECK_THROWS_WITH(make("speedup", of(folder.path())),
                    wants("characterise (speed-ups of policies: plot bars --relative-to POLICY)", "grid.csv"));
  CHECK_THROWS_WITH(make("utilization", of(folder.path())),
                    folder.path() +
                        ": expected results of a run, with utilization.csv, found a folder without it (\"output\": "
                        "{\"utilization\": \"all\"} writes it)");
  folder.write("jobs.csv", "policy,state,submit_s,end_s\na,finished,0,120\n");
  CHECK_THROWS_AS(make("cdf", of(folder.path(), {{"policy", "b"}})), InputError);
  CHECK_THROWS_AS(make("cdf", of(folder.path(), {{"colour", "b"}})), InputError);
  CHECK_THROWS_WITH(make("cdf", of(folder.path(), {{"polcy", "a"}})), Catch::EndsWith("a column \"polcy\", found \"policy\""));
}

namespace {

/// Two policies at two starts, two repetitions each: what a sweep exports.
const std::string kRows =
    "/switching/start_s,policy,repetition,jct_mean_s,effective_cost_usd,effective_saving_percent\n"
    "10,a,0,100,1,0\n10,a,1,200,3,0\n10,b,0,50,2,-100\n10,b,1,50,2,33\n"
    "1000,a,0,300,5,0\n1000,a,1,300,7,0\n1000,b,0,100,4,20\n1000,b,1,100,4,42\n";

PlotRequest of_rows(const std::string& file) {
  PlotRequest request = of(file);
  request.swept = {"/switching/start_s"};
  return request;
}

}  // namespace

TEST_CASE("a line over what was swept has means and Student's intervals") {
  const TemporaryFolder folder;
  const Figure figure = make("line", of_rows(folder.write("rows.csv", kRows)));
  CHECK(figure.x.label == "start, s");
  CHECK(figure.x.logarithmic);
  CHECK(figure.y.label == "effective cost, $");
  const Numbers& a = rows_of(figure, "a");
  REQUIRE(a.size() == 2);
  // Costs 1 and 3: mean 2, deviation sqrt(2), t(0.975, 1) = 12.7062: 2 -+ 12.7062 sqrt(2) / sqrt(2).
  CHECK(a[0][1] == Approx(2));
  CHECK(a[0][2] == Approx(2 - 12.7062).epsilon(1e-5));
  CHECK(a[0][3] == Approx(2 + 12.7062).epsilon(1e-5));
  CHECK(a[1][1] == Approx(6));
  CHECK(a[0][0] == Approx(10).epsilon(0.05));  // beside b's
  CHECK(a[0][0] < rows_of(figure, "b")[0][0]);
}

TEST_CASE("a figure says that its means are of one run, where they have no interval") {
  const TemporaryFolder folder;
  folder.write("repetitions.csv", "policy,repetition,jct_mean_s,effective_cost_usd\na,0,100,1\nb,0,50,2\nb,1,60,2\n");
  CHECK(make("bars", of(folder.path())).has_lone_runs);
  CHECK(make("tradeoff", of(folder.path())).has_lone_runs);
  CHECK_FALSE(make("bars", of(folder.path(), {{"policy", "b"}})).has_lone_runs);
}

TEST_CASE("a speed-up is paired over repetitions: of the means that are printed, of money the geometric mean of ratios") {
  const TemporaryFolder folder;
  PlotRequest request = of_rows(folder.write("rows.csv", kRows));
  request.y = "jct_mean_s";
  request.relative_to = "a";
  const Figure figure = make("line", request);
  CHECK(figure.y.label == "speed-up over a");
  // At 10: 100 / 50 and 200 / 50: means 150 / 50; at 1000 twice 3, without a deviation.
  const Numbers& b = rows_of(figure, "b");
  CHECK(b[0][1] == Approx(3));
  CHECK(b[1][1] == Approx(3));
  CHECK(b[1][2] == Approx(3));
  CHECK(rows_of(figure, "a")[0][1] == Approx(1));
  const std::string money = folder.write("money.csv", "policy,repetition,effective_cost_usd\na,0,100\na,1,200\nb,0,50\nb,1,50\n");
  PlotRequest cheaper = of(money);
  cheaper.x = "policy", cheaper.y = "effective_cost_usd", cheaper.relative_to = "a";
  CHECK(rows_of(make("bars", cheaper), "")[1][1] == Approx(std::sqrt(8)));  // ratios 2 and 4
  request.swept.clear();  // of a CSV file nothing is known to be swept: rows are paired by what the figure shows
  request.x = "/switching/start_s";
  CHECK(rows_of(make("line", request), "b")[1][1] == Approx(3));
  CHECK(rows_of(make("line", request), "a")[0][1] == Approx(1));
  request.x = "policy";
  CHECK_THROWS_WITH(make("bars", request), Catch::Contains("one row of a to pair each row with"));
  request.x.clear();
  request.swept = {"/switching/start_s"};
  request.relative_to = "aa";
  CHECK_THROWS_WITH(make("line", request), Catch::Contains("--relative-to") && Catch::Contains("\"aa\""));
}

TEST_CASE("an unknown column is a mistake that names the nearest") {
  const TemporaryFolder folder;
  PlotRequest request = of_rows(folder.write("rows.csv", kRows));
  for (const std::string kind : {"line", "bars", "tradeoff", "heat"}) {
    request.x = "jct_men_s";
    request.y = "policy";
    INFO(kind);
    CHECK_THROWS_WITH(make(kind, request), Catch::Contains("jct_mean_s"));
  }
}

TEST_CASE("a heat map frames what is best, whichever way that is") {
  const TemporaryFolder folder;
  PlotRequest request = of_rows(folder.write("rows.csv", kRows));
  request.y = "policy";
  const auto framed = [&] {  // the left border of the framed cell
    const Figure figure = make("heat", request);
    for (const Series& series : figure.series)
      if (series.style == Style::frame) return series.rows.at(0)[0];
    return -1.0;
  };
  CHECK(framed() == 1);  // b saves most at 1000
  request.value = "effective_cost_usd";
  CHECK(framed() == 0);  // the least is at 10
}

TEST_CASE("choices are parts of the jobs that ran") {
  const TemporaryFolder folder;
  const Figure figure =
      make("choices", of(folder.write("jobs.csv", "policy,pool,start_s\na,k80,0\na,k80,0\na,v100,0\na,v100,5\nb,v100,1\nb,,\n")));
  // k80 has half of a's jobs from 0 to 0.5, v100 the other half, and all of b's that ran.
  CHECK(rows_of(figure, "k80") == Numbers{{-0.35, 0.35, 0, 0.5}});
  CHECK(rows_of(figure, "v100") == Numbers{{-0.35, 0.35, 0.5, 1}, {0.65, 1.35, 0, 1}});
}

TEST_CASE("over time, numbers of pools are added up for a policy, and queue lengths are the cluster's") {
  const TemporaryFolder folder;
  const std::string file = folder.write("utilization.csv",
                                        "policy,repetition,time_s,pool,busy_devices,queued_jobs\n"
                                        "a,0,0,k80,1,3\na,0,0,v100,2,3\na,0,3600,k80,0,1\na,0,3600,v100,2,1\n");
  CHECK(rows_of(make("queue", of(file)), "a") == Numbers{{0, 3}, {1, 1}});
  PlotRequest request = of(file);
  request.by = "policy";
  CHECK(rows_of(make("utilization", request), "a") == Numbers{{0, 3}, {1, 2}});
}

TEST_CASE("over time, of several decisions at one date the last one holds, pool by pool") {
  const TemporaryFolder folder;
  // At 0 both pools are asked twice: 4 and 2 devices are busy in the end, of 4 and 4; at 1 h the first alone has a row.
  const std::string file = folder.write("utilization.csv",
                                        "policy,repetition,time_s,pool,busy_devices,queued_jobs,power_w,fragmentation\n"
                                        "a,0,0,k80,3,5,300,0.5\na,0,0,v100,1,5,400,0\na,0,0,k80,4,3,350,0.25\n"
                                        "a,0,0,v100,2,3,450,0\na,0,3600,k80,0,1,100,0\n");
  CHECK(rows_of(make("utilization", of(file)), "k80") == Numbers{{0, 4}, {1, 0}});
  CHECK(rows_of(make("utilization", of(file)), "v100") == Numbers{{0, 2}});
  CHECK(rows_of(make("queue", of(file)), "a") == Numbers{{0, 3}, {1, 3}});  // v100's row still says 3
  PlotRequest request = of(file);
  request.by = "policy";
  CHECK(rows_of(make("utilization", request), "a") == Numbers{{0, 6}, {1, 2}});
  request.y = "power_w";
  CHECK(rows_of(make("queue", request), "a") == Numbers{{0, 800}, {1, 550}});
  request.y = "fragmentation";  // a share: of the pools the largest
  CHECK(rows_of(make("queue", request), "a") == Numbers{{0, 0.25}, {1, 0}});
}

TEST_CASE("no number over time is above the largest that the pools' rows have together") {
  rc::prop("over time", [](const std::vector<std::pair<std::uint8_t, std::uint8_t>>& given) {
    const TemporaryFolder folder;
    std::string text = "policy,repetition,time_s,pool,busy_devices\n";
    std::uint64_t date_s = 0;
    double most[3] = {0, 0, 0};
    for (const auto& [step, value] : given) {
      date_s += step % 3;  // often none: several rows of one date
      const std::size_t pool = value % 3;
      most[pool] = std::max(most[pool], static_cast<double>(value));
      text += "a,0," + std::to_string(date_s) + ",p" + std::to_string(pool) + "," + std::to_string(value) + "\n";
    }
    if (given.empty()) return;
    PlotRequest request = of(folder.write("utilization.csv", text));
    for (const std::string by : {"pool", "policy"}) {
      request.by = by;
      for (const Series& series : make("utilization", request).series) {
        const double bound = by == "policy" ? most[0] + most[1] + most[2] : most[series.name.back() - '0'];
        double last = -1;
        for (const std::vector<double>& row : series.rows) {
          RC_ASSERT(row[0] > last);  // each date once
          RC_ASSERT(row[1] <= bound);
          last = row[0];
        }
      }
    }
  });
}

TEST_CASE("no axis cuts a mean or its whisker") {
  rc::prop("whiskers", [](const std::vector<std::array<std::int16_t, 3>>& given, bool crosses, bool bounded) {
    const Style style = crosses ? Style::cross : Style::bars;
    Figure figure{.x = {}, .y = {}, .series = {{.name = "s", .style = style, .rows = {}}}};
    if (bounded) figure.y.low = 0.0, figure.y.high = 100.0;
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (const auto& [mean, below, above] : given) {
      const double from = mean - std::abs(below), to = mean + std::abs(above);
      if (crosses)
        figure.series[0].rows.push_back({1, static_cast<double>(mean), 1, 1, from, to});
      else
        figure.series[0].rows.push_back({1, static_cast<double>(mean), from, to});
      low = std::min(low, from), high = std::max(high, to);
    }
    if (given.empty()) return;
    const std::string script = gnuplot_script(figure, {.format = PlotFormat::svg, .two_columns = false, .name = "f"});
    const std::size_t at = script.find("set yrange [");
    if (at == script.npos) return;  // gnuplot's own, which holds all
    const std::string range = script.substr(at + 12, script.find(']', at) - at - 12);
    const std::string from = range.substr(0, range.find(':')), to = range.substr(range.find(':') + 1);
    const bool holds_low = from == "*" || std::stod(from) <= low, holds_high = to == "*" || std::stod(to) >= high;
    RC_ASSERT(holds_low);
    RC_ASSERT(holds_high);
  });
}

TEST_CASE("savings of a study: the table that says them, its texts as names, of its numbers the middle ones") {
  const TemporaryFolder folder;
  folder.write("summary.json", R"({"study": "learning-curve", "saving": {"table": "learning", "column": "saving_percent"},
    "tables": {"learning": [
      {"policy": "a", "runs": 5, "saving_percent": 1, "saving_percent_ci95_low": 0, "saving_percent_ci95_high": 2},
      {"policy": "a", "runs": 10, "saving_percent": 3, "saving_percent_ci95_low": 2, "saving_percent_ci95_high": 4},
      {"policy": "b", "runs": 5, "saving_percent": 5, "saving_percent_ci95_low": null, "saving_percent_ci95_high": null},
      {"policy": "b", "runs": 10, "saving_percent": 7, "saving_percent_ci95_low": 6, "saving_percent_ci95_high": 8}]}})");
  const Figure figure = make("savings", of(folder.path()));
  CHECK(figure.note == "runs=10");
  REQUIRE(figure.x.tics.size() == 2);
  CHECK(figure.x.tics[1].second == "b");
  CHECK(rows_of(figure, "").size() == 2);
  CHECK(std::vector<double>(rows_of(figure, "")[1].begin() + 1, rows_of(figure, "")[1].end()) == std::vector<double>{7, 6, 8});
  PlotRequest other = of(folder.path());
  other.y = "savin_percent";
  CHECK_THROWS_WITH(make("savings", other), Catch::Contains("saving_percent"));
  folder.write("summary.json", R"({"study": "placement", "tables": {"placement": [{"graph": "g", "step_s": 1}]}})");
  CHECK_THROWS_WITH(make("savings", of(folder.path())),
                    Catch::Contains("those of the study placement, with placement.csv") && Catch::Contains("plot bars"));
}

TEST_CASE("studies: money over deadlines, savings over past runs, times over threads") {
  const TemporaryFolder folder;
  // Of several floors the one in the middle; only where all jobs keep their limits.
  folder.write("frontier.csv",
               "policy,job,target_accuracy,deadline_s,cost_usd,kept_fraction\n"
               "manual,a,0.8,3600,9,1\nmanual,a,0.9,3600,10,1\nmanual,a,0.95,3600,99,1\n"
               "manual,a,0.9,7200,8,1\nmine,a,0.9,3600,6,0.5\nmine,a,0.9,7200,5,1\n");
  const Figure deadlines = make("deadlines", of(folder.path()));
  CHECK(rows_of(deadlines, "manual") == Numbers{{1, 10}, {2, 8}});
  CHECK(rows_of(deadlines, "mine") == Numbers{{2, 5}});
  CHECK(deadlines.note == "target_accuracy=0.9");
  CHECK(rows_of(make("deadlines", of(folder.path(), {{"target_accuracy", {"0.8"}}})), "manual") == Numbers{{1, 9}});

  // The baseline saves nothing and is no line; without an interval whiskers have no length; lines stand 4 % apart.
  folder.write("learning.csv",
               "policy,model_error,runs,saving_percent,saving_percent_ci95_low,saving_percent_ci95_high\n"
               "manual,0,10,0,0,0\nmine,0,10,20,15,25\nmine,0,100,30,,\nother,0,10,5,4,6\n");
  const Figure learning = make("learning", of(folder.path()));
  CHECK(learning.series.size() == 2);
  CHECK(rows_of(learning, "mine") == Numbers{{10, 20, 15, 25}, {100, 30, 30, 30}});
  CHECK(rows_of(learning, "other") == Numbers{{10.4, 5, 4, 6}});
  folder.write("learning.csv",
               "policy,model_error,runs,saving_percent,saving_percent_ci95_low,saving_percent_ci95_high\n"
               "mine,0,10,20,15,25\nmine,0.1,10,10,5,15\n");
  CHECK(rows_of(make("learning", of(folder.path())), "mine, error 0.1") == Numbers{{10.4, 10, 5, 15}});

  folder.write("threads-curves.csv",
               "machine,model,operation,threads,seconds\nknl,resnet50,conv,1,8\nknl,resnet50,conv,4,2\nknl,resnet50,conv,8,3\n"
               "knl,resnet50,pool,1,5\nknl,lstm,conv,1,1\n");
  const Figure threads = make("threads", of(folder.path()));
  CHECK(rows_of(threads, "conv") == Numbers{{1, 4}, {4, 1}, {8, 1.5}});
  CHECK(rows_of(threads, "pool") == Numbers{{1, 1}});
}
