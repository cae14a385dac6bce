// A user's list of prices over the catalogue's: CSV, instance,region,price_usd_per_hour,date (docs/guide/rent.md, "Prices").
#pragma once

#include <string>
#include <vector>

#include "scenarios/read/catalogue.hpp"

namespace rehearse::scenarios {

/// What became of the catalogue's spot price of an instance that a list gives a price: the list's (or none there was) took its
/// place, it stays, or it went because the list's price is lower.
enum class OldSpot { replaced, kept, dropped };

struct PriceList {
  std::vector<InstanceEntry> instances;
  std::vector<OldSpot> spot;      ///< one an instance
  std::vector<bool> is_outdated;  ///< one an instance: the catalogue's price of that region is of a later date
};

/// The catalogue's instances with the list's prices, regions and dates, in the list's order; every instance that the list names
/// must be the catalogue's. A second region of an instance, or one that is not its own, becomes an instance of its own,
/// NAME@REGION; regions are known in letters of either case. Columns: instance, region, date, price_usd_per_hour (or price), and
/// spot_price_usd_per_hour if wanted. A spot price that the list does not say stays the catalogue's, but not in another region,
/// nor above the list's price. Throws sim::InputError with all mistakes.
PriceList priced_instances(const std::string& path, const Catalogue& catalogue);

}  // namespace rehearse::scenarios
