// The command `rehearse rent`: its options, and what is said of an answer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/commands.hpp"
#include "cli/network_words.hpp"
#include "cli/planned_files.hpp"
#include "cli/rent.hpp"
#include "cli/say.hpp"
#include "policies/learn/gaussian_learner.hpp"
#include "report/table.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::cli {

namespace {

using policies::Knowledge;
using policies::RentChoice;
using ToldChoice = RentAnswer::Told;

constexpr std::size_t kMostOfFront = 12;

/// Nothing keeps the limits: what would, and what it is.
void refuse_rent(const RentAnswer& answer, const std::string& where) {
  if (answer.choices.empty())
    throw sim::InputError({.file = where,
                           .expected = "a network and batches that fit the memory of something in the catalogue",
                           .found = "nothing that fits"});
  const sim::Cluster& cluster = answer.market.cluster->scenario.cluster;
  const RentChoice& soonest =
      *std::ranges::min_element(answer.choices, {}, [](const RentChoice& c) { return c.plan.time_s.high; });
  const RentChoice& cheapest =
      *std::ranges::min_element(answer.choices, {}, [](const RentChoice& c) { return c.plan.cost_usd.high; });
  const policies::PlanLimits& limits = answer.request.limits;
  std::string expected = fmt::format("limits that something keeps with {:.0f} % confidence", 100 * answer.rules.confidence),
              found;
  if (std::isfinite(limits.deadline_s)) {
    expected += fmt::format("; the soonest is --deadline {:.0f}min, with {}", std::ceil(soonest.plan.time_s.high / 60),
                            rented_words(soonest, cluster));
    found = "deadline " + sim::time_words(limits.deadline_s);
  }
  if (std::isfinite(limits.cost_usd)) {
    expected += fmt::format("; the least is --budget {:.2f}, with {}", std::ceil(100 * cheapest.plan.cost_usd.high) / 100,
                            rented_words(cheapest, cluster));
    found += (found.empty() ? "budget " : ", budget ") + sim::money_words(limits.cost_usd);
  }
  if (std::isfinite(limits.deadline_s) && std::isfinite(limits.cost_usd)) expected += "; each with the other limit left out";
  throw sim::InputError({.file = where, .expected = expected, .found = found});
}

void say_table(const RentAnswer& answer, const std::vector<ToldChoice>& list, std::size_t most) {
  const sim::Cluster& cluster = answer.market.cluster->scenario.cluster;
  const double percent = 100 * answer.rules.confidence;
  const bool to_target = answer.request.target_accuracy > 0;
  // What is asked first stands first: where the table is too wide, the rest goes on below.
  std::vector<std::vector<std::string>> rows{{"", "rented", "time", fmt::format("{:.0f} % in", percent), "money",
                                              fmt::format("{:.0f} % under", percent), "where", "batch", "precision", "energy",
                                              "limited by", "misses"}};
  std::vector<bool> left{true, true, false, false, false, false, true, false, true, false, true, false};
  constexpr int kEpochs = 8;  // behind the batch, by which they differ where they lead to a target
  if (to_target) rows.front().insert(rows.front().begin() + kEpochs, "epochs");
  if (to_target) left.insert(left.begin() + kEpochs, false);
  for (std::size_t i = 0; i < std::min(most, list.size()); ++i) {
    const RentChoice& one = answer.choices[list[i].choice];
    const policies::PlanChoice& c = one.plan;
    rows.push_back({list[i].label, rented_words(one, cluster), sim::time_words(c.time_s.expected), sim::time_words(c.time_s.high),
                    sim::money_words(c.cost_usd.expected), sim::money_words(c.cost_usd.high), where_words(answer, one),
                    fmt::format("{:.0f}", c.batch), precision_words(one), fmt::format("{:.3g} kWh", c.energy_j.expected / 3.6e6),
                    std::string(name_of(list[i].bottleneck)),
                    std::isfinite(answer.request.limits.deadline_s) ? miss_words(one.miss_probability) : "-"});
    if (to_target) rows.back().insert(rows.back().begin() + kEpochs, fmt::format("{:g}", c.epochs));
  }
  say("{}", report::aligned(rows, left, {}, table_width()));
}

std::string error_words(Knowledge knowledge, policies::Spread spread, double confidence) {
  const policies::PredictionError e = policies::validated_error(knowledge, spread);
  const char* const where = spread == policies::Spread::worker ? "one worker"
                            : spread == policies::Spread::node ? "several workers of a node"
                                                               : "several nodes";
  const double z = policies::normal_quantile(confidence);
  const char* const what = knowledge == Knowledge::data_sheet ? "a device's data sheet alone"
                           : knowledge == Knowledge::stack    ? "a device's data sheet and its software as measured by others"
                           : knowledge == Knowledge::device   ? "other models measured on the device"
                                                              : "this very model measured on the device";
  return fmt::format("{}, {}: measured over predicted {:.2f} in the median, {:.0f} of 100 between {:.2f} and {:.2f}", where, what,
                     e.bias, 200 * confidence - 100, e.bias * std::exp(-z * e.sigma), e.bias * std::exp(z * e.sigma));
}

/// What is assumed of a spot node's price.
std::string price_words(const RentAnswer& answer, int pool) {
  const policies::SpotPrices& prices = answer.market.pools[static_cast<std::size_t>(pool)].prices;
  const std::string& name = answer.market.entries[static_cast<std::size_t>(pool)]->instance.name;
  const scenarios::SpotPriceList::Series& series = answer.spot_prices.series.at(name);
  return fmt::format(
      "Spot price of {}, by {}: {:.4g} $/h in the mean, {:.4g} to {:.4g} in 80 % of the time ({} prices, {} to {}); each "
      "draw begins at a date of its own, and behind the end the series begins again.",
      name, sim::printable(answer.spot_prices.file), prices.mean(), prices.quantile(0.1), prices.quantile(0.9), prices.size(),
      series.first, series.last);
}

/// Whether this very model was measured wherever the answer has it trained.
bool is_measured(const RentAnswer& answer) {
  return std::ranges::all_of(answer.told, [&](const ToldChoice& one) {
    return answer.pool_of(answer.choices[one.choice]).knowledge == Knowledge::model;
  });
}

/// What the figures rest on.
void say_grounds(const RentAnswer& answer) {
  const workloads::NetworkAccount account = account_of(answer.request.network);
  say("\n{}", is_measured(answer) ? read_words(account) : predicted_words(account));
  std::set<std::pair<policies::Spread, Knowledge>> levels;
  std::vector<int> told;  // pools
  bool is_spot = false;
  std::set<int> priced;  // pools with a series of spot prices
  for (const std::vector<ToldChoice>* list : {&answer.told, &answer.front})
    for (const ToldChoice& one : *list) {
      const RentChoice& choice = answer.choices[one.choice];
      levels.emplace(spread_of(choice.plan), answer.pool_of(choice).knowledge);
      is_spot = is_spot || answer.pool_of(choice).is_spot;
      if (!answer.pool_of(choice).prices.empty()) priced.insert(choice.plan.pool);
      told.push_back(choice.plan.pool);
    }
  say("\nThe times' errors, as validated (docs/evidence/rent.md):\n");
  for (const auto& [spread, level] : levels) say("{}", two_columns("", error_words(level, spread, answer.rules.confidence), 2));
  const bool has_nearby = std::ranges::any_of(
      answer.told, [&](const ToldChoice& one) { return !answer.pool_of(answer.choices[one.choice]).nearby.empty(); });
  if (has_nearby)
    say("{}",
        wrapped(
            "Where this very model was measured with so many workers, the error near the measured settings takes their place: "
            "narrower beside them, wider far away."));
  say("{}; your own: rehearse catalogue prices FILE.csv -o prices.json, and --catalogue prices.json.\n",
      price_dates_words(answer, told));
  const sim::CostRules& costs = answer.market.cluster->scenario.costs;
  say("{}",
      wrapped(fmt::format(
          "Money is for whole nodes from boot ({:.0f} s) and start-up ({:.0f} s) on, checkpoints every {:.0f} min included.",
          sim::Autoscale{}.boot_s, costs.start_s, answer.rules.checkpoint_interval_s / 60)));
  if (is_spot)
    say("{}", wrapped(fmt::format(
                  "Assumed of spot nodes: each is taken away after {:.3g} h in the mean (--spot-mean-up), another comes {:.0f} s "
                  "later, the price {}. Checkpoints by Young's rule; time and money of what stands here are the mean of {} "
                  "replayed draws.",
                  answer.rules.spot.mean_up_s / 3600, answer.rules.spot.down_s,
                  priced.empty() ? "stays" : "stays where no series is named", kSpotDraws)));
  for (const int pool : priced) say("{}", wrapped(price_words(answer, pool)));
  if (answer.told.empty()) return;
  const auto worth =
      worth_measuring(answer.choices, answer.market.pools, answer.choices[answer.told[0].choice], answer.request.limits);
  if (!worth || worth->usd < 0.01 * answer.choices[answer.told[0].choice].plan.cost_usd.expected) return;
  say("{}", wrapped(measurement_words(answer, worth->pool, worth->usd)));
}

void write_files(const RentAnswer& answer, const RentArguments& a) {
  if (!a.csv.empty()) sim::write_file(a.csv, rent_csv(answer));
  if (!a.html.empty()) sim::write_file(a.html, rent_page(answer));
  if (!a.state.empty()) save_rent_state(answer, a);
  if (a.export_to.empty()) return;
  const RentChoice& chosen = answer.choices[answer.told[0].choice];
  export_planned(a.export_to, answer.request, chosen.plan,
                 {.cluster = answer.market.cluster->scenario.cluster,
                  .half_precision = sim::is_half(chosen.precision),
                  .framework = a.framework,
                  .accumulation = chosen.accumulation,
                  .checkpoint_s = chosen.checkpoint_interval_s});
}

/// What is trained, and on what, is in the state: of all else nothing would come.
void refuse_beside_resume(const std::vector<std::string>& given) {
  static const std::set<std::string> kBeside{"--resume", "--watch", "--deadline", "--budget", "--max-memory"};
  if (std::ranges::find(given, "--resume") == given.end()) return;
  for (const std::string& name : given)
    if (!kBeside.contains(name))
      refuse_option(name,
                    "beside --resume the plan's own holds; only --deadline and --budget may be new. With another, plan anew: "
                    "rehearse rent ... --state FILE");
}

/// No training is planned: of a plan's options only what devices are known by has a meaning, beside records.
void refuse_beside_against(const std::vector<std::string>& given, const std::vector<std::string>& against) {
  if (against.empty()) return;
  std::set<std::string> beside{"--against", "--catalogue", "--max-memory"};
  if (std::ranges::any_of(against, [](const std::string& path) { return path.ends_with(".json"); }))
    beside.insert({"--from", "--stack", "--confidence"});
  for (const std::string& name : given)
    if (!beside.contains(name)) refuse_option(name, fmt::format("beside --against {}", fmt::join(beside, ", ")));
}

}  // namespace

