// What an interrupted run leaves in its .part folder, so that another start can go on with it: what the run is of (one file), and
// of each repetition that is finished its files and what it took (a subfolder with a mark).
#pragma once

#include <optional>
#include <set>
#include <string>

namespace rehearse::scenarios {

/// What a run's bytes depend on.
struct RunIdentity {
  std::string version;   ///< this_program()
  std::string scenario;  ///< its text as resolved, with the fingerprints of its files: JSON
  int repetitions = 0;   ///< of all policies together
};

/// The program's version, and which build of it this is where its linker has said so: what one leaves in memory another may not
/// read.
std::string this_program();

/// Writes what the run is of. Throws sim::InputError when the file cannot be written.
void write_identity(const std::string& part, const RunIdentity& run);
void remove_identity(const std::string& part);
/// Nothing where the folder is none of a run, or was not made whole.
std::optional<RunIdentity> read_identity(const std::string& part);

/// What `there` has otherwise than `now`, in words: "program version 0.1.0, not 0.2.0; another \"seed\"; another content of
/// \"trace.csv\"". Empty when a run of the one can go on with the other.
std::string difference(const RunIdentity& there, const RunIdentity& now);

/// What a finished repetition took; it is measured, so that only timing.json has it.
struct RepetitionCost {
  double cpu_s = 0, max_rss_bytes = 0;
};

/// Marks a subfolder of a repetition as finished, with the sums of its files: at once, or not at all. Mark and files survive the
/// machine where the repetition took a tenth of a second of processor time or more. Throws sim::InputError.
void mark_finished(const std::string& subfolder, const RepetitionCost& cost);
/// Takes the mark away, before the subfolder's files go.
void unmark(const std::string& subfolder);
/// Nothing where there is no mark. Throws sim::InputError, with what repairs it, where the mark or a file is not what was marked,
/// and for files that came later.
std::optional<RepetitionCost> finished(const std::string& subfolder);

/// Names of subfolders that are finished.
std::set<std::string> finished_in(const std::string& part);

/// Removes everything but what the run is of and its finished repetitions: what comes after them is done again.
void keep_finished(const std::string& part);

}  // namespace rehearse::scenarios
