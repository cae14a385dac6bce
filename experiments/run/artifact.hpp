// A folder for a paper's artifact: results with all that they were made from, so that they can be made again elsewhere.
//
//   bundle.json              versions, commands, and the SHA-256 of every other file
//   README.txt               how to make all again
//   inputs/.../NAME.json     the scenario, beside the files that it names at the paths that it names them by
//   results/                 the results
//   figures/                 drawn of them; figures/data: what is drawn
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/text_difference.hpp"

namespace rehearse::scenarios {

inline constexpr const char* kArtifactFile = "bundle.json";

/// A file that the run read.
struct ArtifactInput {
  std::string path;    ///< as the scenario names it
  std::string sha256;  ///< 64 hexadecimal digits
  std::string packed;  ///< in the folder; empty: it is not there
  std::string why;     ///< it is not: one sentence; empty otherwise
};

struct Artifact {
  std::string version;   ///< of the program that made the results
  std::string scenario;  ///< path of its file in the folder
  bool certified = false;
  std::vector<std::string> catalogues;  ///< that the run was given beside the scenario, as it was given them
  std::vector<ArtifactInput> inputs;
  std::vector<std::string> figures;           ///< arguments of `plot`, a figure each
  std::map<std::string, std::string> sha256;  ///< of each file in the folder but bundle.json, by its path
};

/// Copies scenario, inputs and results into a folder that is empty. The files are looked for in `inputs` (a folder; may be
/// empty), the working folder and that of the results, and must be those that the run has read. Throws sim::InputError: no
/// results of ours, or one of its files is not found.
Artifact pack_artifact(const std::string& results, const std::string& inputs, const std::string& folder);

/// Adds the sums of all files in the folder, README.txt among them, and writes bundle.json.
void seal_artifact(Artifact& artifact, const std::string& folder);

/// Of a folder that may be a stranger's: no path leads out of it. Throws sim::InputError.
Artifact read_artifact(const std::string& folder);

/// Files of the folder that are missing or are not what was sealed, in order.
std::vector<std::string> changed_files(const Artifact& artifact, const std::string& folder);

/// Programs that the scenario would start (policies that are processes), each with its arguments.
std::vector<std::string> started_programs(const std::string& scenario);

/// One of the results' files, now and then.
struct FileComparison {
  enum class Kind { same, differs, missing, added };
  std::string file;
  Kind kind = Kind::same;
  report::TextDifference difference;  ///< of `differs`
};

/// Each file of two folders of results, in order, but for what tells of the machine and the place (timing.json, manifest.json).
std::vector<FileComparison> compare_folders(const std::string& then, const std::string& now);

}  // namespace rehearse::scenarios
