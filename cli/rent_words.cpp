#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "cli/network_words.hpp"
#include "cli/rent.hpp"
#include "deploy/torch_network.hpp"
#include "report/xml_text.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/shown.hpp"
#include "sim/money/costs.hpp"
#include "traces/jobs/trace_job.hpp"

namespace rehearse::cli {

namespace {

using policies::RentChoice;

struct UnitSuffix {
  std::string_view text;
  double factor;
};

double suffixed(const std::string& option, const std::string& text, std::span<const UnitSuffix> suffixes, const char* expected) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  std::string_view left(rest, static_cast<std::size_t>(end - rest));
  while (left.starts_with(' ')) left.remove_prefix(1);
  for (const UnitSuffix& suffix : suffixes)
    if (error == std::errc{} && left == suffix.text && value > 0 && std::isfinite(value) && value * suffix.factor < 1e15)
      return value * suffix.factor;
  throw sim::InputError({.file = option, .expected = expected, .found = sim::shown(text)});
}

/// From 0 to 1 between the logarithms of low and high.
double place_of(double x, double low, double high) { return high > low ? std::log(x / low) / std::log(high / low) : 0.5; }

struct RentRange {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  void add(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
};

std::pair<RentRange, RentRange> ranges(const RentAnswer& answer) {
  RentRange money, time;
  for (const RentAnswer::Told& told : answer.front) {
    money.add(std::max(1e-6, answer.choices[told.choice].plan.cost_usd.expected));
    time.add(answer.choices[told.choice].plan.time_s.expected);
  }
  return {money, time};
}

}  // namespace

double duration_option(const std::string& option, const std::string& text) {
  constexpr UnitSuffix kUnits[] = {{"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  return suffixed(option, text, kUnits, "a time above 0 with its unit, as 12h, 90min, 1d or 3600s");
}

double count_option(const std::string& option, const std::string& text) {
  constexpr UnitSuffix kUnits[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}};
  return suffixed(option, text, kUnits, "a number above 0, as 50000, 50k or 1.2M");
}

std::string rented_words(const RentChoice& choice, const sim::Cluster& cluster) {
  const policies::PlanChoice& c = choice.plan;
  const std::string& pool = cluster.pools[static_cast<std::size_t>(c.pool)].name;
  const long devices = c.nodes * sim::workers_per_node(cluster, c.pool);
  const std::string& device = sim::worker_device(cluster, c.pool).name;
  if (!sim::has_gpus(cluster, c.pool)) return fmt::format("{} x {}", c.nodes, pool);
  if (c.workers < devices)
    return fmt::format("{} x {}, {} of {} {} work ({:.3g} %)", c.nodes, pool, c.workers, devices, device,
                       100.0 * c.workers / static_cast<double>(devices));
  return fmt::format("{} x {}, {} {}", c.nodes, pool, devices == 1 ? "its" : fmt::format("all {}", devices), device);
}

std::string where_words(const RentAnswer& answer, const RentChoice& choice) {
  const scenarios::InstanceEntry& entry = *answer.market.entries[static_cast<std::size_t>(choice.plan.pool)];
  const std::string provider = entry.provider.empty() ? "-" : entry.provider;
  return entry.region.empty() ? provider : provider + " " + entry.region;
}

namespace {

/// What traces/measure/measure.py trains; a test holds them against it.
constexpr std::array<std::string_view, 14> kMeasurable{"alexnet",  "vgg16",    "vgg19",       "resnet18",  "resnet32",
                                                       "resnet34", "resnet50", "resnet101",   "resnet152", "inception-v3",
                                                       "dcgan",    "rnnlm",    "deepspeech2", "yolov3"};

bool is_exported(const scenarios::PlanRequest& request) {
  try {
    traces::torch_network(request.network, request.task);
    return true;
  } catch (const sim::InputError&) {
    return false;
  }
}

}  // namespace

std::string measurement_words(const RentAnswer& answer, int pool, double usd) {
  const sim::Cluster& cluster = answer.market.cluster->scenario.cluster;
  const scenarios::PlanRequest& request = answer.request;
  const std::string& device = sim::worker_device(cluster, static_cast<sim::PoolId>(pool)).name;
  const std::string what = fmt::format("Ten minutes on a {} ({}) would change the answer most: {} expected to be saved by it. ",
                                       cluster.pools[static_cast<std::size_t>(pool)].name, device, sim::money_words(usd));
  if (std::ranges::find(kMeasurable, request.model) != kMeasurable.end())
    return what + fmt::format(
                      "There: traces/measure/measure.py --models {}/{} --device cuda --name {} --out steps.csv; here: "
                      "--from steps.csv.",
                      request.model, request.dataset, device);
  if (is_exported(request)) {
    const RentChoice& cheapest = answer.choices[answer.told.front().choice];
    return what + fmt::format(
                      "--export FOLDER writes a training that measures itself; there, in its settings.py, DEVICE = \"{}\", "
                      "BATCHES = [{:.0f}], NODES = WORKERS_PER_NODE = 1, then python3 -m torch.distributed.run --redirects=1 "
                      "--tee=1 train.py --synthetic --steps 200 --out OUT; here: --from OUT/steps.csv.",
                      device, std::ceil(cheapest.plan.batch / cheapest.plan.workers));
  }
  return what + fmt::format(
                    "There: your own training of it; here: --from steps.csv, with the lines "
                    "\"model,dataset,device,batch_per_worker,step_s\" and \"{},{},{},BATCH,SECONDS\".",
                    request.model, request.dataset, device);
}

std::string miss_words(double share) { return share < 5e-4 ? "< 0.1 %" : sim::percent_words(share); }

const std::string& precision_name(sim::Precision precision) {
  return traces::precision_names()[static_cast<std::size_t>(precision)];
}

std::string precision_words(const RentChoice& choice) {
  return fmt::format("{}{}{}", precision_name(choice.precision),
                     choice.accumulation > 1 ? fmt::format(" / {}", choice.accumulation) : "",
                     choice.plan.power_limit_w > 0 ? fmt::format(", {:.0f} W", choice.plan.power_limit_w) : "");
}

std::string front_picture(const RentAnswer& answer) {
  constexpr int kWidth = 72, kHeight = 14;
  const auto [money, time] = ranges(answer);
  std::vector<std::string> lines(kHeight, std::string(kWidth, ' '));
  for (std::size_t i = 0; i < answer.front.size(); ++i) {
    const policies::PlanChoice& c = answer.choices[answer.front[i].choice].plan;
    const auto x = static_cast<std::size_t>(
        std::lround(place_of(std::max(1e-6, c.cost_usd.expected), money.low, money.high) * (kWidth - 1)));
    const auto y = static_cast<std::size_t>(std::lround((1 - place_of(c.time_s.expected, time.low, time.high)) * (kHeight - 1)));
    lines[y][x] = i < 26 ? static_cast<char>('a' + i) : '*';
  }
  std::string text;
  for (int y = 0; y < kHeight; ++y) {
    const std::string label = y == 0 ? sim::time_words(time.high) : y == kHeight - 1 ? sim::time_words(time.low) : "";
    std::string line = fmt::format("{:>9} |{}", label, lines[static_cast<std::size_t>(y)]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  const std::string low = sim::money_words(money.low), high = sim::money_words(money.high);
  return text + fmt::format("{:>9} +{}\n{:>11}{}{:>{}}\n", "", std::string(kWidth, '-'), "", low, high,
                            kWidth - static_cast<int>(low.size()));
}

std::string price_date_of(const RentAnswer& answer, int pool, const char* of_account) {
  const auto at = static_cast<std::size_t>(pool);
  return answer.market.is_account_price[at] ? of_account : answer.market.entries[at]->instance.price_date;
}

std::string price_dates_words(const RentAnswer& answer, const std::vector<int>& pools) {
  std::vector<const scenarios::InstanceEntry*> dated;
  for (const int pool : pools)
    if (!answer.market.is_account_price[static_cast<std::size_t>(pool)])
      dated.push_back(answer.market.entries[static_cast<std::size_t>(pool)]);
  if (dated.empty()) return "Prices are the account's";
  return fmt::format("Prices of {}{}", scenarios::price_dates(dated), dated.size() < pools.size() ? ", and the account's" : "");
}

std::string rent_csv(const RentAnswer& answer) {
  const sim::Cluster& cluster = answer.market.cluster->scenario.cluster;
  std::string text =
      "instance,provider,region,spot,nodes,workers,device,batch_size,accumulation,precision,power_limit_w,epochs,step_s,time_s,"
      "time_low_s,time_high_s,cost_usd,cost_low_usd,cost_high_usd,energy_j,memory_bytes,miss_probability,keeps_limits,"
      "price_date\n";
  for (const RentChoice& one : answer.choices) {
    const policies::PlanChoice& c = one.plan;
    const auto pool = static_cast<std::size_t>(c.pool);
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
        sim::csv_text(answer.market.entries[pool]->instance.name), sim::csv_text(answer.market.entries[pool]->provider),
        sim::csv_text(answer.market.entries[pool]->region), answer.market.pools[pool].is_spot ? 1 : 0, c.nodes, c.workers,
        sim::csv_text(sim::worker_device(cluster, c.pool).name), c.batch, one.accumulation, precision_name(one.precision),
        c.power_limit_w, c.epochs, c.step_s.expected, c.time_s.expected, c.time_s.low, c.time_s.high, c.cost_usd.expected,
        c.cost_usd.low, c.cost_usd.high, c.energy_j.expected, c.memory_bytes.expected, one.miss_probability,
        one.keeps_limits ? 1 : 0, price_date_of(answer, c.pool, ""));
  }
  return text;
}

std::string rent_page(const RentAnswer& answer) {
  constexpr double kWidth = 760, kHeight = 380, kLeft = 80, kTop = 20;
  const sim::Cluster& cluster = answer.market.cluster->scenario.cluster;
  const auto [money, time] = ranges(answer);
  std::string points, rows;
  for (std::size_t i = 0; i < answer.front.size(); ++i) {
    const RentAnswer::Told& told = answer.front[i];
    const RentChoice& one = answer.choices[told.choice];
    const policies::PlanChoice& c = one.plan;
    const double x = kLeft + kWidth * place_of(std::max(1e-6, c.cost_usd.expected), money.low, money.high);
    const double y = kTop + kHeight * (1 - place_of(c.time_s.expected, time.low, time.high));
    const std::string what = report::xml_text(rented_words(one, cluster));
    points += fmt::format(
        "<a href=\"#p{0}\"><circle cx=\"{1:.1f}\" cy=\"{2:.1f}\" r=\"6\" class=\"{3}\"><title>{4}: {5}, "
        "{6}</title></circle></a>\n",
        i, x, y, one.keeps_limits ? "keeps" : "breaks", what, sim::time_words(c.time_s.expected),
        sim::money_words(c.cost_usd.expected));
    rows += fmt::format(
        "<tr id=\"p{}\"><td>{}</td><td>{}</td><td>{:.0f}</td><td>{:g}</td><td>{}</td><td>{}</td><td>{} to {}</td><td>{}</td>"
        "<td>{} to {}</td><td>{:.2f} kWh</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        i, what, report::xml_text(where_words(answer, one)), c.batch, c.epochs, report::xml_text(precision_words(one)),
        sim::time_words(c.time_s.expected), sim::time_words(c.time_s.low), sim::time_words(c.time_s.high),
        sim::money_words(c.cost_usd.expected), sim::money_words(c.cost_usd.low), sim::money_words(c.cost_usd.high),
        c.energy_j.expected / 3.6e6, policies::name_of(told.bottleneck), miss_words(one.miss_probability),
        report::xml_text(price_date_of(answer, c.pool, "the account")));
  }
  std::vector<int> pools(answer.market.pools.size());
  std::iota(pools.begin(), pools.end(), 0);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n<style>body{{font:15px "
      "sans-serif;margin:2em}}"
      "td,th{{padding:.2em .7em;text-align:right}}td:first-child,th:first-child{{text-align:left}}circle.keeps{{fill:#1a7f37}}"
      "circle.breaks{{fill:#9aa0a6}}tr:target{{background:#fff3c4}}svg{{background:#f6f8fa}}</style></head><body>\n<h1>{0}</h1>\n"
      "<p>Nothing is both cheaper and faster than a point of this front. Green: keeps the limits with a confidence of {1:.0f} %. "
      "{2}.</p>\n<p>{15}</p>\n<svg width=\"{3}\" height=\"{4}\" role=\"img\" aria-label=\"money against time\">\n{5}"
      "<text x=\"{6}\" y=\"{7}\">money: {8} to {9}</text>\n<text x=\"5\" y=\"15\">{10}</text><text x=\"5\" "
      "y=\"{11}\">{12}</text>\n</svg>\n"
      "<table><tr><th>rented</th><th>where</th><th>batch</th><th>epochs</th><th>precision</th><th>time</th><th>from {14:.0f} to "
      "{1:.0f} %</th><th>money</th><th>from {14:.0f} to {1:.0f} %</th><th>energy</th>"
      "<th>limited by</th><th>misses the deadline</th><th>price of</th></tr>\n{13}</table></body></html>\n",
      report::xml_text(answer.request.model + " on " + answer.request.dataset), 100 * answer.rules.confidence,
      report::xml_text(price_dates_words(answer, pools)), kWidth + kLeft + 40, kHeight + kTop + 60, points, kLeft,
      kHeight + kTop + 40, sim::money_words(money.low), sim::money_words(money.high), sim::time_words(time.high), kHeight + kTop,
      sim::time_words(time.low), rows, 100 * (1 - answer.rules.confidence),
      report::xml_text(read_words(account_of(answer.request.network))));
}

}  // namespace rehearse::cli
