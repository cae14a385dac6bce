#include "scenarios/read/prices.hpp"

#include <algorithm>
#include <limits>

#include "sim/base/text.hpp"
#include "sim/io/csv.hpp"

namespace rehearse::scenarios {

namespace {

constexpr sim::NumberRange kDollarsPerHour{.low = 0, .high = 1e6};

/// The instance of a row with the row's prices; nothing after a mistake in it.
std::optional<InstanceEntry> priced(sim::CsvRow& row, const Catalogue& catalogue) {
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
  if (!region.empty() && !entry.region.empty() && region != entry.region) entry.instance.name = name + "@" + region;
  entry.instance.price_usd_per_hour = price;
  entry.instance.spot_price_usd_per_hour = spot.value_or(std::numeric_limits<double>::quiet_NaN());
  entry.has_price = true;
  if (!region.empty()) entry.region = region;
  entry.price_date = date;
  entry.instance.source += "; prices: a user's list";
  return entry;
}

}  // namespace

std::vector<InstanceEntry> priced_instances(const std::string& path, const Catalogue& catalogue) {
  sim::CsvReader reader(path, {.required = {"instance", "region", "date"},
                               .optional = {"price_usd_per_hour", "price", "spot_price_usd_per_hour"},
                               .others_allowed = false});
  sim::Mistakes mistakes;
  std::vector<InstanceEntry> entries;
  while (sim::CsvRow* row = reader.next()) {
    std::optional<InstanceEntry> entry = priced(*row, catalogue);
    const auto same = [&](const InstanceEntry& e) { return entry && e.instance.name == entry->instance.name; };
    if (std::ranges::any_of(entries, same)) row->refuse("instance", "an instance in a region that is given once");
    for (const sim::Mistake& mistake : row->mistakes()) mistakes.add(mistake);
    if (row->mistakes().empty()) entries.push_back(std::move(*entry));
  }
  if (entries.empty() && mistakes.empty())
    mistakes.add({.file = path, .expected = "at least one row with a price", .found = "none"});
  mistakes.throw_if_any();
  return entries;
}

}  // namespace rehearse::scenarios
