// The HTML report of a results folder: one file that loads nothing. The page with its script is made at build time from
// report/html; the folder's numbers go into it here.
#pragma once

#include <string>
#include <string_view>

namespace rehearse::report {

struct HtmlReportSetup {
  std::string folder;     ///< of a run or a study: holds summary.json
  std::string_view page;  ///< report/html's page, with its slots
  bool timing = false;    ///< timing.json too, which differs from run to run
};

/// The report's text. Files of the folder that are not there leave their figures out. Throws InputError when summary.json is
/// missing or is none of ours, or a file cannot be read.
std::string html_report(const HtmlReportSetup& setup);

// Parts of it.

/// The folder's details, as JSON: of a run (jobs.csv, decisions.csv, ...), and the graphs and timelines of a study.
std::string run_details_json(const std::string& folder);
std::string study_details_json(const std::string& folder);

/// JSON text that can stand in a script element: no `<` is left in it.
std::string script_safe(std::string_view json);

/// The bytes deflated (RFC 1950), as base64 (RFC 4648).
std::string deflated_base64(std::string_view bytes);

}  // namespace rehearse::report
