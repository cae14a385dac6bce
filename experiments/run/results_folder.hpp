// The folder of a run's results: written under another name, and moved into place when whole.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/run/results_place.hpp"

namespace rehearse::scenarios {

class ResultsFolder {
 public:
  /// As make_part_folder does. Throws InputError.
  explicit ResultsFolder(ResultsPlace place);
  /// Removes what was not published, but for what can be gone on with.
  ~ResultsFolder();
  ResultsFolder(const ResultsFolder&) = delete;
  ResultsFolder& operator=(const ResultsFolder&) = delete;

  /// The temporary folder.
  const std::string& part() const { return part_.path; }
  /// What the repetition in this subfolder took, where it was finished; now, or by an interrupted run that this goes on with.
  std::optional<RepetitionCost> finished(const std::string& subfolder) const;
  /// Where a run can be gone on with: this repetition will not be run again.
  void mark_finished(const std::string& subfolder, const RepetitionCost& cost) const;
  /// What is left for another start when this is not published, and how it goes on, in a sentence; empty: nothing is.
  std::string left_behind() const;
  std::string make_subfolder(const std::string& name) const;
  void write(const std::string& name, std::string_view text) const;
  /// Joins the files one after the other under `name`; of all but the first, the header line is left out. Missing files are
  /// skipped. The files stay as they are.
  void join(const std::string& name, std::string_view header, const std::vector<std::string>& files) const;
  /// Removes a subfolder that is done with.
  void drop_subfolder(const std::string& name) const;
  /// Another name in this folder for a file of a subfolder, or a copy of it.
  void link(const std::string& file, const std::string& name) const;
  /// Moves the whole into place, with its manifest. Earlier results go; what is not of them stays.
  void publish();

 private:
  ResultsPlace place_;
  PartFolder part_;
  bool published_ = false;
};

// Puts whole results where earlier ones are, without losing what is not ours.

/// Moves the folder `part` to `target`. Results that are there change places with it in one step where the system knows how, and
/// their files are deleted; what their manifest does not name is moved back, one rename each. What has no place any more (the
/// new results have a file of its name) stays in a folder beside, NAME.XXXXXX.old, which `tell` hears of. Throws sim::InputError
/// when the folders could not be exchanged: both are then as they were.
void exchange_results(const std::string& part, const std::string& target, const std::function<void(const std::string&)>& tell);

}  // namespace rehearse::scenarios
