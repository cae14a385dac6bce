// manifest.json of a results folder: whose results they are, and which files belong to them. What is not in it is not ours.
#pragma once

#include <optional>
#include <set>
#include <string>

namespace rehearse::scenarios {

/// Whose results: those of another scenario, or of another file that gives the same name, are another's.
struct ResultsOwner {
  std::string scenario;  ///< its name
  std::string file;      ///< its file's name without folders; empty where it is not known: of before there were manifests
};

struct ResultsManifest {
  ResultsOwner owner;
  std::set<std::string> files;  ///< paths in the folder, "/" between their parts

  bool has_file(const std::string& path) const { return files.contains(path); }
  /// Whether one of its files lies in this subfolder.
  bool has_folder(const std::string& path) const;
};

inline constexpr const char* kManifestFile = "manifest.json";

/// The files of a folder, those in subfolders too, and the manifest itself.
ResultsManifest manifest_of(const std::string& folder, ResultsOwner owner);

std::string manifest_json(const ResultsManifest& manifest);

/// Nothing where the folder holds no results of ours (no summary.json as we write it). Of results without a manifest, the files
/// are those that a version without one could have written. Throws sim::InputError for a manifest that is damaged.
std::optional<ResultsManifest> read_manifest(const std::string& folder);

/// Whether results of `there` are replaced by those of `now` without being asked for.
bool is_same_owner(const ResultsOwner& there, const ResultsOwner& now);

}  // namespace rehearse::scenarios
