// How good the answers of `rent` are: against public records of whole trainings, and against sets of measured steps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "cli/commands.hpp"
#include "cli/measured.hpp"
#include "cli/rent.hpp"
#include "cli/say.hpp"
#include "policies/harness/nearby_errors.hpp"
#include "policies/learn/gaussian_learner.hpp"
#include "report/table.hpp"
#include "scenarios/read/loader_parts.hpp"
#include "scenarios/read/measured_sites.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/statistics.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/object_reader.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/calibration/energy.hpp"
#include "workloads/steps/graph_builder.hpp"

namespace rehearse::cli {

namespace {

using workloads::Measurement;

double average(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Records of whole trainings.

struct Record {
  std::string name, job, instance;
  int workers = 1;
  double hours = 0;  ///< measured
  bool half_precision = false;
};

/// The hours of each entry of the file that the records name.
std::map<std::string, double> measured_hours(const std::string& path) {
  std::map<std::string, double> hours;
  sim::CsvReader reader(path, {.required = {"entry", "hours_to_goal"}, .optional = {}});
  while (sim::CsvRow* row = reader.next()) {
    const std::string name(row->text("entry"));
    const auto value = row->maybe_number("hours_to_goal");
    if (row->mistakes().empty() && value) hours[name] = *value;
  }
  return hours;
}

std::vector<Record> read_records(const std::string& path) {
  const sim::JsonDocument document = sim::read_json_file(path);
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  const scenarios::Paths paths{path.substr(0, path.rfind('/') + 1)};
  in.text("about", "");
  std::map<std::string, double> hours;
  if (const auto entries = in.child("entries")) {
    const std::string file = paths.resolve(*entries, mistakes);
    mistakes.throw_if_any();
    hours = measured_hours(file);
  }
  std::vector<Record> records;
  for (const sim::JsonValue value : in.list("records")) {
    sim::ObjectReader one(value, mistakes);
    Record record{.name = one.text("name"), .instance = one.text("instance")};
    record.workers = static_cast<int>(one.integer("workers", sim::between(1, 1e6), 1));
    record.half_precision = one.text("precision", "fp32") == "fp16";
    one.text("note", "");
    if (const auto own = one.maybe_number("hours", sim::above(0)))
      record.hours = *own;
    else if (const auto found = hours.find(record.name); found != hours.end())
      record.hours = found->second;
    else
      value.refuse("hours, or a name of the file \"entries\"", mistakes);
    const std::string network = one.text("network", ""), model = one.text("model", "");
    const double samples = one.number("samples", sim::above(0)), epochs = one.number("epochs", sim::above(0));
    const auto batch = one.integer("batch_size", sim::between(1, 1e6));
    one.finish();
    record.job = fmt::format(
        "{{\"name\": {0}, {1}, \"samples\": {2}, \"epochs\": {3}, \"batch_size\": {4}, \"workers\": {5}, \"pool\": {6}}}",
        sim::json_string(record.name),
        model.empty() ? fmt::format("\"network\": {{\"cnn\": {}}}", network)
                      : fmt::format("\"model\": {}", sim::json_string(model)),
        samples, epochs, batch, record.workers, sim::json_string(record.instance));
    records.push_back(std::move(record));
  }
  in.finish();
  mistakes.throw_if_any();
  if (records.empty()) throw sim::InputError({.file = path, .expected = "records", .found = "none"});
  return records;
}

void against_records(const std::string& path, const RentArguments& a) {
  const RentGrounds grounds = grounds_of(a, {});
  const scenarios::Catalogue& catalogue = grounds.catalogue;
  scenarios::RentWishes wishes{.most_nodes = 128};
  for (const scenarios::InstanceEntry& entry : catalogue.instances()) wishes.account.instances[entry.instance.name];
  scenarios::RentMarket market = rent_market(catalogue, wishes);
  const sim::Cluster& cluster = market.cluster->scenario.cluster;
  const policies::RentRules rules{.confidence = a.confidence / 100};
  std::vector<std::vector<std::string>> rows{
      {"record", "on", "predicted", "80 % in", "measured", "error", "money, predicted", "measured"}};
  std::vector<double> predicted, measured;
  std::vector<double> whole_off, start_off;  // logarithms of predicted over measured, and the start's part of them
  int near = 0, inside = 0;
  for (const Record& record : read_records(path)) {
    if (catalogue.find_instance(record.instance) == nullptr)
      throw sim::InputError({.file = path + ": " + record.name,
                             .expected = "an instance of the catalogue (rehearse list instances)",
                             .found = record.instance});
    const scenarios::PlanRequest request = scenarios::read_plan_job(record.job, path + ": " + record.name, *market.cluster);
    const sim::OpGraph graph = workloads::build_graph(
        request.network, {.optimizer = request.optimizer, .stored_bytes_per_sample = request.bytes_per_sample});
    const workloads::StepModel step(graph);
    const workloads::MemoryModel memory(graph, request.optimizer);
    const policies::RentModel model{.step = step, .memory = memory, .model = request.model, .dataset = request.dataset};
    know_pools(market, grounds, model, a);
    const policies::RentSearch search(cluster, market.cluster->scenario.costs, market.pools, model, rules);
    const policies::RentChoice* found = nullptr;
    const std::vector<policies::RentChoice> choices = search.choices(request.job, request.limits);
    for (const policies::RentChoice& one : choices)
      if ((one.precision == sim::Precision::fp16) == record.half_precision) found = &one;
    if (found == nullptr) throw sim::InputError({.file = path, .expected = "a record that fits memory", .found = record.name});
    const policies::Interval time = found->plan.time_s;
    const double measured_s = 3600 * record.hours, error = time.expected / measured_s - 1;
    const double usd_per_s = found->plan.cost_usd.expected / time.expected;
    predicted.push_back(time.expected);
    measured.push_back(measured_s);
    whole_off.push_back(std::abs(std::log(time.expected / measured_s)));
    start_off.push_back(std::log(time.expected / (time.expected - found->start_s)));
    near += std::abs(error) <= 0.3 ? 1 : 0;
    inside += time.low <= measured_s && measured_s <= time.high ? 1 : 0;
    rows.push_back({record.name, rented_words(*found, cluster), sim::time_words(time.expected),
                    fmt::format("{} to {}", sim::time_words(time.low), sim::time_words(time.high)), sim::time_words(measured_s),
                    fmt::format("{:+.0f} %", 100 * error), sim::money_words(found->plan.cost_usd.expected),
                    sim::money_words(usd_per_s * measured_s)});
  }
  const double correlation = workloads::rank_correlation(predicted, measured);
  say("{}\n{}: rank correlation {}, {} within 30 %, {} within their interval\n"
      "|log(predicted / measured)|: {:.2f} in the median, {:.2f} at most. Boot and start-up are {:.4f} of it in the median, "
      "{:.2f} "
      "at most; epochs are the records', and no checkpoint is written: the rest is the step's.\n",
      report::aligned(rows, {true, true, false, false, false, false, false, false}, {}, table_width()),
      sim::counted(static_cast<double>(predicted.size()), "record"),
      std::isfinite(correlation) ? fmt::format("{:.2f}", correlation) : "-", near, inside, sim::quantile(whole_off, 0.5),
      sim::quantile(whole_off, 1), sim::quantile(start_off, 0.5), sim::quantile(start_off, 1));
}

// Sets of measured steps.

policies::StepSetting setting_of(const Measurement& m) {
  return {.batch_per_worker = m.batch_per_worker, .workers = m.workers, .nodes = m.nodes, .power_limit_w = m.power_limit_w};
}

/// Rows of one device, by index in the list.
using RowsOf = std::map<std::string, std::vector<std::size_t>>;

/// What each row is predicted to take, with a device fitted to `known` of its single-worker rows; data sheet where there are
/// none.
std::vector<double> predicted_with(const Measured& measured, const RowsOf& by_device, const std::vector<bool>& known) {
  std::vector<double> seconds(known.size());
  for (const auto& [device, rows] : by_device) {
    std::vector<Measurement> fitted;
    std::vector<workloads::Site> sites;
    for (const std::size_t i : rows)
      if (known[i] && measured.list.rows[i].workers == 1) {
        fitted.push_back(measured.list.rows[i]);
        sites.push_back(measured.sites[i]);
      }
    std::optional<workloads::Calibration> calibration;
    if (!fitted.empty()) calibration = calibrate(fitted, sites, measured.model);
    for (const std::size_t i : rows) {
      workloads::Site site = measured.sites[i];
      if (calibration) site.device = calibrated(site.device, *calibration);
      seconds[i] = measured.model.step_s(measured.list.rows[i], site);
    }
  }
  return seconds;
}

/// How far off each row is: near known rows of its model on its device by those, else as validated for what is known of the
/// device. Rows are predicted as `seconds` says.
std::vector<policies::PredictionError> errors_of(const std::vector<Measurement>& rows, const RowsOf& by_device,
                                                 const std::vector<double>& seconds, const std::vector<bool>& known) {
  std::vector<policies::PredictionError> errors(rows.size());
  for (const auto& [device, on_device] : by_device) {
    std::map<std::string, std::vector<std::size_t>> known_of;  // by model
    for (const std::size_t i : on_device)
      if (known[i]) known_of[subject(rows[i])].push_back(i);
    std::map<std::string, NearbyErrorsOf> nearby;
    for (const auto& [model, which] : known_of) nearby[model] = nearby_errors(rows, which, seconds);
    for (const std::size_t i : on_device) {
      const auto own = nearby.find(subject(rows[i]));
      const auto found =
          own == nearby.end() ? NearbyErrorsOf::const_iterator() : own->second.find({rows[i].precision, spread_of(rows[i])});
      if (own != nearby.end() && found != own->second.end()) {
        errors[i] = found->second->at(setting_of(rows[i]));
        continue;
      }
      const policies::Knowledge knowledge = own != nearby.end() ? policies::Knowledge::model
                                            : !known_of.empty() ? policies::Knowledge::device
                                                                : policies::Knowledge::data_sheet;
      errors[i] = policies::validated_error(knowledge, spread_of(rows[i]));
    }
  }
  return errors;
}

struct Choosing {
  std::vector<double> regrets;  ///< of each task: money of the chosen over the best measured, less 1
  int rows = 0, covered = 0, chosen_covered = 0;
  std::vector<double> widths;  ///< of the intervals of rows that were not known: a factor each way
};

/// Of each task the device of the best configuration is left out altogether: only its data sheet is known, and what the task's
/// rows on other devices take over theirs. Empty where every task is of one device.
template <class Money>
std::string without_best_device(const std::vector<Measurement>& rows, const RowsOf& by_task, const std::vector<double>& sheet,
                                Money money_of) {
  std::vector<double> regrets;
  for (const auto& [task, list] : by_task) {
    const auto measured_usd = [&](std::size_t i) { return money_of(i, rows[i].step_s); };
    const std::size_t best = *std::ranges::min_element(list, {}, measured_usd);
    std::map<std::string, std::vector<double>> others;  // by device, each counts once
    for (const std::size_t i : list)
      if (rows[i].device != rows[best].device) others[rows[i].device].push_back(std::log(rows[i].step_s / sheet[i]));
    if (others.empty()) continue;
    std::vector<double> means;
    for (const auto& [device, errors] : others) means.push_back(average(errors));
    const double factor = std::exp(average(means));
    const auto believed = [&](std::size_t i) {
      return money_of(i, rows[i].device == rows[best].device ? factor * sheet[i] : rows[i].step_s);
    };
    regrets.push_back(measured_usd(*std::ranges::min_element(list, {}, believed)) / measured_usd(best) - 1);
  }
  if (regrets.empty()) return {};
  return fmt::format(". With the best device's rows left out altogether: {} more in the median, {} at p90",
                     sim::percent_words(sim::quantile(regrets, 0.5)), sim::percent_words(sim::quantile(regrets, 0.9)));
}

void against_measurements(const std::string& path, const RentArguments& a, std::map<std::string, std::vector<double>>& groups) {
  Measured measured = load_measured({.path = path, .catalogues = a.catalogues});
  const std::vector<Measurement>& rows = measured.list.rows;
  RowsOf by_device, by_task;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kernel) continue;
    by_device[rows[i].device].push_back(i);
    by_task[rows[i].model + "/" + rows[i].dataset].push_back(i);
  }
  const auto money_of = [&](std::size_t i, double step_s) {
    const scenarios::InstanceEntry* entry = instance_of(rows[i], measured.catalogue);
    int devices = 1;
    if (entry != nullptr)
      for (const auto& named : entry->devices) devices = std::max(devices, named.count);
    const double price = entry == nullptr ? 1 : entry->instance.price_usd_per_hour / devices;
    return step_s * price * rows[i].workers / (rows[i].batch_per_worker * rows[i].workers);
  };
  std::vector<bool> half(rows.size(), false);
  for (const auto& [task, list] : by_task)
    for (std::size_t k = 0; k < list.size(); k += 2) half[list[k]] = true;
  const auto choose = [&](const std::vector<double>& seconds, const std::vector<bool>& known) {
    Choosing result;
    const std::vector<policies::PredictionError> errors = errors_of(rows, by_device, seconds, known);
    const double z = policies::normal_quantile(0.95);
    for (const auto& [task, list] : by_task) {
      const auto believed = [&](std::size_t i) { return money_of(i, known[i] ? rows[i].step_s : errors[i].bias * seconds[i]); };
      const auto measured_usd = [&](std::size_t i) { return money_of(i, rows[i].step_s); };
      const std::size_t chosen = *std::ranges::min_element(list, {}, believed),
                        best = *std::ranges::min_element(list, {}, measured_usd);
      result.regrets.push_back(measured_usd(chosen) / measured_usd(best) - 1);
      const auto covers = [&](std::size_t i) {
        return known[i] || std::abs(std::log(rows[i].step_s / (errors[i].bias * seconds[i]))) <= z * errors[i].sigma;
      };
      for (const std::size_t i : list) {
        if (known[i]) continue;
        ++result.rows;
        result.covered += covers(i) ? 1 : 0;
        result.widths.push_back(std::exp(z * errors[i].sigma));
      }
      result.chosen_covered += covers(chosen) ? 1 : 0;
    }
    return result;
  };
  const std::vector<bool> none(rows.size(), false);
  const Choosing from_half = choose(predicted_with(measured, by_device, half), half);
  const std::vector<double> sheet = predicted_with(measured, by_device, none);
  const Choosing from_none = choose(sheet, none);
  const std::string name = path.substr(path.rfind('/') + 1);
  // In a set of few rows every other one may be all of them.
  const std::string unknown =
      from_half.rows == 0 ? ""
                          : fmt::format("{} of the rows that were not known (a factor of {:.2f} each way in the median) and ",
                                        sim::percent_words(static_cast<double>(from_half.covered) / from_half.rows),
                                        sim::quantile(from_half.widths, 0.5));
  say("{}: {}. From half of the rows the chosen costs {} more than the best measured in the median, {} at p90; 90 % intervals "
      "cover {}{} of the chosen. From data sheets alone: {} more in the median{}\n",
      name, sim::counted(static_cast<double>(by_task.size()), "task"), sim::percent_words(sim::quantile(from_half.regrets, 0.5)),
      sim::percent_words(sim::quantile(from_half.regrets, 0.9)), unknown,
      sim::percent_words(static_cast<double>(from_half.chosen_covered) / static_cast<double>(by_task.size())),
      sim::percent_words(sim::quantile(from_none.regrets, 0.5)), without_best_device(rows, by_task, sheet, money_of));
  for (const auto& [device, list] : by_device)
    for (const std::size_t i : list) {
      const char* spread = rows[i].workers == 1 ? "one worker"
                           : rows[i].nodes == 1 ? "several workers of a node"
                                                : "several nodes";
      groups[fmt::format("{}|{} {}", spread, name, device)].push_back(std::log(rows[i].step_s / sheet[i]));
    }
}

/// Of data sheets alone: what a group deviates by that the others have not seen.
void say_groups(const std::map<std::string, std::vector<double>>& groups) {
  std::map<std::string, std::vector<const std::vector<double>*>> by_spread;
  for (const auto& [key, errors] : groups) by_spread[key.substr(0, key.find('|'))].push_back(&errors);
  const auto variance = [](const std::vector<double>& v) {
    const double m = average(v);
    double sum = 0;
    for (const double x : v) sum += (x - m) * (x - m);
    return v.empty() ? 0 : sum / static_cast<double>(v.size());
  };
  for (const auto& [spread, list] : by_spread) {
    if (list.size() < 3) continue;
    const auto fitted = [&](const std::vector<double>* left_out) {
      std::vector<double> means, within;
      for (const std::vector<double>* group : list) {
        if (group == left_out) continue;
        means.push_back(average(*group));
        within.push_back(variance(*group));
      }
      const auto n = static_cast<double>(means.size());
      return std::pair(average(means), std::sqrt(variance(means) * n / (n - 1) * (1 + 1 / n) + average(within)));
    };
    const double z = policies::normal_quantile(0.9);
    std::vector<double> central, below;
    for (const std::vector<double>* group : list) {
      const auto [middle, deviation] = fitted(group);
      double in = 0, under = 0;
      for (const double e : *group) {
        in += std::abs(e - middle) <= z * deviation ? 1 : 0;
        under += e - middle <= z * deviation ? 1 : 0;
      }
      central.push_back(in / static_cast<double>(group->size()));
      below.push_back(under / static_cast<double>(group->size()));
    }
    const auto [middle, deviation] = fitted(nullptr);
    say("{}, {} groups of set and device: measured over predicted {:.2f}, deviation of the logarithm {:.2f}; each group left "
        "out, 80 % intervals of "
        "the others cover {} of it, and their upper 90 % bounds {}\n",
        spread, list.size(), std::exp(middle), deviation, sim::percent_words(average(central)),
        sim::percent_words(average(below)));
  }
}

}  // namespace

