#include "cli/rent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "cli/commands.hpp"
#include "cli/measured.hpp"
#include "cli/planned_files.hpp"
#include "cli/say.hpp"
#include "policies/learn/gaussian_learner.hpp"
#include "report/comparison.hpp"
#include "report/table.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/number_words.hpp"
#include "sim/base/text.hpp"
#include "sim/io/output_file.hpp"
#include "sim/io/shown.hpp"
#include "traces/jobs/job_rules.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/steps/graph_builder.hpp"

namespace rehearse::cli {

namespace {

using policies::Bottleneck;
using policies::Knowledge;
using policies::RentChoice;
using ToldChoice = RentAnswer::Told;

constexpr std::size_t kMostOthers = 4, kMostOfFront = 12;
constexpr int kDraws = 200;  // of a training on spot nodes

std::vector<std::string> listed_words(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (end > at) words.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool ends_with_any(const std::string& text, std::initializer_list<const char*> ends) {
  return std::ranges::any_of(ends, [&](const char* end) { return text.ends_with(end); });
}

/// Whether a file is a job's: an object with a model, a network or a dataset, and no layers.
bool is_job_file(const std::string& path) {
  if (!path.ends_with(".json")) return false;
  const sim::JsonDocument document = sim::read_json_file(path);
  bool is_job = false, is_network = false;
  if (document.root().is_object())
    for (const sim::JsonMember member : document.root().members()) {
      const std::string_view key = member.key.text();
      is_job = is_job || key == "model" || key == "network" || key == "dataset" || key == "epochs" || key == "target_accuracy";
      is_network = is_network || key == "layers" || key == "class_name" || key == "cnn" || key == "rnn" || key == "mlp";
    }
  return is_job && !is_network;
}

[[noreturn]] void missing(const char* option, const std::string& expected) {
  throw sim::InputError({.file = option, .expected = expected, .found = "nothing"});
}

/// The options as a job's JSON text, so that they are read and checked as a job's file is.
std::string job_text(const RentArguments& a) {
  const bool is_file = ends_with_any(a.model, {".onnx", ".json", ".txt", ".py"});
  if (is_file && a.samples.empty() && a.dataset.empty())
    missing("--samples", "how many samples an epoch has, as --samples 1.2M: the network's file does not say (or --dataset)");
  if (a.epochs.empty() && !(a.accuracy > 0))
    missing("--epochs", is_file ? "--epochs: how accuracy grows is modelled of models of the zoo alone"
                                : "--epochs, or an --accuracy where the model's is modelled (rehearse list models)");
  std::string text = "{" + (is_file ? fmt::format("\"network\": {{\"file\": {}}}", sim::json_string(a.model))
                                    : fmt::format("\"model\": {}", sim::json_string(a.model)));
  if (!a.dataset.empty()) text += fmt::format(", \"dataset\": {}", sim::json_string(a.dataset));
  if (!a.recipe.empty()) text += fmt::format(", \"recipe\": {}", sim::json_string(a.recipe));
  if (!a.samples.empty()) text += fmt::format(", \"samples\": {}", std::floor(count_option("--samples", a.samples)));
  if (!a.epochs.empty()) text += fmt::format(", \"epochs\": {}", count_option("--epochs", a.epochs));
  if (a.accuracy > 0) text += fmt::format(", \"target_accuracy\": {}", a.accuracy);
  if (!a.batches.empty()) {
    std::string batches;
    for (const std::string& batch : listed_words(a.batches))
      batches += fmt::format("{}{}", batches.empty() ? "" : ", ", std::floor(count_option("--batches", batch)));
    text += fmt::format(", \"batch_sizes\": [{}]", batches);
  }
  return text + "}";
}

const sim::Stack& known_stack(const std::string& name, const scenarios::Catalogue& catalogue) {
  const sim::Stack* stack = catalogue.find_stack(name);
  if (stack == nullptr)
    throw sim::InputError({.file = "--stack",
                           .expected = "a stack (rehearse list stacks), or none",
                           .found = sim::shown(name),
                           .nearest = sim::nearest_name(name, catalogue.stack_names())});
  return *stack;
}

scenarios::PlanRequest request_of(const RentArguments& a, const scenarios::PlanCluster& plan) {
  if (!is_job_file(a.model)) return scenarios::read_plan_job(job_text(a), "rent's options", plan);
  // A job's file says what is trained; the options would be passed over.
  const std::string accuracy = a.accuracy > 0 ? fmt::format("{}", a.accuracy) : std::string();
  const std::tuple<const char*, const char*, const std::string&> options[] = {
      {"--recipe", "recipe", a.recipe}, {"--dataset", "dataset", a.dataset},         {"--samples", "samples", a.samples},
      {"--epochs", "epochs", a.epochs}, {"--accuracy", "target_accuracy", accuracy}, {"--batches", "batch_sizes", a.batches}};
  for (const auto& [option, key, text] : options)
    if (!text.empty())
      throw sim::InputError(
          {.file = option, .expected = fmt::format("the key {} in the job's file", key), .found = sim::shown(text)});
  return scenarios::load_plan_job(a.model, plan);
}

scenarios::RentWishes wishes_of(const RentArguments& a, const scenarios::Catalogue& catalogue) {
  scenarios::RentWishes wishes{.regions = listed_words(a.regions), .providers = listed_words(a.providers), .most_nodes = a.nodes};
  for (std::string& provider : wishes.providers) provider = scenarios::lower_case(provider);
  wishes.spot = a.spot == "allowed" ? scenarios::SpotUse::allowed
                : a.spot == "only"  ? scenarios::SpotUse::only
                                    : scenarios::SpotUse::no;
  std::set<std::string> regions, providers;
  for (const scenarios::InstanceEntry& entry : catalogue.instances()) providers.insert(entry.provider);
  const std::vector<std::string> names(providers.begin(), providers.end());
  for (const std::string& provider : wishes.providers)
    if (!providers.contains(provider))
      throw sim::InputError({.file = "--clouds",
                             .expected = "clouds of the catalogue (rehearse list instances), with commas",
                             .found = sim::shown(provider),
                             .nearest = sim::nearest_name(provider, names)});
  if (!a.account.empty()) wishes.account = scenarios::load_account(a.account, catalogue);
  if (wishes.spot == scenarios::SpotUse::no) {
    const auto without_spot = [](const char* option) {
      return sim::InputError({.file = option, .expected = "--spot allowed or --spot only beside it", .found = "neither"});
    };
    if (!a.spot_prices.empty()) throw without_spot("--spot-prices");
    if (a.spot_mean_up_h != RentArguments{}.spot_mean_up_h) throw without_spot("--spot-mean-up");
  }
  if (!a.spot_prices.empty()) wishes.spot_prices = scenarios::load_spot_prices(a.spot_prices, catalogue);
  return wishes;
}

/// What is trained, where it is no model of the zoo: rows measured of it go by its name.
std::optional<traces::OwnNetwork> own_network(const RentArguments& a, const scenarios::Catalogue& catalogue) {
  const scenarios::PlanRequest request = request_of(a, *rent_market(catalogue, wishes_of(a, catalogue)).cluster);
  if (request.task) return std::nullopt;  // of the zoo
  return traces::OwnNetwork{request.model, request.dataset, {.json = "", .network = request.network}};
}

/// The best by `key` of those that are asked for; nothing of none.
template <class Asked, class Key>
std::optional<std::size_t> best_choice(const std::vector<RentChoice>& choices, Asked asked, Key key) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (asked(choices[i]) && (!found || key(choices[i]) < key(choices[*found]))) found = i;
  return found;
}

// Of equals, as machines of one's own that cost nothing, the quicker; of equally quick ones the cheaper.
std::pair<double, double> expected_usd(const RentChoice& c) { return {c.plan.cost_usd.expected, c.plan.time_s.expected}; }
std::pair<double, double> expected_s(const RentChoice& c) { return {c.plan.time_s.expected, c.plan.cost_usd.expected}; }
std::pair<double, double> expected_j(const RentChoice& c) { return {c.plan.energy_j.expected, c.plan.time_s.expected}; }

/// The three that were asked for, and the next cheapest of other pools.
std::vector<ToldChoice> told_of(const std::vector<RentChoice>& choices) {
  const auto keeps = [](const RentChoice& c) { return c.keeps_limits; };
  std::vector<ToldChoice> told;
  const auto add = [&](const char* label, std::optional<std::size_t> choice) {
    if (choice) told.push_back({.label = label, .choice = *choice});
  };
  add("cheapest", best_choice(choices, keeps, expected_usd));
  add("fastest", best_choice(choices, keeps, expected_s));
  add("least energy", best_choice(choices, keeps, expected_j));
  for (std::size_t others = 0; others < kMostOthers; ++others) {
    const auto is_new = [&](const RentChoice& c) {
      return c.keeps_limits &&
             std::ranges::none_of(told, [&](const ToldChoice& t) { return choices[t.choice].plan.pool == c.plan.pool; });
    };
    add("or", best_choice(choices, is_new, expected_usd));
  }
  return told;
}

void set_spot(RentChoice& one, const policies::SpotReplay& replay) {
  one.plan.time_s = {replay.time_s, replay.time_low_s, replay.time_high_s};
  one.plan.cost_usd = {replay.cost_usd, replay.cost_low_usd, replay.cost_high_usd};
  one.miss_probability = replay.miss_probability;
}

/// What is told of all choices. Spot nodes' time and money are reckoned of all; of those that would be told they are replayed,
/// until none is left among them that was not: what a replay makes dearer may give its place to another.
void tell(RentAnswer& answer, const policies::RentSearch& search) {
  const policies::PlanLimits& limits = answer.request.limits;
  const double restore_s = answer.checkpoint_bytes / answer.market.cluster->scenario.costs.restore_bytes_per_s;
  std::map<std::size_t, RentChoice> spot;  // as on nodes that stay
  for (std::size_t i = 0; i < answer.choices.size(); ++i) {
    RentChoice& one = answer.choices[i];
    if (!answer.pool_of(one).is_spot) continue;
    spot.emplace(i, one);
    set_spot(one, expected_on_spot(one, answer.rules, search.error_of(one), one.start_s + restore_s, limits.deadline_s));
    one.keeps_limits = keeps(limits, one.plan);
  }
  while (true) {
    answer.front.clear();
    for (const std::size_t i : policies::pareto_front(answer.choices)) answer.front.push_back({.choice = i});
    answer.told = told_of(answer.choices);
    bool is_replayed = true;
    for (const std::vector<ToldChoice>* list : {&answer.told, &answer.front})
      for (const ToldChoice& told : *list) {
        const auto left = spot.find(told.choice);
        if (left == spot.end()) continue;
        is_replayed = false;
        RentChoice& one = answer.choices[told.choice];
        set_spot(one, replay_on_spot(left->second, answer.rules, search.error_of(one), one.start_s + restore_s, limits.deadline_s,
                                     1, kDraws, answer.pool_of(one).prices));
        one.keeps_limits = keeps(limits, one.plan);
        spot.erase(left);
      }
    if (is_replayed) break;
  }
  for (std::vector<ToldChoice>* list : {&answer.told, &answer.front})
    for (ToldChoice& told : *list) told.bottleneck = search.bottleneck(answer.choices[told.choice]);
}

std::vector<sim::Precision> precisions_of(const RentArguments& a) {
  if (a.precisions.empty()) return policies::RentRules{}.precisions;
  const auto names = traces::precision_names();
  std::vector<sim::Precision> found;
  for (const std::string& word : listed_words(a.precisions)) {
    const auto at = std::ranges::find(names, word);
    if (at == names.end())
      throw sim::InputError({.file = "--precision",
                             .expected = fmt::format("any of {}, with commas", fmt::join(names, ", ")),
                             .found = sim::shown(word),
                             .nearest = sim::nearest_name(word, names)});
    found.push_back(static_cast<sim::Precision>(at - names.begin()));
  }
  return found;
}

/// Nothing keeps the limits: what would, and what it is.
void refuse_rent(const RentAnswer& answer, const std::string& where) {
  if (answer.choices.empty())
    throw sim::InputError({.file = where,
                           .expected = "a network and batches that fit the memory of something in the catalogue",
                           .found = "nothing that fits"});
  const auto any = [](const RentChoice&) { return true; };
  const sim::Cluster& cluster = answer.market.cluster->scenario.cluster;
  const RentChoice& soonest =
      answer.choices[*best_choice(answer.choices, any, [](const RentChoice& c) { return c.plan.time_s.high; })];
  const RentChoice& cheapest =
      answer.choices[*best_choice(answer.choices, any, [](const RentChoice& c) { return c.plan.cost_usd.high; })];
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
  say("{}", report::aligned(rows, left));
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

/// What the figures rest on.
void say_grounds(const RentAnswer& answer) {
  std::set<std::pair<policies::Spread, Knowledge>> levels;
  std::vector<const scenarios::InstanceEntry*> told;
  bool is_spot = false;
  std::set<int> priced;  // pools with a series of spot prices
  for (const std::vector<ToldChoice>* list : {&answer.told, &answer.front})
    for (const ToldChoice& one : *list) {
      const RentChoice& choice = answer.choices[one.choice];
      levels.emplace(spread_of(choice.plan), answer.pool_of(choice).knowledge);
      is_spot = is_spot || answer.pool_of(choice).is_spot;
      if (!answer.pool_of(choice).prices.empty()) priced.insert(choice.plan.pool);
      told.push_back(answer.market.entries[static_cast<std::size_t>(choice.plan.pool)]);
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
  say("Prices of {}; your own: rehearse catalogue prices FILE.csv -o prices.json, and --catalogue prices.json.\n",
      scenarios::price_dates(told));
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
                  priced.empty() ? "stays" : "stays where no series is named", kDraws)));
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

}  // namespace

RentGrounds grounds_of(const RentArguments& a, const std::optional<traces::OwnNetwork>& own) {
  RentGrounds grounds;
  grounds.catalogue.add_own();
  sim::Mistakes mistakes;
  for (const std::string& file : a.catalogues) grounds.catalogue.add_file(file, mistakes);
  mistakes.throw_if_any();
  if (!a.from.empty()) {
    grounds.measured = load_measured({.path = a.from, .catalogues = a.catalogues}, own);
    slipped_units(*grounds.measured);
    grounds.fitted = calibrated_devices(*grounds.measured);
    for (const sim::Device& device : grounds.fitted) grounds.catalogue.replace(device);
  }
  if (!a.stack.empty() && a.stack != scenarios::kNoStack) grounds.catalogue.use_stack(known_stack(a.stack, grounds.catalogue));
  return grounds;
}

void know_pools(scenarios::RentMarket& market, const RentGrounds& grounds, const policies::RentModel& model,
                const RentArguments& a) {
  const sim::Cluster& cluster = market.cluster->scenario.cluster;
  std::map<std::string, NearbyErrorsOf> nearby;  // by device
  for (const sim::Device& device : grounds.fitted) {
    const std::vector<workloads::Measurement>& rows = grounds.measured->list.rows;
    std::vector<std::size_t> which;
    std::vector<double> predicted_s(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].device != device.name || rows[i].model != model.model || rows[i].dataset != model.dataset || rows[i].kernel)
        continue;
      workloads::Place place = grounds.measured->places[i];
      place.device = device;
      predicted_s[i] = grounds.measured->model.step_s(rows[i], place);
      which.push_back(i);
    }
    nearby[device.name] = nearby_errors(rows, which, predicted_s);
  }
  for (std::size_t p = 0; p < market.pools.size(); ++p) {
    policies::RentPool& pool = market.pools[p];
    const sim::Device& device = sim::worker_device(cluster, static_cast<sim::PoolId>(p));
    pool.knowledge = scenarios::knowledge_of(device, model.model, model.dataset);
    if (pool.knowledge == Knowledge::data_sheet && device.kind == sim::DeviceKind::gpu && !a.stack.empty() &&
        a.stack != scenarios::kNoStack)
      pool.knowledge = Knowledge::stack;
    pool.nearby = nearby[device.name];
  }
}

