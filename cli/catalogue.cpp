#include <fmt/format.h>

#include <cmath>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "report/table.hpp"
#include "scenarios/read/places.hpp"
#include "scenarios/read/prices.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::cli {

void add_catalogue_command(Command app, CataloguePricesArguments& arguments) {
  Command catalogue = app.subcommand("catalogue", "renew what the catalogue knows");
  catalogue.require_subcommand();
  Command prices =
      catalogue.subcommand("prices", "instances at the prices of a list of yours, as a catalogue file (docs/guide/rent.md)");
  prices.option("file", arguments.path, "CSV: instance,region,price_usd_per_hour,date, and spot_price_usd_per_hour if wanted")
      .required();
  prices.output("-o,--out", arguments.out, "the catalogue file to write").required();
  prices.option("--catalogue", arguments.catalogues, "a file of devices and instances; may be repeated").repeated();
}

int catalogue_prices_command(const CataloguePricesArguments& arguments) {
  scenarios::Catalogue catalogue;
  catalogue.add_own();
  sim::Mistakes mistakes;
  for (const std::string& file : arguments.catalogues) catalogue.add_file(file, mistakes);
  mistakes.throw_if_any();
  const scenarios::PriceList list = scenarios::priced_instances(arguments.path, catalogue);
  std::vector<std::vector<std::string>> rows{{"instance", "region", "was, $/hour", "of", "is, $/hour", "of", "spot, $/hour"}};
  for (std::size_t i = 0; i < list.instances.size(); ++i) {
    const scenarios::InstanceEntry& entry = list.instances[i];
    const std::string& name = entry.instance.name;
    const scenarios::InstanceEntry* old = catalogue.find_instance(name.substr(0, name.find('@')));
    const double spot = entry.instance.spot_price_usd_per_hour;
    std::string spot_words = std::isfinite(spot) ? fmt::format("{}", spot) : "-";
    if (list.keeps_spot[i]) spot_words += old->price_date.empty() ? ", kept" : ", kept of " + old->price_date;
    rows.push_back({name, entry.region, fmt::format("{}", old->instance.price_usd_per_hour), old->price_date,
                    fmt::format("{}", entry.instance.price_usd_per_hour), entry.price_date, spot_words});
  }
  sim::write_file(arguments.out, scenarios::catalogue_json({}, list.instances));
  say("{}", report::aligned(rows, {true, true, false, true, false, true, true}));
  return kOk;
}

}  // namespace rehearse::cli
