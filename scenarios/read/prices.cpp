#include "scenarios/read/prices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::scenarios {

namespace {

constexpr sim::NumberRange kDollarsPerHour{.low = 0, .high = 1e6};

struct Priced {
  InstanceEntry entry;
  bool keeps_spot = false;
};

/// The instance of a row with the row's prices; nothing after a mistake in it.
std::optional<Priced> priced(sim::CsvRow& row, const Catalogue& catalogue) {
  const std::string name(row.text("instance")), region(row.text("region")), date(row.text("date"));
  const InstanceEntry* found = catalogue.find_instance(name);
  if (found == nullptr) {
    const std::string nearest = sim::nearest_name(name, catalogue.instance_names());
    row.refuse("instance", "an instance of the catalogue" + (nearest.empty() ? "" : ", as " + nearest));
  }
  if (!is_price_date(date)) row.refuse("date", "a year, a month or a day, as 2026, 2026-03 or 2026-03-20");
  const bool both = row.has("price") && row.has("price_usd_per_hour");
  if (both) row.refuse("price", "one price: price or price_usd_per_hour");
  const double price = row.number(row.has("price") ? "price" : "price_usd_per_hour", kDollarsPerHour);
  const auto spot = row.maybe_number("spot_price_usd_per_hour", kDollarsPerHour);
  if (!row.mistakes().empty()) return std::nullopt;
  InstanceEntry entry = *found;
  const bool is_elsewhere = !region.empty() && !entry.region.empty() && region != entry.region;
  if (is_elsewhere) entry.instance.name = name + "@" + region;
  entry.instance.price_usd_per_hour = price;
  const double old_spot = entry.instance.spot_price_usd_per_hour;
  // A spot price says nothing of another region's.
  entry.instance.spot_price_usd_per_hour = spot.value_or(is_elsewhere ? std::numeric_limits<double>::quiet_NaN() : old_spot);
  const bool keeps_spot = !spot && !is_elsewhere && std::isfinite(old_spot);
  if (keeps_spot)
    entry.instance.source += "; spot price: the catalogue's" + (entry.price_date.empty() ? "" : " of " + entry.price_date);
  entry.has_price = true;
  if (!region.empty()) entry.region = region;
  entry.price_date = date;
  entry.instance.source += "; prices: a user's list";
  return Priced{std::move(entry), keeps_spot};
}

}  // namespace

PriceList priced_instances(const std::string& path, const Catalogue& catalogue) {
  sim::CsvReader reader(path, {.required = {"instance", "region", "date"},
                               .optional = {"price_usd_per_hour", "price", "spot_price_usd_per_hour"},
                               .others_allowed = false});
  sim::Mistakes mistakes;
  PriceList list;
  while (sim::CsvRow* row = reader.next()) {
    std::optional<Priced> one = priced(*row, catalogue);
    const auto same = [&](const InstanceEntry& e) { return one && e.instance.name == one->entry.instance.name; };
    if (std::ranges::any_of(list.instances, same)) row->refuse("instance", "an instance in a region that is given once");
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
    if (!row->mistakes().empty()) continue;
    list.instances.push_back(std::move(one->entry));
    list.keeps_spot.push_back(one->keeps_spot);
  }
  if (list.instances.empty() && mistakes.empty())
    mistakes.add({.file = path, .expected = "at least one row with a price", .found = "none"});
  mistakes.throw_if_any();
  return list;
}

}  // namespace rehearse::scenarios