policies::Spread spread_of(const Measurement& measured) {
  return measured.workers == 1 ? policies::Spread::worker
         : measured.nodes == 1 ? policies::Spread::node
                               : policies::Spread::nodes;
}

NearbyErrorsOf nearby_errors(const std::vector<Measurement>& rows, const std::vector<std::size_t>& which,
                             const std::vector<double>& predicted_s) {
  constexpr std::size_t kFewest = 2;  // a single row is what the device was fitted to
  std::map<std::pair<sim::Precision, policies::Spread>, std::pair<std::vector<policies::StepSetting>, std::vector<double>>>
      groups;
  for (const std::size_t i : which) {
    auto& [settings, errors] = groups[{rows[i].precision, spread_of(rows[i])}];
    settings.push_back(setting_of(rows[i]));
    errors.push_back(std::log(rows[i].step_s / predicted_s[i]));
  }
  NearbyErrorsOf nearby;
  for (const auto& [key, group] : groups)
    if (group.first.size() >= kFewest)
      nearby[key] = std::make_shared<const policies::NearbyErrors>(
          group.first, group.second, policies::validated_error(policies::Knowledge::model, key.second).sigma,
          key.second == policies::Spread::worker);  // to these the device was fitted
  return nearby;
}

int rent_against(const RentArguments& arguments) {
  std::map<std::string, std::vector<double>> groups;
  for (const std::string& path : arguments.against)
    path.ends_with(".json") ? against_records(path, arguments) : against_measurements(path, arguments, groups);
  say_groups(groups);
  return kOk;
}

}  // namespace rehearse::cli
