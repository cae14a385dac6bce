#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "experiments/run/results_place.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/version.hpp"
#include "sim/io/disk.hpp"
#include "sim/io/file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/output_file.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

namespace fs = std::filesystem;

namespace {

/// Our summary.json begins with the scenario's name.
bool holds_our_results(const std::string& folder) {
  std::error_code none;
  if (!fs::is_regular_file(folder + "/summary.json", none)) return false;
  std::ifstream file(folder + "/summary.json");
  std::string first, second;
  return std::getline(file, first) && std::getline(file, second) && first == "{" && second.starts_with("  \"scenario\": ");
}

/// Files that versions without a manifest wrote, beside the tables of a study.
bool is_name_of_ours(std::string_view path) {
  static constexpr std::array<std::string_view, 14> kNames{
      "jobs.csv", "decisions.csv",   "events.jsonl",  "stages.csv",  "curves.csv",   "predictions.csv", "utilization.csv",
      "life.csv", "repetitions.csv", "scenario.json", "timing.json", "summary.json", "report.html",     "nodes.csv"};
  static constexpr std::array<std::array<std::string_view, 2>, 10> kPatterns{{{"heat-", ".svg"},
                                                                              {"frontier-", ".svg"},
                                                                              {"front-", ".svg"},
                                                                              {"hypervolume-", ".svg"},
                                                                              {"threads-", ".svg"},
                                                                              {"cores-", ".svg"},
                                                                              {"placement-", ".dot"},
                                                                              {"timeline-", ".json"},
                                                                              {"logs/", ".txt"},
                                                                              {"candidates/", ".json"}}};
  return std::find(kNames.begin(), kNames.end(), path) != kNames.end() ||
         std::any_of(kPatterns.begin(), kPatterns.end(),
                     [&](const auto& p) { return path.starts_with(p[0]) && path.ends_with(p[1]); });
}

/// Of a summary.json that we wrote.
ResultsManifest without_manifest(const std::string& folder) {
  const sim::JsonDocument document = sim::read_json_file(folder + "/summary.json");
  ResultsManifest manifest;
  std::set<std::string> tables;
  for (const sim::JsonMember member : document.root().members()) {
    if (member.key.text() == "scenario" && member.value.is_string()) manifest.owner.scenario = member.value.text();
    if (member.key.text() != "tables" || !member.value.is_object()) continue;
    for (const sim::JsonMember table : member.value.members()) tables.insert(std::string(table.key.text()) + ".csv");
  }
  for (const std::string& file : files_below(folder))
    if (is_name_of_ours(file) || tables.contains(file)) manifest.files.emplace(file, sim::FileSum());
  return manifest;
}

constexpr const char* kPage = "report.html";

/// Two runs of one scenario leave other bytes.
bool tells_of_machine(std::string_view file) {
  return file == "timing.json" || file == kManifestFile || file.starts_with("logs/");
}

std::string repair_of(const std::string& folder, const ResultsOwner& owner) {
  return fmt::format("rehearse run {} --out {} --replace makes the results again", owner.file.empty() ? "SCENARIO" : owner.file,
                     folder);
}

ResultsManifest parse_manifest(const std::string& folder) {
  const std::string path = folder + "/" + kManifestFile;
  const sim::JsonDocument document =
      sim::parse_json(sim::unsealed(sim::read_file(path, sim::kMaxJsonBytes), path, repair_of(folder, {})), path);
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  ResultsManifest manifest;
  const auto text_of = [&](const char* key) {
    const auto value = in.child(key);
    return value && value->is_string() ? std::string(value->text()) : std::string();
  };
  manifest.owner = {.scenario = text_of("scenario"), .file = text_of("scenario_file"), .path = text_of("scenario_path")};
  for (const sim::JsonValue file : in.list("files")) {
    std::string name;
    sim::FileSum sum;
    if (file.is_object()) {
      sim::ObjectReader of_file(file, mistakes);
      name = of_file.text("path");
      sum.sha256 = of_file.text("sha256", std::string());
      if (sum.is_known()) sum.bytes = static_cast<std::uint64_t>(of_file.integer("bytes", sim::at_least(0)));
    } else {  // of a version that wrote no sums
      name = sim::read_text(file, mistakes);
    }
    if (sim::leads_out(name)) file.refuse("the path of a file in the folder", mistakes);
    manifest.files.emplace(std::move(name), std::move(sum));
  }
  mistakes.throw_if_any();
  return manifest;
}

/// A file alone, or all of the folder that can be read.
void check_files(const std::string& folder, const std::string& only, bool with_page) {
  std::error_code none;
  if (!fs::exists(folder + "/" + kManifestFile, none)) return;
  const ResultsManifest manifest = parse_manifest(folder);
  for (const auto& [file, sum] : manifest.files)
    if (sum.is_known() && (only.empty() ? with_page || file != kPage : file == only))
      sim::check_file(folder + "/" + file, sum, repair_of(folder, manifest.owner));
}

}  // namespace

