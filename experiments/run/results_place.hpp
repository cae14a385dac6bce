// manifest.json of a results folder: whose results they are, and which files belong to them. What is not in it is not ours.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "experiments/run/interrupted_run.hpp"
#include "sim/io/seal.hpp"

namespace rehearse::scenarios {

/// Whose results: those of another scenario, or of another file that gives the same name, are another's.
struct ResultsOwner {
  std::string scenario;  ///< its name
  std::string file;      ///< its file's name without folders; empty where it is not known: of before there were manifests
  /// As seen from the folder of the results, where two files of one name would have the same folder by default; else empty.
  std::string path = {};
};

/// Where a file lies, seen from a folder that may not be there yet.
std::string seen_from(const std::string& folder, const std::string& file);

/// Whether what the folder has is of another file of the same name, which is still there. `there` and `now` as seen from it;
/// empty: not known.
bool is_of_another_file(const std::string& folder, const std::string& there, const std::string& now);

struct ResultsManifest {
  ResultsOwner owner;
  /// By its path in the folder, "/" between its parts. Of the manifest itself and of what tells of the machine (timing.json,
  /// logs) there is no sum, nor in manifests of earlier versions.
  std::map<std::string, sim::FileSum> files;

  bool has_file(const std::string& path) const { return files.contains(path); }
  /// Whether one of its files lies in this subfolder.
  bool has_folder(const std::string& path) const;
};

inline constexpr const char* kManifestFile = "manifest.json";

/// The files of a folder, those in subfolders too, with their sums, and the manifest itself.
ResultsManifest manifest_of(const std::string& folder, ResultsOwner owner);

/// Every file below a folder, by its path there with "/" between its parts; links are not followed. Throws sim::InputError where
/// the folder cannot be read.
std::set<std::string> files_below(const std::string& folder);

std::string manifest_json(const ResultsManifest& manifest);

/// Nothing where the folder holds no results of ours (no summary.json as we write it). Of results without a manifest, the files
/// are those that a version without one could have written. Throws sim::InputError for a manifest that is damaged.
std::optional<ResultsManifest> read_manifest(const std::string& folder);

/// Where the manifest is damaged, the files that a version without one could have written; none where summary.json is damaged
/// too.
ResultsManifest manifest_or_guess(const std::string& folder);

/// Of results that are about to be read: a folder, or a file in it. Throws sim::InputError for the first file that is missing or
/// is not what the run wrote, with what repairs it, and as sim::refuse_pipes_in does. Files that the manifest does not name are
/// not looked at, nor are other folders.
void check_results(const std::string& path);
/// As check_results, of the page as well, which no command reads.
void check_results_and_page(const std::string& folder);
/// The report's page was made anew by who asked for it: from now on it belongs to the results as it is, if one did before.
void take_page(const std::string& folder);

/// Whether results of `there` are replaced by those of `now` without being asked for.
bool is_same_owner(const ResultsOwner& there, const ResultsOwner& now);

// Where results are to go: checked, and made ready, before anything runs.

struct ResultsPlace {
  std::string path;
  ResultsOwner owner = {};
  bool replace = false;  ///< another owner's results too, and what an interrupted run has left
  /// Hears what the user should know but that stops nothing: what an earlier run left, what could not be moved.
  std::function<void(const std::string&)> tell = [](const std::string&) {};
  std::function<void(const std::string&)> note = [](const std::string&) {};  ///< hears how far an interrupted run is gone on with
  /// What the results are of, where a start may go on with what an interrupted run has finished; without it nothing is left of
  /// what is not published.
  std::optional<RunIdentity> run = {};
  bool resume = false;  ///< go on with it
};

/// What results are written into until they are whole: a folder beside the place, of a name that no other has, locked while this
/// process or a child of it lives.
struct PartFolder {
  std::string target;  ///< the place, without links
  std::string path;
  int lock = -1;            ///< a descriptor to close
  bool is_resumed = false;  ///< an interrupted run's, of which only what is finished is left
};

/// Checks that the place can be published into: missing, empty, or earlier results of the same owner; no link to nothing, no
/// mount point, not the folder that the process is in; and that no other run is about to publish there. Tells of what runs that
/// were killed left beside it. Of an interrupted run that has finished repetitions the folder is taken up (resume), removed
/// (replace), or else a mistake. Throws sim::InputError, also when what is to be resumed is not of the same run.
PartFolder make_part_folder(const ResultsPlace& place);

}  // namespace rehearse::scenarios
