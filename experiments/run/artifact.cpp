#include "experiments/run/artifact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "experiments/run/results_place.hpp"
#include "sim/base/errors.hpp"
#include "sim/base/version.hpp"
#include "sim/io/file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"
#include "sim/io/output_file.hpp"
#include "sim/io/seal.hpp"
#include "sim/io/shown.hpp"

namespace rehearse::scenarios {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestCompared = std::size_t{1} << 30;  // bytes of a file
constexpr std::string_view kDataFolder = "${REHEARSE_DATA}";

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw sim::InputError({.file = folder, .expected = "a folder that can be made", .found = error.message()});
}

void copy_to(const fs::path& from, const fs::path& to) {
  make_folders(to.parent_path());
  std::error_code error;
  fs::copy_file(from, to, error);
  if (error) throw sim::InputError({.file = to, .expected = "a file that can be written", .found = error.message()});
}

/// The path of a file of the folder, which is there. Throws InputError where it is a link to elsewhere, or behind one.
std::string own_file(const std::string& folder, const std::string& file) {
  const std::string path = folder + "/" + file;
  if (sim::leads_out(fs::canonical(path).lexically_relative(fs::canonical(folder))))
    throw sim::InputError({.file = path, .expected = "a file of the folder's own", .found = "a link to elsewhere"});
  return path;
}

/// How many folders it goes up before it goes down.
std::size_t ups(const std::string& path) {
  const fs::path normal = fs::path(path).lexically_normal();
  return static_cast<std::size_t>(std::count(normal.begin(), normal.end(), fs::path("..")));
}

void add_texts(sim::JsonValue value, std::set<std::string>& texts) {
  if (value.is_string()) texts.emplace(value.text());
  for (const sim::JsonValue element : value.elements()) add_texts(element, texts);
  for (const sim::JsonMember member : value.members())
    if (value.pointer().empty() && member.key.text() == "sha256")
      continue;
    else
      add_texts(member.value, texts);
}

void add_programs(sim::JsonValue value, std::vector<std::string>& programs) {
  for (const sim::JsonValue element : value.elements()) add_programs(element, programs);
  for (const sim::JsonMember member : value.members()) {
    if (member.key.text() != "process" || !member.value.is_array()) {
      add_programs(member.value, programs);
      continue;
    }
    std::string words;
    for (const sim::JsonValue word : member.value.elements())
      words += (words.empty() ? "" : " ") + (word.is_string() ? std::string(word.text()) : word.found());
    programs.push_back(std::move(words));
  }
}

/// Where the run's file is, by its sum; empty: nowhere.
std::string found_input(const ArtifactInput& input, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    const std::string path = folder + input.path;
    std::error_code none;
    if (fs::is_regular_file(path, none) && sim::sha256_of_file(path) == input.sha256) return path;
  }
  return {};
}

std::vector<ArtifactInput> inputs_of(sim::JsonValue scenario, sim::Mistakes& mistakes) {
  std::vector<ArtifactInput> inputs;
  for (const sim::JsonMember member : scenario.members()) {
    if (member.key.text() != "sha256") continue;
    for (const sim::JsonMember file : member.value.members())
      inputs.push_back({.path = std::string(file.key.text()), .sha256 = std::string(sim::read_text(file.value, mistakes))});
  }
  return inputs;
}

void pack_input(ArtifactInput& input, const std::vector<std::string>& folders, const fs::path& scenario_folder,
                const std::string& folder) {
  if (input.path.starts_with(kDataFolder)) {
    input.why = "of the optional data, which others fetch for themselves: REHEARSE_DATA names their folder";
    return;
  }
  if (fs::path(input.path).is_absolute()) {
    input.why = "named by an absolute path, so that it has to be there on the other machine too";
    return;
  }
  const std::string from = found_input(input, folders);
  if (from.empty())
    throw sim::InputError({.file = input.path,
                           .expected = "the file that the run has read, in the working folder or that of --inputs",
                           .found = "none there, or another"});
  input.packed = (scenario_folder / input.path).lexically_normal();
  std::error_code none;
  if (fs::exists(folder + "/" + input.packed, none)) {  // named twice, as a.csv and ./a.csv
    if (sim::sha256_of_file(folder + "/" + input.packed) == input.sha256) return;
    throw sim::InputError({.file = input.path, .expected = "another name", .found = "one that another input takes"});
  }
  copy_to(from, folder + "/" + input.packed);
  sim::check_file(folder + "/" + input.packed, {.bytes = fs::file_size(from), .sha256 = input.sha256}, "pack again");
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + sim::json_string(text);
  return "[" + list + "]";
}

