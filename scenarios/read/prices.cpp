#include "scenarios/read/prices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scenarios/read/rent_files.hpp"
#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::scenarios {

namespace {

constexpr sim::NumberRange kDollarsPerHour{.low = 0, .high = 1e6};

struct Priced {
  InstanceEntry entry;
  OldSpot spot = OldSpot::replaced;
  bool is_outdated = false;
};

/// Whether one date is before another, as far as both say: 2026 is not before 2026-03.
bool is_before(std::string_view date, std::string_view other) {
  const std::size_t common = std::min(date.size(), other.size());
  return date.substr(0, common) < other.substr(0, common);
}

/// As the catalogue writes a region, or as the list wrote it first: letters may be of either case.
std::string known_region(const std::string& region, const Catalogue& catalogue, const std::vector<InstanceEntry>& listed) {
  const std::string wanted = lower_case(region);
  for (const auto* entries : {&catalogue.instances(), &listed})
    for (const InstanceEntry& entry : *entries)
      if (lower_case(entry.region) == wanted) return entry.region;
  return region;
}

/// The instance of a row with the row's prices, behind those `listed`; nothing after a mistake in it.
std::optional<Priced> priced(sim::CsvRow& row, const Catalogue& catalogue, const std::string& price_column,
                             const std::vector<InstanceEntry>& listed) {
  const std::string name(row.text("instance")), date(row.text("date"));
  const InstanceEntry* found = catalogue.find_instance(name);
  if (found == nullptr) {
    const std::string nearest = sim::nearest_name(name, catalogue.instance_names());
    row.refuse("instance", "an instance of the catalogue" + (nearest.empty() ? "" : ", as " + nearest));
  }
  if (!is_price_date(date)) row.refuse("date", "a year, a month or a day, as 2026, 2026-03 or 2026-03-20");
  const double price = row.number(price_column, kDollarsPerHour);
  const auto spot = row.maybe_number("spot_price_usd_per_hour", kDollarsPerHour);
  if (spot && *spot > price) row.refuse("spot_price_usd_per_hour", "at most the price of the same row");
  if (!row.mistakes().empty()) return std::nullopt;
  InstanceEntry entry = *found;
  std::string region(row.text("region"));
  region = lower_case(region) == lower_case(entry.region) ? entry.region : known_region(region, catalogue, listed);
  const bool is_elsewhere = !region.empty() && !entry.region.empty() && region != entry.region;
  if (is_elsewhere) entry.instance.name = name + "@" + region;
  entry.instance.price_usd_per_hour = price;
  const double old_spot = entry.instance.spot_price_usd_per_hour;
  const std::string old_date = entry.instance.price_date;
  // A spot price says nothing of another region's, and nobody pays more for a node that may be taken away.
  OldSpot old = OldSpot::replaced;
  if (!spot && !is_elsewhere && std::isfinite(old_spot)) old = old_spot <= price ? OldSpot::kept : OldSpot::dropped;
  if (old != OldSpot::kept)
    entry.instance.spot_price_usd_per_hour = spot.value_or(std::numeric_limits<double>::quiet_NaN());
  else
    entry.instance.source += "; spot price: the catalogue's" + (old_date.empty() ? "" : " of " + old_date);
  entry.has_price = true;
  if (!region.empty()) entry.region = region;
  entry.instance.price_date = date;
  entry.instance.source += "; prices: a user's list";
  return Priced{std::move(entry), old, !is_elsewhere && !old_date.empty() && is_before(date, old_date)};
}

}  // namespace

PriceList priced_instances(const std::string& path, const Catalogue& catalogue) {
  sim::CsvReader reader(path, {.required = {"instance", "region", "date"},
                               .optional = {"price_usd_per_hour", "price", "spot_price_usd_per_hour"},
                               .others_allowed = false});
  if (reader.has_column("price") && reader.has_column("price_usd_per_hour"))
    throw sim::InputError({.file = path, .line = 1, .expected = "one column of prices", .found = "price and price_usd_per_hour"});
  const std::string price_column = reader.has_column("price") ? "price" : "price_usd_per_hour";
  sim::Mistakes mistakes;
  PriceList list;
  while (sim::CsvRow* row = reader.next()) {
    std::optional<Priced> one = priced(*row, catalogue, price_column, list.instances);
    const auto same = [&](const InstanceEntry& e) { return one && e.instance.name == one->entry.instance.name; };
    if (std::ranges::any_of(list.instances, same)) row->refuse("instance", "an instance in a region that is given once");
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
    if (!row->mistakes().empty()) continue;
    list.instances.push_back(std::move(one->entry));
    list.spot.push_back(one->spot);
    list.is_outdated.push_back(one->is_outdated);
  }
  if (list.instances.empty() && mistakes.empty())
    mistakes.add({.file = path, .expected = "at least one row with a price", .found = "none"});
  mistakes.throw_if_any();
  return list;
}

}  // namespace rehearse::scenarios
