// Writes the records of one run (a policy in one repetition) into a folder, as they come (docs/reference/metrics.md has the
// columns).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "report/outcome.hpp"
#include "report/row_writer.hpp"
#include "sim/io/output_file.hpp"
#include "sim/replay/records.hpp"

namespace rehearse::report {

/// Which files a run writes.
struct RecordFiles {
  bool jobs = true;
  bool decisions = true;
  bool events = false;
  bool stages = false;
  bool curves = false;
  bool predictions = false;
  bool utilization = false;
  bool life = false;
  bool nodes = false;
};

/// A job by itself on an empty cluster. NaN seconds: it cannot run there.
struct AloneRun {
  double time_s = sim::kUnset;
  double devices = 0;
};

/// Headers of the files, in the order in which RunRecorder writes columns.
struct RecordFile {
  std::string_view name;
  std::string_view header;  ///< empty: no header (JSON Lines)
};
extern const RecordFile kJobsFile, kJobsFileWithCarbon, kDecisionsFile, kEventsFile, kStagesFile, kCurvesFile, kPredictionsFile,
    kUtilizationFile, kLifeFile, kNodesFile;

/// How a scenario asks for a file that a run may leave out, for who misses it: `"output": {"jobs": "all"} writes it`. Empty for
/// any other file.
std::string how_to_write(std::string_view file);

struct RunRecorderSetup {
  sim::OwnFolder folder;  ///< none: no file is written, whichever are asked for
  std::string policy;
  int repetition = 0;
  RecordFiles files;
  std::optional<MeasureWindow> measure;  ///< none: all jobs count
  const sim::Cluster* cluster = nullptr;
  std::size_t known_jobs = 0;  ///< that will come at least, as far as is known beforehand
  /// What the job's manual configuration costs alone on an empty cluster, in dollars: added where a limit is broken.
  std::function<double(const sim::Job&)> reference_cost_usd;
  /// The job alone in that configuration; may be empty.
  std::function<AloneRun(const sim::Job&)> reference_alone = {};
  /// A job's share of what was spent on profiling its profile in the whole run: asked at its end; may be empty.
  std::function<double(const sim::Profile&)> profiling_usd;
};

class RunRecorder final : public sim::Recorder {
 public:
  explicit RunRecorder(RunRecorderSetup setup);
  void on_job(const sim::JobRecord& record) override;
  void on_decision(const sim::DecisionRecord& record) override;
  void on_event(double time_s, sim::JobEvent event, const sim::Job& job, const sim::Configuration* configuration) override;
  void on_stage(const sim::StageRecord& record) override;
  void on_pool_sample(const sim::PoolSample& sample) override;
  void on_node(const sim::NodeEvent& event) override;
  void on_devices(double time_s, bool taken, const sim::Job& job, const sim::Configuration& configuration,
                  const sim::Layout& layout) override;
  /// Closes the files; the outcome of the whole run.
  RunOutcome finish(const sim::ReplayTotals& totals);

 private:
  RowWriter& begin(RowWriter& out) { return out.word(run_fields_); }
  std::unique_ptr<RowWriter> open(const RecordFile& file, bool wanted) const;
  std::string_view pool_name(int pool) const;
  std::string_view pool_field(int pool) const;
  void add_to_sums(const sim::JobRecord& record);
  void write_row(const sim::JobRecord& record, const JobOutcome& outcome);
  void write_curve(const sim::StageRecord& record);
  void write_predictions(const sim::JobRecord& record);
  void write_life(const sim::JobRecord& record);

  RunRecorderSetup setup_;
  std::string run_fields_;                ///< with which each row begins, as they are written
  std::vector<std::string> pool_fields_;  ///< likewise the pools' names
  std::unique_ptr<RowWriter> jobs_, decisions_, events_, stages_, curves_, predictions_, utilization_, life_, nodes_;
  std::unordered_map<std::string, double> taken_s_;  ///< when a job took the devices that it holds; only looked up
  RunOutcome outcome_;
  std::vector<const sim::Profile*> profile_of_;  ///< of each job up to the last that is not rigid; null: a rigid one's
  RunSums sums_;
  std::vector<std::uint32_t> by_end_;  ///< numbers of the jobs, as they end
};

}  // namespace rehearse::report