std::set<std::string> files_below(const std::string& folder) {
  std::set<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (!fs::is_directory(it->symlink_status())) files.insert(it->path().lexically_relative(folder).generic_string());
  if (error) throw sim::InputError({.file = folder, .expected = "a folder that can be read", .found = error.message()});
  return files;
}

bool ResultsManifest::has_folder(const std::string& path) const {
  const auto first = files.lower_bound(path + "/");
  return first != files.end() && first->first.starts_with(path + "/");
}

ResultsManifest manifest_of(const std::string& folder, ResultsOwner owner) {
  ResultsManifest manifest{.owner = std::move(owner), .files = {{kManifestFile, {}}}};
  for (const std::string& file : files_below(folder))
    manifest.files[file] = tells_of_machine(file) ? sim::FileSum() : sim::sum_of_file(folder + "/" + file);
  return manifest;
}

std::string manifest_json(const ResultsManifest& manifest) {
  const ResultsOwner& owner = manifest.owner;
  std::string text =
      fmt::format("{{\n  \"version\": {},\n  \"scenario\": {},\n  \"scenario_file\": {},\n",
                  sim::json_string(sim::program_version()), sim::json_string(owner.scenario), sim::json_string(owner.file));
  if (!owner.path.empty()) text += fmt::format("  \"scenario_path\": {},\n", sim::json_string(owner.path));
  text += "  \"files\": [";
  const char* comma = "";
  for (const auto& [file, sum] : manifest.files) {
    text += fmt::format("{}\n    {{\"path\": {}{}}}", comma, sim::json_string(file),
                        sum.is_known() ? ", " + json_members(sum) : std::string());
    comma = ",";
  }
  return sim::sealed(text + "\n  ]\n}\n");
}

std::optional<ResultsManifest> read_manifest(const std::string& folder) {
  std::error_code error;
  const bool has_manifest = fs::exists(folder + "/" + kManifestFile, error);
  if (holds_our_results(folder)) return has_manifest ? parse_manifest(folder) : without_manifest(folder);
  if (!has_manifest) return {};
  try {  // of results whose summary.json is gone or damaged
    ResultsManifest manifest = parse_manifest(folder);
    const auto summary = manifest.files.find("summary.json");
    if (summary != manifest.files.end() && summary->second.is_known()) return manifest;
  } catch (const sim::InputError&) {  // another program's file of this name
  }
  return {};
}

ResultsManifest manifest_or_guess(const std::string& folder) {
  try {
    return read_manifest(folder).value_or(ResultsManifest());
  } catch (const sim::InputError&) {
  }
  try {
    return without_manifest(folder);
  } catch (const sim::InputError&) {
    return {};
  }
}

void check_results(const std::string& path) {
  sim::refuse_pipes_in(path);
  std::error_code none;
  const fs::path file = fs::path(path).lexically_normal();
  if (fs::is_directory(path, none))
    check_files(path, "", false);
  else if (fs::is_regular_file(path, none) && file.has_filename())
    check_files(file.has_parent_path() ? file.parent_path().string() : ".", file.filename().string(), false);
}

void check_results_and_page(const std::string& folder) {
  sim::refuse_pipes_in(folder);
  check_files(folder, "", true);
}

void take_page(const std::string& folder) {
  std::error_code none;
  if (!fs::exists(folder + "/" + kManifestFile, none)) return;
  ResultsManifest manifest = parse_manifest(folder);
  const auto page = manifest.files.find(kPage);
  if (page == manifest.files.end() || !page->second.is_known()) return;
  page->second = sim::sum_of_file(folder + "/" + kPage);
  sim::write_file(sim::without_link(folder + "/" + kManifestFile), manifest_json(manifest));
}

namespace {

/// Without links and dots, also where it is not there yet.
fs::path whole_path(const std::string& path) {
  std::error_code error;
  return fs::weakly_canonical(fs::absolute(path.empty() ? "." : path, error), error);
}

}  // namespace

std::string seen_from(const std::string& folder, const std::string& file) {
  return whole_path(file).lexically_relative(whole_path(folder)).generic_string();
}

bool is_of_another_file(const std::string& folder, const std::string& there, const std::string& now) {
  if (there.empty() || now.empty() || there == now) return false;
  const fs::path in = whole_path(folder);
  std::error_code error;
  return fs::is_regular_file(in / there, error) && !fs::equivalent(in / there, in / now, error);
}

bool is_same_owner(const ResultsOwner& there, const ResultsOwner& now) {
  return there.scenario == now.scenario && (there.file.empty() || there.file == now.file);
}

}  // namespace rehearse::scenarios