void add_rent_command(Command app, RentArguments& a) {
  Command rent = app.subcommand(
      "rent", "what to rent for one training: the cheapest in time, the fastest within the budget (docs/guide/rent.md)");
  rent.option("model", a.model,
              "a model (rehearse list models), a network (ONNX, Keras, PyTorch or layers), or a job's JSON file");
  rent.option("--against", a.against,
              "instead: predictions beside records of trainings (JSON), or choices beside measured steps (CSV); may be repeated")
      .repeated();
  rent.option("--dataset", a.dataset, "of the model (default: the publication's)");
  rent.option("--samples", a.samples, "of an epoch, as 1.2M: where no data set says it");
  rent.option("--recipe", a.recipe,
              "by which it is trained (rehearse list recipes; default: as the zoo's accuracy was measured)");
  const auto number = [&](const char* option, std::string_view key, const char* what) {
    const RentNumber& of = *std::ranges::find(kRentNumbers, key, &RentNumber::key);
    rent.option(option, a.*of.value, what).between(of.low, of.high);
  };
  number("--accuracy", "accuracy", "to reach, where the model's is modelled");
  rent.option("--epochs", a.epochs, "to train, instead of an accuracy");
  rent.option("--batches", a.batches, "global batch sizes to try, with commas (default: around the publication's)");
  rent.option("--deadline", a.deadline, "with its unit: 12h, 90min, 1d or 3600s");
  number("--budget", "budget", "dollars");
  number("--confidence", "confidence", "percent, with which both limits hold (default 90)");
  rent.option("--spot", a.spot, "nodes that may be taken away (default no)").choices(kSpotUses);
  number("--spot-mean-up", "spot_mean_up_h", "hours until a spot node is taken away, in the mean (default 24)");
  rent.option("--spot-prices", a.spot_prices,
              "what spot nodes have cost (CSV: instance,date,price): trainings are replayed on them");
  rent.option("--regions", a.regions, "in which to rent, with commas: us, eu, us-east-1");
  rent.option("--stack", a.stack, "the software (rehearse list stacks), of devices that nobody has measured (default none)");
  rent.option("--precision", a.precisions,
              "that may be chosen, with commas: fp32, fp16, bf16, tf32, tf32-convolutions (default fp32,fp16)");
  rent.option("--clouds", a.providers, "of which to rent, with commas: aws, gcp, azure, lambda, nebius, runpod, vultr");
  rent.option("--nodes", a.nodes, "at most (default 16)").range(1, 100000);
  rent.flag("--power-limits", a.power_limits, "also try power limits of 85, 70 and 55 %");
  rent.option("--account", a.account, "a YAML or JSON file: quotas, committed and own machines, regions, where the data lie");
  rent.option("--from", a.from, "your own measurements, as validate reads them: devices are fitted to them first");
  rent.option("--catalogue", a.catalogues, "a file of devices and instances; may be repeated").repeated();
  rent.output("--csv", a.csv, "write every choice that fits memory to this CSV file");
  rent.output("--html", a.html, "write the front of money against time as a page");
  rent.option("--export", a.export_to,
              "a folder for the files to run the cheapest with: code, Docker, Kubernetes, Slurm, SkyPilot");
  rent.output("--state", a.state, "write the request and the cheapest answer to this file, for --resume");
  rent.option("--resume", a.resume,
              "instead: a training that runs by this state, with --watch; --deadline and --budget may be new");
  rent.option("--watch", a.watch, "its log (OUT/metrics.jsonl of the exported training): stay, change batch or machine?");
  rent.option("--framework", a.framework, "of the code: pytorch (the default) or keras (with Horovod)").choices(kFrameworks);
  rent.when_read([rent, &a] {
    refuse_beside_resume(rent.given());
    refuse_beside_against(rent.given(), a.against);
  });
}

