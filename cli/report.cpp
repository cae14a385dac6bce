#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/embedded.hpp"
#include "cli/say.hpp"
#include "experiments/run/results_place.hpp"
#include "report/html_report.hpp"
#include "sim/base/errors.hpp"
#include "sim/io/output_file.hpp"

namespace rehearse::cli {

int report_command(const ReportArguments& arguments) {
  if (report_page().empty())
    throw sim::InputError({.found =
                               "a program built without the HTML report. With npm installed and a package registry in reach, "
                               "remove cli/report_page.html from the build folder and build again"});
  if (!arguments.out.empty() && arguments.folders.size() > 1)
    throw sim::InputError({.expected = "one results folder with --out", .found = fmt::format("{}", arguments.folders.size())});
  for (const std::string& folder : arguments.folders) {
    scenarios::check_results(folder);
    const std::string page = report::html_report({.folder = folder, .page = report_page(), .timing = arguments.timing});
    const std::string out = arguments.out.empty() ? sim::without_link(folder + "/report.html") : arguments.out;
    sim::write_file(out, page);
    if (arguments.out.empty()) scenarios::take_page(folder);
    say("{}\n", out);
  }
  return kOk;
}

}  // namespace rehearse::cli