std::string artifact_json(const Artifact& artifact) {
  std::string inputs, files;
  for (const ArtifactInput& input : artifact.inputs)
    inputs += fmt::format("{}\n    {{\"path\": {}, \"sha256\": \"{}\", {}: {}}}", inputs.empty() ? "" : ",",
                          sim::json_string(input.path), input.sha256, input.packed.empty() ? "\"not_packed\"" : "\"packed\"",
                          sim::json_string(input.packed.empty() ? input.why : input.packed));
  for (const auto& [file, sum] : artifact.sha256)
    files += fmt::format("{}\n    {}: \"{}\"", files.empty() ? "" : ",", sim::json_string(file), sum);
  return fmt::format(
      "{{\n  \"bundle\": 1,\n  \"version\": {},\n  \"scenario\": {},\n  \"certify\": {},\n  \"catalogues\": {},\n  \"inputs\": "
      "[{}{}],\n  \"figures\": {},\n  \"files\": {{{}\n  }}\n}}\n",
      sim::json_string(artifact.version), sim::json_string(artifact.scenario), artifact.certified, json_list(artifact.catalogues),
      inputs, inputs.empty() ? "" : "\n  ", json_list(artifact.figures), files);
}

/// Files of the machine, such as timing.json, have no sum in the manifest, and a folder without a manifest has none at all.
void require_listed(const std::string& results, const std::string& file) {
  std::error_code none;
  if (!fs::is_regular_file(results + "/" + file, none))
    throw sim::InputError(
        {.file = results + "/" + file,
         .expected = fmt::format("a file of the run (rehearse run SCENARIO --out {} --replace makes the results again)", results),
         .found = "no file"});
}

}  // namespace

Artifact pack_artifact(const std::string& results, const std::string& inputs, const std::string& folder) {
  check_results_and_page(results);
  const auto manifest = read_manifest(results);
  if (!manifest)
    throw sim::InputError(
        {.file = results, .expected = "the results folder of a run", .found = "a folder without its summary.json"});
  require_listed(results, kManifestFile);
  const sim::JsonDocument scenario = sim::read_json_file(results + "/scenario.json"),
                          summary = sim::read_json_file(results + "/summary.json");
  sim::Mistakes mistakes;
  Artifact artifact{.version = {}, .scenario = {}, .inputs = inputs_of(scenario.root(), mistakes)};
  for (const sim::JsonMember member : summary.root().members()) {
    if (member.key.text() == "version") artifact.version = sim::read_text(member.value, mistakes);
    if (member.key.text() == "certificate") artifact.certified = true;
  }
  mistakes.throw_if_any();

  // Deep enough that no path of the scenario leads out of inputs/.
  fs::path scenario_folder = "inputs";
  std::size_t levels = 0;
  for (const ArtifactInput& input : artifact.inputs)
    if (!fs::path(input.path).is_absolute()) levels = std::max(levels, ups(input.path));
  for (std::size_t level = 0; level < levels; ++level) scenario_folder /= fmt::format("level{}", level + 1);
  const auto last_of = [](const std::string& path) { return fs::path(path).filename().string(); };
  const std::string name = last_of(manifest->owner.file);
  artifact.scenario = scenario_folder / (sim::leads_out(name) ? last_of(manifest->owner.scenario) + ".json" : name);
  copy_to(own_file(results, "scenario.json"), folder + "/" + artifact.scenario);

  std::vector<std::string> folders{std::string(), results + "/"};
  if (!inputs.empty()) folders = {inputs + "/"};
  std::set<std::string> texts;
  add_texts(scenario.root(), texts);
  for (ArtifactInput& input : artifact.inputs) {
    pack_input(input, folders, scenario_folder, folder);
    if (!texts.contains(input.path)) artifact.catalogues.push_back(input.path);
  }
  for (const auto& [file, sum] : manifest->files) {
    require_listed(results, file);
    copy_to(own_file(results, file), folder + "/results/" + file);
  }
  check_results_and_page(folder + "/results");  // what is sealed is what was copied
  return artifact;
}

