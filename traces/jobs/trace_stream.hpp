// Which names occurred, for traces whose names do not fit into memory: a 64-bit fingerprint of each, in a hash table with open
// addressing, at most 32 bytes a name. Two of n names share a fingerprint with a probability of about n^2 / 2^65: 3e-7 for ten
// million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/jobs/job_list.hpp"
#include "traces/jobs/readers.hpp"
#include "traces/jobs/to_job.hpp"

namespace rehearse::traces {

class Fingerprints {
 public:
  bool contains(std::string_view name) const { return !slots_.empty() && slots_[place(of(name))] != 0; }
  /// False when it was there before.
  bool insert(std::string_view name) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    const std::uint64_t fingerprint = of(name);
    std::uint64_t& slot = slots_[place(fingerprint)];
    if (slot != 0) return false;
    slot = fingerprint;
    ++used_;
    return true;
  }

  /// That the name will be inserted soon: of millions of names the place is in no cache, and waiting for it was a quarter of the
  /// time of reading a trace.
  void expect(std::string_view name) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[of(name) & (slots_.size() - 1)], 1);
  }

 private:
  static std::uint64_t of(std::string_view name) {
    const std::uint64_t hash = std::hash<std::string_view>{}(name);
    return hash == 0 ? 1 : hash;  // 0: an empty slot
  }
  std::size_t place(std::uint64_t fingerprint) const {
    std::size_t at = fingerprint & (slots_.size() - 1);
    while (slots_[at] != 0 && slots_[at] != fingerprint) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<std::uint64_t> before(slots_.empty() ? 64 : 2 * slots_.size());
    before.swap(slots_);
    for (const std::uint64_t fingerprint : before)
      if (fingerprint != 0) slots_[place(fingerprint)] = fingerprint;
  }

  std::vector<std::uint64_t> slots_;  ///< a power of two of them, at most half of them used
  std::size_t used_ = 0;
};

// A trace from its first row to its last in constant memory but for the jobs' fingerprints: what is not kept is accounted for.

/// What is kept of a trace, and how it is changed.
struct TraceChoices {
  double sample = 1;  ///< each job is kept with this probability, by its name and `seed`
  std::uint64_t seed = 0;
  double from_s = -std::numeric_limits<double>::infinity();  ///< the first date kept, as the file counts
  double to_s = std::numeric_limits<double>::infinity();     ///< the first one not kept any more
  double scale_load = 1;                                     ///< dates move this much closer to `from_s` or the first job's
  std::vector<std::pair<std::string, std::string>> models;   ///< theirs, ours
  /// That the jobs are for: their names must be among its, and their sizes are compared with its cluster's. Null: names are
  /// passed on as they stand.
  const TraceOptions* scenario = nullptr;
};

class TraceStream {
 public:
  /// Of other people's traces a model that is neither among `known_models` nor the second of a pair in choices.models is left
  /// out, or the job is dropped when its work needs one. Throws InputError as the format's reader does, and where there is no
  /// such file, saying how it is had.
  TraceStream(const TraceReaderEntry& format, const std::string& path, TraceChoices choices,
              std::vector<std::string> known_models);

  /// The next job that is kept, in the file's order, good until the next call; null at the end. Throws InputError as the reader.
  const TraceJob* next();
  /// Ends the report with the notes on what was read. next() does it at the end of the file.
  void finish();
  /// Its names in choices.scenario.
  const LookedUp& looked_up() const { return looked_up_; }
  /// The native columns that its jobs may have.
  std::vector<const JobField*> columns() const;
  /// Of what was read so far. After the end, with the notes on the whole file.
  const ImportReport& report() const { return report_; }

 private:
  void count_row();
  bool keep();
  bool choose();
  void name_model();
  void look_up_names();
  void check_alone();
  bool check_size();
  bool scale();
  void check_after();
  void read_names();
  void compare();
  void count_repairs();
  void count_drop();
  std::string nearest(const sim::Mistake& mistake) const;
  bool is_cut_off() const;

  const TraceReaderEntry& format_;
  std::string path_;
  TraceChoices choices_;
  std::vector<std::string> known_models_;
  std::unique_ptr<TraceReader> reader_;
  TraceRow row_;
  LookedUp looked_up_;
  ImportReport report_;
  Fingerprints names_;                       ///< of the rows that were kept so far
  std::unique_ptr<TraceStream> file_names_;  ///< read to its end: names of the whole file; null until they are asked for
  bool names_only_ = false;                  ///< of such a stream, which
  Fingerprints dropped_;                     ///< also notes these names
  double latest_s_ = -std::numeric_limits<double>::infinity();
  double origin_s_ = kNotGiven;  ///< that dates move closer to
  std::int64_t outside_ = 0, not_sampled_ = 0;
};

// What other people's traces call the models that we know.

struct ModelName {
  std::string_view theirs, model;
  std::string_view dataset;  ///< empty: the model's usual one
};

/// Null for a name that has no other here.
const ModelName* find_model_name(std::string_view theirs);

}  // namespace rehearse::traces