RentAnswer rent_answer(const RentArguments& a) {
  scenarios::Catalogue plain;
  plain.add_own();
  sim::Mistakes mistakes;
  for (const std::string& file : a.catalogues) plain.add_file(file, mistakes);
  mistakes.throw_if_any();
  const RentGrounds grounds = grounds_of(a, a.from.empty() ? std::nullopt : own_network(a, plain));
  RentAnswer answer{.catalogue = grounds.catalogue};
  const scenarios::RentWishes wishes = wishes_of(a, answer.catalogue);
  answer.spot_prices = wishes.spot_prices;
  answer.market = rent_market(answer.catalogue, wishes);
  scenarios::PlanCluster& plan = *answer.market.cluster;
  const sim::Cluster& cluster = plan.scenario.cluster;
  answer.request = request_of(a, plan);
  scenarios::PlanRequest& request = answer.request;
  if (!a.deadline.empty()) request.limits.deadline_s = duration_option("--deadline", a.deadline);
  if (a.budget > 0) request.limits.cost_usd = a.budget;
  answer.rules = {.confidence = a.confidence / 100,
                  .power_limits = a.power_limits,
                  .precisions = precisions_of(a),
                  .spot = {.mean_up_s = 3600 * a.spot_mean_up_h}};
  const sim::OpGraph graph = workloads::build_graph(
      request.network, {.optimizer = request.optimizer, .stored_bytes_per_sample = request.bytes_per_sample});
  const workloads::StepModel step(graph);
  const workloads::MemoryModel memory(graph, request.optimizer);
  answer.checkpoint_bytes = workloads::kBytesPerNumber * graph.parameters * (1 + workloads::optimizer_slots(request.optimizer));
  const policies::RentModel model{.step = step,
                                  .memory = memory,
                                  .model = request.model,
                                  .dataset = request.dataset,
                                  .forward_flops = 2 * workloads::forward_multiply_adds(graph),
                                  .checkpoint_bytes = answer.checkpoint_bytes,
                                  .data_bytes = request.job.samples * request.bytes_per_sample};
  know_pools(answer.market, grounds, model, a);
  if (!a.account.empty())
    for (std::size_t p = 0; p < answer.market.pools.size(); ++p)
      answer.market.pools[p].extra_usd = egress_usd(wishes.account, *answer.market.entries[p], model.data_bytes);
  const policies::RentSearch search(cluster, plan.scenario.costs, answer.market.pools, model, answer.rules);
  answer.choices = search.choices(request.job, request.limits);
  tell(answer, search);
  return answer;
}

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
  rent.option("--accuracy", a.accuracy, "to reach, where the model's is modelled").between(1e-3, 1);
  rent.option("--epochs", a.epochs, "to train, instead of an accuracy");
  rent.option("--batches", a.batches, "global batch sizes to try, with commas (default: around the publication's)");
  rent.option("--deadline", a.deadline, "with its unit: 12h, 90min, 1d or 3600s");
  rent.option("--budget", a.budget, "dollars").between(0.01, 1e12);
  rent.option("--confidence", a.confidence, "percent, with which both limits hold (default 90)").between(50, 99.9);
  rent.option("--spot", a.spot, "nodes that may be taken away (default no)").choices({"no", "allowed", "only"});
  rent.option("--spot-mean-up", a.spot_mean_up_h, "hours until a spot node is taken away, in the mean (default 24)")
      .between(0.01, 1e5);
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
  rent.option("--resume", a.resume, "instead: a training that runs by this state, with --watch");
  rent.option("--watch", a.watch, "its log (OUT/metrics.jsonl of the exported training): stay, change batch or machine?");
  rent.option("--framework", a.framework, "of the code: pytorch (the default) or keras (with Horovod)").choices(kFrameworks);
}

int rent_command(const RentArguments& arguments) {
  if (!arguments.against.empty()) return rent_against(arguments);
  if (!arguments.resume.empty()) return rent_resume(arguments);
  if (!arguments.watch.empty()) missing("--resume", "the state of the plan beside --watch (rehearse rent ... --state FILE)");
  if (arguments.model.empty()) missing("rent", "a model, a network's file or a job's");
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
  say("\nNothing is both cheaper and faster than these:\n\n");
  std::vector<ToldChoice> front = answer.front;
  for (std::size_t i = 0; i < front.size(); ++i) front[i].label = i < 26 ? std::string(1, static_cast<char>('a' + i)) : "*";
  say_table(answer, front, kMostOfFront);
  if (front.size() > kMostOfFront) say("and {} more (--csv, --html)\n", front.size() - kMostOfFront);
  say("\n{}", front_picture(answer));
  say_grounds(answer);
  write_files(answer, arguments);
  return kOk;
}

}  // namespace rehearse::cli
