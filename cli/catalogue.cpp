#include <fmt/format.h>

#include <cmath>

#include "cli/commands.hpp"
#include "cli/say.hpp"
#include "report/table.hpp"
#include "scenarios/read/measured_sites.hpp"
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
  std::vector<std::string> outdated;
  for (std::size_t i = 0; i < list.instances.size(); ++i) {
    const scenarios::InstanceEntry& entry = list.instances[i];
    const std::string& name = entry.instance.name;
    const scenarios::InstanceEntry* old = catalogue.find_instance(name.substr(0, name.find('@')));
    const double spot = entry.instance.spot_price_usd_per_hour;
    std::string spot_words = std::isfinite(spot) ? fmt::format("{}", spot) : "-";
    const std::string& old_date = old->instance.price_date;
    const std::string of_date = old_date.empty() ? "" : " of " + old_date;
    if (list.spot[i] == scenarios::OldSpot::kept) spot_words += ", kept" + of_date;
    if (list.spot[i] == scenarios::OldSpot::dropped)
      spot_words += fmt::format(", the catalogue's {}{} is dearer", old->instance.spot_price_usd_per_hour, of_date);
    rows.push_back({name, entry.region, fmt::format("{}", old->instance.price_usd_per_hour), old_date,
                    fmt::format("{}", entry.instance.price_usd_per_hour), entry.instance.price_date, spot_words});
    if (list.is_outdated[i]) outdated.push_back(name);
  }
  sim::write_file(arguments.out, scenarios::catalogue_json({}, list.instances));
  say("{}", report::aligned(rows, {true, true, false, true, false, true, true}, {}, table_width()));
  if (!outdated.empty()) say("Older than the catalogue's price: {}.\n", fmt::join(outdated, ", "));
  return kOk;
}

}  // namespace rehearse::cli