namespace {

/// The front is of all choices: limits cut it nowhere.
std::string which_keep(const RentAnswer& answer, const std::vector<ToldChoice>& front) {
  std::vector<std::string> keep;
  for (const ToldChoice& one : front)
    if (answer.choices[one.choice].keeps_limits) keep.push_back(one.label);
  if (keep.size() == front.size()) return {};
  const std::string with = fmt::format("the limits with {:.0f} % confidence", 100 * answer.rules.confidence);
  return keep.empty() ? ", none of which keeps " + with
                      : fmt::format(", of which {} {} {}", fmt::join(keep, ", "), keep.size() == 1 ? "keeps" : "keep", with);
}

}  // namespace

int rent_command(const RentArguments& arguments) {
  if (!arguments.against.empty()) return rent_against(arguments);
  if (!arguments.resume.empty()) return rent_resume(arguments);
  if (!arguments.watch.empty())
    refuse_missing("--resume", "the state of the plan beside --watch (rehearse rent ... --state FILE)");
  if (arguments.model.empty()) refuse_missing("rent", "a model, a network's file or a job's");
  const RentAnswer answer = rent_answer(arguments);
  if (answer.told.empty()) refuse_rent(answer, is_job_file(arguments.model) ? arguments.model : "rent's options");
  const scenarios::PlanRequest& request = answer.request;
  std::string aim = request.target_accuracy > 0 ? fmt::format("to {}", request.target_accuracy)
                                                : fmt::format("{:g} epochs", request.job.batches.front().epochs);
  if (!request.recipe.empty()) aim += " by the recipe " + request.recipe;
  say("{} on {}, {}, {} samples an epoch\n", request.model, request.dataset, aim,
      sim::grouped(static_cast<std::int64_t>(request.job.samples)));
  std::set<const scenarios::InstanceEntry*> instances;
  for (const RentChoice& one : answer.choices) instances.insert(answer.market.entries[static_cast<std::size_t>(one.plan.pool)]);
  say("{} memory, on {}\n\n", sim::counted(static_cast<double>(answer.choices.size()), "choice fits", "choices fit"),
      sim::counted(static_cast<double>(instances.size()), "instance"));
  say_table(answer, answer.told, answer.told.size());
  std::vector<ToldChoice> front = answer.front;
  for (std::size_t i = 0; i < front.size(); ++i) front[i].label = i < 26 ? std::string(1, static_cast<char>('a' + i)) : "*";
  say("\nNothing is both cheaper and faster than these{}:\n\n", which_keep(answer, front));
  say_table(answer, front, kMostOfFront);
  if (front.size() > kMostOfFront) say("and {} more (--csv, --html)\n", front.size() - kMostOfFront);
  say("\n{}", front_picture(answer));
  say_grounds(answer);
  write_files(answer, arguments);
  return kOk;
}

}  // namespace rehearse::cli
