// What can be rented for one training: the catalogue as a cluster with a pool of each instance type, narrowed by what an account
// has (docs/guide/rent.md, "An account").
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/harness/rent.hpp"
#include "scenarios/read/catalogue.hpp"
#include "scenarios/read/plan_files.hpp"

namespace rehearse::scenarios {

/// What one account may rent, and what is its own.
struct RentAccount {
  struct Terms {
    std::optional<int> nodes;            ///< a quota, or what is reserved
    std::optional<double> usd_per_hour;  ///< committed or own: 0 is nothing
  };
  std::map<std::string, Terms> instances;
  bool only_listed = false;          ///< nothing else may be rented
  std::vector<std::string> regions;  ///< none: all
  std::string data_provider, data_region;
  double egress_usd_per_gb = 0;  ///< of data that is moved away from there
};

/// {"instances": {NAME: {"nodes", "price_usd_per_hour"}}, "only_listed", "regions": [...], "data": {"provider", "region"},
/// "egress_usd_per_gb"}, as JSON or YAML. Throws sim::InputError with all mistakes.
RentAccount load_account(const std::string& path, const Catalogue& catalogue);

/// What spot nodes have cost, by instance.
struct SpotPriceList {
  struct Series {
    policies::SpotPrices prices;
    std::string first, last;  ///< dates as written
  };
  std::string file;
  std::map<std::string, Series> series;
};

/// CSV: instance, date (2025-03-01, or with the time), spot_price_usd_per_hour (or price); rows of an instance by date, two at
/// least. Throws sim::InputError with all mistakes.
SpotPriceList load_spot_prices(const std::string& path, const Catalogue& catalogue);

/// Clouds and regions are written in either case.
std::string lower_case(std::string text);

enum class SpotUse : std::uint8_t { no, allowed, only };

struct RentWishes {
  std::vector<std::string> regions;    ///< beside the account's: whole names, or their beginnings as "us"; none: all
  std::vector<std::string> providers;  ///< none: all that rent out
  SpotUse spot = SpotUse::no;
  int most_nodes = 16;
  RentAccount account;
  SpotPriceList spot_prices;
};

struct RentMarket {
  std::unique_ptr<PlanCluster> cluster;
  std::vector<policies::RentPool> pools;      ///< those of the cluster, in their order
  std::vector<const InstanceEntry*> entries;  ///< likewise; of the catalogue
  std::vector<bool> is_account_price;         ///< likewise: the account says what a node costs
};

/// A pool for each instance that the wishes leave, and one more for its spot price where that is wanted: NAME and "NAME (spot)".
/// Nodes boot before they start; nodes of `provider` "own" are left out unless the account lists them. Throws sim::InputError
/// where nothing is left.
RentMarket rent_market(const Catalogue& catalogue, const RentWishes& wishes);

/// Of moving so many bytes to the instance from where the account's data lie.
double egress_usd(const RentAccount& account, const InstanceEntry& entry, double bytes);

/// What was measured of it, as its corrections say.
policies::Knowledge knowledge_of(const sim::Device& device, std::string_view model, std::string_view dataset);

}  // namespace rehearse::scenarios
