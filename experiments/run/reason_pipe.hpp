// Why tasks in forked children failed, told to their parent through a pipe: it works when the disk is full.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace rehearse::scenarios {

class ReasonPipe {
 public:
  ReasonPipe();
  ~ReasonPipe();
  ReasonPipe(const ReasonPipe&) = delete;
  ReasonPipe& operator=(const ReasonPipe&) = delete;

  /// For poll().
  int reading() const { return ends_[0]; }
  /// In a child. What is longer than a pipe takes at once is cut.
  void tell(int task, std::string_view reason) const;
  /// In the parent: takes what is there.
  void read();
  /// Of what was read; empty when nothing was told.
  std::string of(int task) const;

 private:
  int ends_[2] = {-1, -1};
  std::string text_;  ///< not whole yet
  std::map<int, std::string> reasons_;
};

}  // namespace rehearse::scenarios
