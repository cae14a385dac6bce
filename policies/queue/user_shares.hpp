// Max-min fairness over users by progressive filling: the user with the smallest share starts a job next.
//   fair-share   a share is the mean over the pools of the part of each that a user holds ("asset fairness"), and jobs are
//   preempted drf          a share is the largest of these parts, the dominant one, and jobs are not preempted
// Ghodsi et al., "Dominant Resource Fairness: Fair Allocation of Multiple Resource Types", NSDI 2011, sections 4.2,
// 4.3 (weights) and 5.1 (asset fairness).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "policies/parameters.hpp"
#include "sim/replay/free_devices.hpp"

namespace rehearse::policies {

enum class ShareMeasure { mean, dominant };

struct UserSharesParameters {
  ShareMeasure measure = ShareMeasure::mean;
  bool preempt = true;
  NumberOfName weights = {};  ///< of users, > 0; 1 for those not named
};

/// Each user has a line for each pool; jobs start at the first entry of their menu that could ever fit. Preempts when that raises
/// the smallest share: the job of the user with the largest share that started last, as long as he keeps more than the other has.
class UserShares final : public sim::Queue {
 public:
  explicit UserShares(UserSharesParameters parameters) : parameters_(std::move(parameters)) {}
  void decide(const sim::QueueView& view, sim::QueueAnswer& answer) override;

 private:
  /// Who waits: in order of arrival. Who runs: the last to take devices first, then the last to arrive.
  struct Place {
    double key, tie;
    sim::JobSlot slot;
    auto operator<=>(const Place&) const = default;
  };
  struct User {
    double weight = 1;
    std::vector<int> held;                          // devices by pool; not those of jobs that let go
    std::vector<std::set<Place>> waiting, running;  // by the pool of the job's first group
  };
  enum class Book : std::uint8_t { none, waiting, starting, running, leaving };
  /// A job as the books have it.
  struct Entry {
    Book book = Book::none;
    int user = -1;
    Place place{};
    std::vector<sim::Group> groups;
  };
  /// What one decision can still give away.
  struct Pass {
    sim::FreeDevices free;               // now
    sim::FreeDevices soon;               // the same and what is let go, less what is promised
    std::vector<sim::JobSlot> promised;  // heads that wait for what is let go: what is free for them is kept
    sim::FreeDevices unkept;             // `free` without that
    bool kept_by_node = false;
    std::vector<int> failed_need;  // by pool, the smallest for which preemption has failed; the shares of those who ask only grow
    std::vector<char> blocked;     // lines, by user and pool
  };

  int user_of(const std::string& name);
  double share(const User& user) const;
  void book(const sim::QueueView& view, sim::JobSlot slot);
  void move(sim::JobSlot slot, Book to);
  void serve(const sim::QueueView& view, Pass& pass, sim::QueueAnswer& answer);
  bool serve_user(int user, Pass& pass, const sim::QueueView& view, sim::QueueAnswer& answer);
  void spare(const sim::QueueView& view, const sim::Configuration& wanted, const Pass& pass, std::vector<sim::JobSlot>& victims);
  void spare_unneeded(const sim::QueueView& view, const Pass& pass, sim::QueueAnswer& answer);
  void start(const sim::QueueView& view, sim::JobSlot slot, Pass& pass, sim::QueueAnswer& answer);
  void promise(const sim::QueueView& view, sim::JobSlot slot, Pass& pass);
  void release(const sim::QueueView& view, sim::JobSlot slot, sim::FreeDevices& free) const;
  bool make_room(const sim::QueueView& view, int user, const sim::Configuration& wanted, Pass& pass, sim::QueueAnswer& answer);

  UserSharesParameters parameters_;
  std::vector<double> capacity_;       // devices by pool
  std::vector<sim::JobSlot> leaving_;  // jobs that write a checkpoint
  bool by_node_ = false;               // some job has needed a number of nodes
  std::map<std::string, int> index_of_;
  std::vector<User> users_;
  std::vector<Entry> entries_;  // by slot
};

}  // namespace rehearse::policies
