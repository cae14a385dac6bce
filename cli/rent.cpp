#include "cli/rent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "cli/measured.hpp"
#include "policies/learn/gaussian_learner.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "sim/io/shown.hpp"
#include "traces/jobs/trace_job.hpp"
#include "traces/networks/network_file.hpp"
#include "workloads/layers/account.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/steps/graph_builder.hpp"

namespace rehearse::cli {

bool is_job_file(const std::string& path) {
  if (!traces::names_file(path) || !traces::holds_json(path)) return false;
  const sim::JsonDocument document = sim::read_json_file(path);
  bool is_job = false, is_network = false;
  if (document.root().is_object())
    for (const sim::JsonMember member : document.root().members()) {
      const std::string_view key = member.key.text();
      is_job = is_job || key == "model" || key == "network" || key == "dataset" || key == "epochs" || key == "target_accuracy";
      is_network =
          is_network || key == "layers" || key == "class_name" || key == "cnn" || key == "rnn" || key == "mlp" || key == "ops";
    }
  return is_job && !is_network;
}

void refuse_missing(const char* option, const std::string& expected) {
  throw sim::InputError({.file = option, .expected = expected, .found = "nothing"});
}

namespace {

using policies::Bottleneck;
using policies::Knowledge;
using policies::RentChoice;
using ToldChoice = RentAnswer::Told;

constexpr std::size_t kMostOthers = 4;

std::vector<std::string> listed_words(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (end > at) words.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// The options as a job's JSON text, so that they are read and checked as a job's file is.
std::string job_text(const RentArguments& a) {
  const bool is_file = traces::names_file(a.model);
  if (is_file && a.samples.empty() && a.dataset.empty())
    refuse_missing("--samples",
                   "how many samples an epoch has, as --samples 1.2M: the network's file does not say (or --dataset)");
  if (a.epochs.empty() && !(a.accuracy > 0))
    refuse_missing("--epochs", is_file ? "--epochs: how accuracy grows is modelled of models of the zoo alone"
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
                                     1, kSpotDraws, answer.pool_of(one).prices));
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
      workloads::Site site = grounds.measured->sites[i];
      site.device = device;
      predicted_s[i] = grounds.measured->model.step_s(rows[i], site);
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
                                  .forward_flops = 2 * account_of(request.network).multiply_adds,
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

}  // namespace rehearse::cli
