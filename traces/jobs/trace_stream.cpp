#include "traces/jobs/trace_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/base/random.hpp"
#include "sim/read/shown.hpp"
#include "traces/job_rules.hpp"
#include "traces/jobs/model_names.hpp"

namespace rehearse::traces {

namespace {

/// Points the way when there is no such file, as other people's traces are not ours to ship.
void require_file(const TraceReaderEntry& format, const std::string& path) {
  std::error_code ignored;
  if (format.source.empty() || std::filesystem::status(path.c_str(), ignored).type() != std::filesystem::file_type::not_found)
    return;
  throw sim::InputError(sim::Mistake{.file = sim::printable(path, 4096),
                                     .expected = fmt::format("a trace of the format {}: {}", format.name, format.source),
                                     .found = "no such file"});
}

}  // namespace

TraceStream::TraceStream(const TraceReaderEntry& format, const std::string& path, TraceChoices choices,
                         std::vector<std::string> known_models)
    : format_(format), choices_(std::move(choices)), known_models_(std::move(known_models)) {
  require_file(format, path);
  reader_ = format.open(path);
  report_.file = path;
  for (const auto& [theirs, ours] : choices_.models) known_models_.push_back(ours);
  if (std::isfinite(choices_.from_s)) origin_s_ = choices_.from_s;
}

std::vector<const TraceColumn*> TraceStream::columns() const {
  if (format_.columns.empty()) return reader_->columns();
  std::vector<const TraceColumn*> columns;
  for (const TraceColumn& column : trace_columns()) {
    const std::size_t at = fmt::format(",{},", format_.columns).find(fmt::format(",{},", column.name));
    if (at != std::string::npos) columns.push_back(&column);
  }
  return columns;
}

const TraceJob* TraceStream::next() {
  while (true) {
    row_ = {};
    if (!reader_->next(row_)) {
      finish();
      return nullptr;
    }
    ++report_.rows;
    if (keep()) {
      ++report_.jobs;
      for (const TraceRepair& repair : row_.repairs) {
        ImportReason& reason = counted(report_.repaired, repair.column, repair.what);
        if (wants_examples(reason))
          reason.examples.push_back({.line = row_.line, .found = repair.found.empty() ? "" : sim::shown(repair.found)});
      }
      return &row_.job;
    }
    if (row_.mistakes.empty()) {
      ++report_.rows_left_out;
      continue;
    }
    ++report_.rows_dropped;
    for (const sim::Mistake& mistake : row_.mistakes) {
      ImportReason& reason = counted(report_.dropped, mistake.pointer, mistake.expected);
      if (wants_examples(reason))
        reason.examples.push_back({.line = mistake.line, .found = mistake.found, .nearest = mistake.nearest});
    }
  }
}

/// False with mistakes: the row is dropped; without: it was not chosen.
bool TraceStream::keep() {
  if (!row_.mistakes.empty() || !choose()) return false;
  name_model();
  check_work(row_);
  if (!row_.mistakes.empty()) return false;
  if (!names_.insert(row_.job.job_id)) {
    row_.refuse("job_id", "a name that no job before has", sim::shown(row_.job.job_id));
    return false;
  }
  check_after();
  return check_cluster() && scale();
}

bool TraceStream::choose() {
  const TraceJob& job = row_.job;
  if (!(job.submit_s >= choices_.from_s && job.submit_s < choices_.to_s)) {
    ++outside_;
    return false;
  }
  if (choices_.sample >= 1) return true;
  sim::Random random(sim::stream_key(choices_.seed, 0, "trace-sample", job.job_id));
  if (random.uniform() < choices_.sample) return true;
  ++not_sampled_;
  return false;
}

void TraceStream::name_model() {
  TraceJob& job = row_.job;
  if (job.model.empty()) return;
  const std::string theirs = job.model;
  const auto mapped =
      std::find_if(choices_.models.begin(), choices_.models.end(), [&](const auto& m) { return m.first == theirs; });
  if (mapped != choices_.models.end()) {
    job.model = mapped->second;
  } else if (format_.columns.empty()) {
    return;
  } else if (const ModelName* name = find_model_name(theirs)) {
    job.model = name->model;
    job.dataset = name->dataset;
  }
  if (std::find(known_models_.begin(), known_models_.end(), job.model) != known_models_.end()) return;
  if (is_given(job.duration_s)) {
    row_.repairs.push_back({"model", "the name of a model (--map-model says which): left out", theirs});
    job.model.clear();
    job.dataset.clear();
  } else {
    row_.refuse("model", "the name of a model (--map-model says which)", sim::shown(theirs));
  }
}

bool TraceStream::check_cluster() {
  const ClusterLimits& cluster = choices_.cluster;
  const TraceJob& job = row_.job;
  if (!job.gpu_type.empty() && !cluster.has_gpu_type(job.gpu_type))
    row_.repairs.push_back({"gpu_type", std::string(kUnknownGpuType), job.gpu_type});
  if (!is_given(job.duration_s)) return true;
  if (std::string expected = cluster.too_many(job.gpus, -1); !expected.empty()) {
    row_.refuse("gpus", std::move(expected), fmt::format("{}", job.gpus));
    return false;
  }
  if (std::string expected = cluster.too_many_for_a_node(job.gpus); !expected.empty())
    row_.repairs.push_back({"gpus", std::move(expected), fmt::format("{}", job.gpus)});
  return true;
}

/// A job can only follow one that was kept.
void TraceStream::check_after() {
  std::string& after = row_.job.after;
  if (after.empty()) return;
  std::string kept;
  for (std::size_t begin = 0; begin <= after.size();) {
    const std::size_t end = std::min(after.find(';', begin), after.size());
    const std::string_view name = std::string_view(after).substr(begin, end - begin);
    if (names_.contains(name) && name != row_.job.job_id)
      kept += (kept.empty() ? "" : ";") + std::string(name);
    else
      row_.repairs.push_back({"after", "a job before this one that is kept: set aside", std::string(name)});
    begin = end + 1;
  }
  after = kept;
}

bool TraceStream::scale() {
  double& submit_s = row_.job.submit_s;
  if (!is_given(origin_s_)) origin_s_ = submit_s;
  if (choices_.scale_load != 1) submit_s = origin_s_ + (submit_s - origin_s_) / choices_.scale_load;
  if (!kDates.contains(submit_s)) {
    row_.refuse("submit_s", "a date from 0 to 2^33 s also after --scale-load", fmt::format("{}", submit_s));
    return false;
  }
  if (submit_s < latest_s_)
    row_.repairs.push_back(
        {"submit_s", "dates that never decrease: whoever reads the jobs sorts them", fmt::format("{}", submit_s)});
  if (submit_s - latest_s_ > kClockJump_s && latest_s_ >= 0)
    row_.repairs.push_back({"submit_s", std::string(kClockJumps), fmt::format("{}", submit_s)});
  latest_s_ = std::max(latest_s_, submit_s);
  return true;
}

void TraceStream::finish() {
  if (!report_.notes.empty()) return;
  report_.notes = reader_->notes();
  if (outside_ > 0) report_.notes.push_back(fmt::format("{} rows lie outside --from and --to", outside_));
  if (not_sampled_ > 0) report_.notes.push_back(fmt::format("{} rows were not drawn by --sample", not_sampled_));
}

}  // namespace rehearse::traces
