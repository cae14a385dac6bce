#include "scenarios/read/rent_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scenarios/read/loader_parts.hpp"
#include "sim/base/text.hpp"
#include "sim/io/civil_date.hpp"
#include "sim/io/csv.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/yaml.hpp"

namespace rehearse::scenarios {

namespace {

using sim::between;

constexpr const char* kNobodyRents = "own";

/// "us" is of "us-east-1", "us", and Azure's "eastus"; "eu" of "eu-north1" and "europe-west4"; whole names of themselves.
/// Letters may be of either case.
bool lies_in(const std::string& given_region, const std::string& given_wanted) {
  const std::string region = lower_case(given_region), wanted = lower_case(given_wanted);
  return region == wanted || region.starts_with(wanted + "-") || (wanted == "us" && region.ends_with("us")) ||
         (wanted == "eu" && region.starts_with("europe"));
}

bool is_wanted(const InstanceEntry& entry, const RentWishes& wishes) {
  const RentAccount& account = wishes.account;
  const bool is_listed = account.instances.contains(entry.instance.name);
  if (account.only_listed && !is_listed) return false;
  if (entry.provider == kNobodyRents && !is_listed) return false;
  const auto fits = [&](const std::vector<std::string>& regions) {
    return regions.empty() || std::ranges::any_of(regions, [&](const std::string& r) { return lies_in(entry.region, r); });
  };
  if (!wishes.providers.empty() && std::ranges::find(wishes.providers, entry.provider) == wishes.providers.end()) return false;
  return fits(wishes.regions) && fits(account.regions);
}

}  // namespace

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

RentAccount load_account(const std::string& path, const Catalogue& catalogue) {
  const sim::JsonDocument document = sim::read_document(path);
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  RentAccount account;
  if (const auto instances = in.child("instances")) {
    if (!instances->is_object()) {
      instances->refuse("an object: names of instances, each with {\"nodes\": ..., \"price_usd_per_hour\": ...}", mistakes);
      mistakes.throw_if_any();
    }
    for (const sim::JsonMember member : instances->members()) {
      const std::string name(member.key.text());
      if (!known_name(member.key, name, catalogue.instance_names(), "instance", mistakes)) continue;
      sim::ObjectReader one(member.value, mistakes);
      RentAccount::Terms& terms = account.instances[name];
      if (const auto nodes = one.maybe_integer("nodes", between(0, 1e6))) terms.nodes = static_cast<int>(*nodes);
      terms.usd_per_hour = one.maybe_number("price_usd_per_hour", between(0, 1e6));
      one.finish();
    }
  }
  account.only_listed = in.boolean("only_listed", false);
  for (const sim::JsonValue region : in.list("regions")) account.regions.emplace_back(sim::read_text(region, mistakes));
  if (const auto data = in.child("data")) {
    sim::ObjectReader one(*data, mistakes);
    account.data_provider = one.text("provider");
    account.data_region = one.text("region", "");
    one.finish();
  }
  account.egress_usd_per_gb = in.number("egress_usd_per_gb", between(0, 1e3), 0.0);
  if (account.egress_usd_per_gb > 0 && account.data_provider.empty())
    in.child("egress_usd_per_gb")->refuse("\"data\" beside it: where the data lie", mistakes);
  if (account.only_listed && account.instances.empty()) in.child("only_listed")->refuse("instances beside it", mistakes);
  in.finish();
  mistakes.throw_if_any();
  return account;
}

SpotPriceList load_spot_prices(const std::string& path, const Catalogue& catalogue) {
  sim::CsvReader reader(
      path, {.required = {"instance", "date"}, .optional = {"spot_price_usd_per_hour", "price"}, .others_allowed = true});
  const std::string column = reader.has_column("spot_price_usd_per_hour") ? "spot_price_usd_per_hour" : "price";
  if (!reader.has_column(column))
    throw sim::InputError({.file = path, .line = 1, .expected = "a column spot_price_usd_per_hour, or price", .found = "none"});
  struct Rows {
    std::vector<double> dates_s, prices;
    std::int64_t line = 0;
  };
  std::map<std::string, Rows> of;
  SpotPriceList list{.file = path, .series = {}};
  sim::Mistakes mistakes;
  const std::vector<std::string> names = catalogue.instance_names();
  while (sim::CsvRow* row = reader.next()) {
    const std::string name(row->text("instance")), date(row->text("date"));
    if (catalogue.find_instance(name) == nullptr) row->refuse("instance", "an instance (rehearse list instances)");
    const auto when = sim::parse_civil_date(date);
    if (!when) row->refuse("date", "a date as 2025-03-01 or 2025-03-01T06:00:00Z");
    const double price = row->number(column, sim::above(0));
    if (row->mistakes().empty()) {
      Rows& rows = of[name];
      if (!rows.dates_s.empty() && when->unix_s <= rows.dates_s.back())
        row->refuse("date", "a date behind that of the instance's row before");
      else
        rows.dates_s.push_back(when->unix_s), rows.prices.push_back(price), rows.line = row->line();
      SpotPriceList::Series& series = list.series[name];
      if (series.first.empty()) series.first = date;
      series.last = date;
    }
    for (sim::Mistake mistake : row->mistakes()) {
      if (mistake.pointer == "instance") mistake.nearest = sim::nearest_name(name, names);
      mistakes.add(std::move(mistake));
    }
  }
  for (auto& [name, rows] : of) {
    if (rows.dates_s.size() < 2)
      mistakes.add({.file = path, .line = rows.line, .expected = fmt::format("two prices of {} at least", name), .found = "one"});
    else
      list.series[name].prices = policies::SpotPrices(std::move(rows.dates_s), std::move(rows.prices));
  }
  mistakes.throw_if_any();
  if (of.empty()) throw sim::InputError({.file = path, .expected = "a row for each date", .found = "no rows"});
  return list;
}

RentMarket rent_market(const Catalogue& catalogue, const RentWishes& wishes) {
  RentMarket market;
  market.cluster = std::make_unique<PlanCluster>();
  Scenario& scenario = market.cluster->scenario;
  scenario.costs.billing = sim::Billing::node;
  sim::Mistakes mistakes;
  const auto add = [&](const InstanceEntry& entry, InstanceEntry priced, bool is_spot) {
    int nodes = wishes.most_nodes;
    bool is_account_price = false;
    const auto terms = wishes.account.instances.find(entry.instance.name);
    if (terms != wishes.account.instances.end()) {
      nodes = std::min(nodes, terms->second.nodes.value_or(nodes));
      is_account_price = !is_spot && terms->second.usd_per_hour.has_value();
      if (is_account_price) priced.instance.price_usd_per_hour = *terms->second.usd_per_hour;
    }
    if (nodes == 0) return;
    const int instance = add_to_cluster(priced, catalogue, scenario.cluster, mistakes);
    if (instance == kNoInstance) return;
    scenario.cluster.pools.push_back({.name = entry.instance.name + (is_spot ? " (spot)" : ""),
                                      .instance = instance,
                                      .nodes = nodes,
                                      .autoscale = sim::Autoscale{}});
    const auto series = wishes.spot_prices.series.find(entry.instance.name);
    market.pools.push_back(
        {.is_spot = is_spot,
         .most_nodes = nodes,
         .prices = is_spot && series != wishes.spot_prices.series.end() ? series->second.prices : policies::SpotPrices()});
    market.entries.push_back(&entry);
    market.is_account_price.push_back(is_account_price);
  };
  for (const InstanceEntry& entry : catalogue.instances()) {
    if (!is_wanted(entry, wishes)) continue;
    if (wishes.spot != SpotUse::only) add(entry, entry, false);
    const auto series = wishes.spot_prices.series.find(entry.instance.name);
    const double spot_price =
        series == wishes.spot_prices.series.end() ? entry.instance.spot_price_usd_per_hour : series->second.prices.mean();
    if (wishes.spot == SpotUse::no || !std::isfinite(spot_price)) continue;
    InstanceEntry spot = entry;
    spot.instance.price_usd_per_hour = spot_price;
    add(entry, std::move(spot), true);
  }
  mistakes.throw_if_any();
  if (market.pools.empty())
    throw sim::InputError({.pointer = "rent",
                           .expected = "regions, clouds and an account that leave an instance (rehearse list instances)",
                           .found = "none left"});
  return market;
}

double egress_usd(const RentAccount& account, const InstanceEntry& entry, double bytes) {
  if (account.data_provider.empty()) return 0;
  const bool is_there =
      entry.provider == account.data_provider && (account.data_region.empty() || entry.region == account.data_region);
  return is_there ? 0 : account.egress_usd_per_gb * bytes / 1e9;
}

policies::Knowledge knowledge_of(const sim::Device& device, std::string_view model, std::string_view dataset) {
  const auto is_of = [&](const sim::ModelCorrection& c) { return c.model == model && c.dataset == dataset; };
  if (std::ranges::any_of(device.corrections, is_of)) return policies::Knowledge::model;
  return device.corrections.empty() ? policies::Knowledge::data_sheet : policies::Knowledge::device;
}

}  // namespace rehearse::scenarios