void seal_artifact(Artifact& artifact, const std::string& folder) {
  std::string left_out;
  for (const ArtifactInput& input : artifact.inputs)
    if (input.packed.empty()) left_out += fmt::format("  {}: {}\n", input.path, input.why);
  sim::write_file(folder + "/README.txt",
                  fmt::format("Results of Rehearse {}, with what they were made from.\n\n"
                              "  rehearse reproduce .\n\n"
                              "runs {} again, compares all results with those in results/, draws the figures\n"
                              "again, and says what differs. bundle.json has the SHA-256 of every file.\n{}",
                              artifact.version, artifact.scenario,
                              left_out.empty() ? "" : "\nFiles that are not here, and are needed:\n" + left_out));
  artifact.sha256.clear();
  for (const std::string& file : files_below(folder))
    if (file != kArtifactFile) artifact.sha256[file] = sim::sha256_of_file(folder + "/" + file);
  sim::write_file(folder + "/" + kArtifactFile, sim::sealed(artifact_json(artifact)));
}

Artifact read_artifact(const std::string& folder) {
  const std::string artifact_file = folder + "/" + kArtifactFile;
  const sim::JsonDocument document = sim::parse_json(
      sim::unsealed(sim::read_file(artifact_file, sim::kMaxJsonBytes), artifact_file, "rehearse bundle makes the bundle again"),
      artifact_file);
  sim::Mistakes mistakes;
  sim::ObjectReader in(document.root(), mistakes);
  Artifact artifact;
  in.integer("bundle", {.low = 1, .high = 1});
  artifact.version = in.text("version");
  const auto inside = [&](sim::JsonValue value) {
    const std::string path(sim::read_text(value, mistakes));
    if (sim::leads_out(path)) value.refuse("the path of a file in the folder", mistakes);
    return path;
  };
  if (const auto scenario = in.required("scenario", "the scenario's path in the folder")) artifact.scenario = inside(*scenario);
  artifact.certified = in.boolean("certify", false);
  for (const sim::JsonValue path : in.list("catalogues")) artifact.catalogues.emplace_back(sim::read_text(path, mistakes));
  for (const sim::JsonValue value : in.list("inputs")) {
    sim::ObjectReader input(value, mistakes);
    ArtifactInput& read = artifact.inputs.emplace_back();
    read.path = input.text("path");
    read.sha256 = input.text("sha256");
    if (const auto packed = input.child("packed")) read.packed = inside(*packed);
    read.why = input.text("not_packed", std::string());
    input.finish();
  }
  for (const sim::JsonValue figure : in.list("figures")) artifact.figures.emplace_back(sim::read_text(figure, mistakes));
  if (const auto files = in.required("files", "an object of sums"))
    for (const sim::JsonMember file : files->members()) {
      if (sim::leads_out(std::string(file.key.text()))) file.key.refuse("the path of a file in the folder", mistakes);
      artifact.sha256[std::string(file.key.text())] = sim::read_text(file.value, mistakes);
    }
  in.text("sha256", std::string());  // of a file that another program has written anew
  in.finish();
  mistakes.throw_if_any();
  return artifact;
}

std::vector<std::string> changed_files(const Artifact& artifact, const std::string& folder) {
  std::vector<std::string> changed;
  for (const auto& [file, sum] : artifact.sha256) {
    std::error_code none;
    if (!fs::is_regular_file(folder + "/" + file, none) || sim::sha256_of_file(folder + "/" + file) != sum)
      changed.push_back(file);
  }
  return changed;
}

std::vector<std::string> started_programs(const std::string& scenario) {
  const sim::JsonDocument document = sim::read_json_file(scenario);
  std::vector<std::string> programs;
  add_programs(document.root(), programs);
  return programs;
}

std::vector<FileComparison> compare_folders(const std::string& then, const std::string& now) {
  const std::set<std::string> before = files_below(then), after = files_below(now);
  std::set<std::string> all = before;
  all.insert(after.begin(), after.end());
  for (const char* of_machine : {"timing.json", kManifestFile}) all.erase(of_machine);
  std::vector<FileComparison> comparisons;
  for (const std::string& file : all) {
    FileComparison& made = comparisons.emplace_back(FileComparison{.file = file});
    if (!after.contains(file)) {
      made.kind = FileComparison::Kind::missing;
    } else if (!before.contains(file)) {
      made.kind = FileComparison::Kind::added;
    } else {
      made.difference = report::text_difference(sim::read_file(then + "/" + file, kLongestCompared),
                                                sim::read_file(now + "/" + file, kLongestCompared));
      if (!made.difference.same) made.kind = FileComparison::Kind::differs;
    }
  }
  return comparisons;
}

}  // namespace rehearse::scenarios
