// The folder of a run's results: written under another name, and moved into place when whole.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "experiments/run/results_place.hpp"

namespace rehearse::scenarios {

class ResultsFolder {
 public:
  /// As make_part_folder does. Throws InputError.
  explicit ResultsFolder(ResultsPlace place);
  /// Removes what was not published.
  ~ResultsFolder();
  ResultsFolder(const ResultsFolder&) = delete;
  ResultsFolder& operator=(const ResultsFolder&) = delete;

  /// The temporary folder.
  const std::string& part() const { return part_.path; }
  std::string make_subfolder(const std::string& name) const;
  void write(const std::string& name, std::string_view text) const;
  /// Joins the files one after the other under `name`; of all but the first, the header line is left out. Missing files are
  /// skipped.
  void join(const std::string& name, std::string_view header, const std::vector<std::string>& files) const;
  /// Removes a subfolder that is done with.
  void drop_subfolder(const std::string& name) const;
  /// Moves the whole into place, with its manifest. Earlier results go; what is not of them stays.
  void publish();

 private:
  ResultsPlace place_;
  PartFolder part_;
  bool published_ = false;
};

}  // namespace rehearse::scenarios
