#include "traces/jobs/trace_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "sim/base/random.hpp"
#include "sim/base/text.hpp"
#include "sim/io/shown.hpp"
#include "traces/jobs/recognise.hpp"
#include "traces/jobs/trace_job.hpp"

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

std::unique_ptr<TraceReader> open_reader(const TraceReaderEntry& format, const std::string& path) {
  try {
    return format.open(path);
  } catch (const sim::InputError&) {
    std::string what = what_it_is(path, format);
    if (what.empty()) throw;
    throw sim::InputError(sim::Mistake{.file = sim::printable(path, 4096),
                                       .expected = fmt::format("a file of the format {}", format.name),
                                       .found = std::move(what)});
  }
}

const double* number_of(const TraceJob& job, const JobField& field) {
  const auto* const number = std::get_if<double TraceJob::*>(&field.member);
  return number != nullptr ? &(job.**number) : nullptr;
}

}  // namespace

TraceStream::TraceStream(const TraceReaderEntry& format, const std::string& path, TraceChoices choices,
                         std::vector<std::string> known_models)
    : format_(format), path_(path), choices_(std::move(choices)), known_models_(std::move(known_models)) {
  require_file(format, path);
  reader_ = open_reader(format, path);
  report_.file = path;
  report_.gpu_time.emplace();
  for (const auto& [theirs, ours] : choices_.models) known_models_.push_back(ours);
  if (std::isfinite(choices_.from_s)) origin_s_ = choices_.from_s;
}

std::vector<const JobField*> TraceStream::columns() const {
  if (format_.columns.empty()) return reader_->columns();
  const std::string names = fmt::format(",{},", format_.columns);
  std::vector<const JobField*> columns;
  for (const JobField& field : job_fields())
    if (names.find(fmt::format(",{},", field.name)) != names.npos) columns.push_back(&field);
  return columns;
}

const TraceJob* TraceStream::next() {
  while (true) {
    std::destroy_at(&row_.job);  // both together take a quarter of an assignment's time
    std::construct_at(&row_.job);
    row_.mistakes.clear();
    row_.repairs.clear();
    row_.recorded_gpu_s = kNotGiven;
    row_.is_joined = false;
    if (!reader_->next(row_)) {
      finish();
      return nullptr;
    }
    count_row();
    if (row_.is_joined) {
      ++report_.rows_joined;
      continue;
    }
    if (keep()) {
      ++report_.jobs;
      report_.gpu_time->kept_s += gpu_seconds(row_.job);
      reader_->kept(row_);
      count_repairs();
      return &row_.job;
    }
    if (row_.mistakes.empty())
      ++report_.rows_left_out;
    else
      count_drop();
  }
}

/// As the reader gives it, before anything else is found wrong with it.
void TraceStream::count_row() {
  ++report_.rows;
  const auto hides_gpu_time = [this](const sim::Mistake& mistake) {
    const std::string column = fmt::format(",{},", std::string_view(mistake.pointer).substr(0, mistake.pointer.find('/')));
    return fmt::format(",{},", format_.gpu_time).find(column) != std::string::npos;
  };
  if (!row_.has_fields() || std::any_of(row_.mistakes.begin(), row_.mistakes.end(), hides_gpu_time)) return;
  report_.gpu_time->read_s += is_given(row_.recorded_gpu_s) ? row_.recorded_gpu_s : gpu_seconds(row_.job);
}

void TraceStream::count_repairs() {
  if (!row_.repairs.empty()) ++report_.rows_repaired;
  for (const TraceRepair& repair : row_.repairs) {
    ImportReason& reason = counted(report_.repaired, repair.column, repair.what);
    if (wants_examples(reason))
      reason.examples.push_back({.line = row_.line, .found = repair.found.empty() ? "" : sim::shown(repair.found)});
  }
}

/// Once, under the first of its mistakes; the others are told beside it.
void TraceStream::count_drop() {
  ++report_.rows_dropped;
  if (names_only_) dropped_.insert(row_.job.job_id);
  for (const sim::Mistake& mistake : row_.mistakes) {
    ImportReason& reason = counted(report_.dropped, mistake.pointer, mistake.expected);
    if (&mistake != &row_.mistakes.front()) {
      --reason.rows;
      ++reason.also;
    }
    if (wants_examples(reason))
      reason.examples.push_back({.line = mistake.line, .found = mistake.found, .nearest = nearest(mistake)});
  }
}

/// Looked for only when it is shown, as every row may have a name that is none.
std::string TraceStream::nearest(const sim::Mistake& mistake) const {
  const JobField* const field = format_.columns.empty() ? find_job_field(mistake.pointer) : nullptr;
  if (field == nullptr || !std::holds_alternative<std::string TraceJob::*>(field->member)) return mistake.nearest;
  const std::string& name = row_.job.*std::get<std::string TraceJob::*>(field->member);
  if (field->choices != nullptr) {
    const std::span<const std::string> words = field->choices();
    return sim::nearest_name(name, {words.begin(), words.end()});
  }
  return choices_.scenario != nullptr ? sim::nearest_name(name, known_names(field->names, *choices_.scenario)) : std::string();
}

/// False with mistakes: the row is dropped; without: it was not chosen.
bool TraceStream::keep() {
  names_.expect(row_.job.job_id);
  if (row_.mistakes.empty() && !choose()) return false;
  if (row_.has_fields()) {
    name_model();
    look_up_names();
  }
  if (row_.mistakes.empty()) check_alone();
  if (!row_.mistakes.empty() || !check_size() || !scale()) return false;
  if (!names_.insert(row_.job.job_id)) {
    row_.refuse("job_id", "a name that no job before has", sim::shown(row_.job.job_id));
    return false;
  }
  check_after();
  compare();
  return true;
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
    job.model.clear();
  }
}

void TraceStream::look_up_names() {
  if (choices_.scenario == nullptr) return;
  looked_up_ = look_up(row_.job, *choices_.scenario);
  for (const JobField* field : not_found(row_.job, looked_up_))
    row_.refuse(field->name, fmt::format("the name of a {}", field->name),
                sim::shown(row_.job.*std::get<std::string TraceJob::*>(field->member)));
}

/// What its fields together show, with no other job and no cluster.
void TraceStream::check_alone() {
  if (const auto missing = not_measured(row_.job, looked_up_))
    row_.refuse(missing->column, missing->expected, sim::shown(reader_->written(missing->column, missing->value).text));
  std::vector<JobMistake> mistakes = job_mistakes(row_.job);
  if (const auto mistake = pool_mistake(row_.job, looked_up_)) mistakes.push_back(*mistake);
  for (const JobMistake& mistake : mistakes) {
    const double* const number = number_of(row_.job, *find_job_field(mistake.column));
    const bool has_number = number != nullptr && is_given(*number);
    row_.refuse(mistake.column, std::string(mistake.expected),
                has_number ? sim::shown(reader_->written(mistake.column, *number).text) : "nothing");
  }
}

bool TraceStream::check_size() {
  const TraceJob& job = row_.job;
  if (choices_.scenario == nullptr || !is_given(job.duration_s)) return true;
  std::string expected = choices_.scenario->cluster.too_many(gpus_alone(job), named_pools(looked_up_));
  if (expected.empty()) return true;
  const Written gpus = reader_->written("gpus", job.gpus);
  row_.refuse(gpus.column, std::move(expected), sim::shown(gpus.text));
  return false;
}

/// A job can only follow one that is kept. Other people's traces name jobs before; a native one any of the file, in whatever
/// order its rows are, but for a pipe, which gives its bytes once. A scenario has other jobs too, and refuses what is the name of
/// none: of a native trace only rows that were dropped are set aside for it, and blanks around a name are not part of it.
void TraceStream::check_after() {
  TraceJob& job = row_.job;
  if (job.after.empty() || names_only_) return;
  const bool is_of_scenario = choices_.scenario != nullptr;
  if (is_of_scenario) trim_names(job.after);
  std::error_code ignored;
  const bool is_whole = file_names_ != nullptr || (format_.columns.empty() && std::filesystem::is_regular_file(path_, ignored));
  if (is_whole && file_names_ == nullptr) read_names();
  const auto is_lost = [&](const std::string& name) {
    if (!is_whole) return !names_.contains(name) || name == job.job_id;
    if (file_names_->names_.contains(name)) return !is_of_scenario && name == job.job_id;
    return !is_of_scenario || file_names_->dropped_.contains(name);
  };
  std::erase_if(job.after, [&](const std::string& name) {
    if (!is_lost(name)) return false;
    row_.repairs.push_back(
        {"after", is_whole ? "another job that is kept: set aside" : "a job before this one that is kept: set aside", name});
    return true;
  });
  if (job.after.empty()) job.after_failed.clear();
}

/// Once, where a native trace has jobs that wait for others: which of all its rows are kept.
void TraceStream::read_names() {
  file_names_ = std::make_unique<TraceStream>(format_, path_, choices_, known_models_);
  file_names_->names_only_ = true;
  while (file_names_->next() != nullptr) {
  }
}

bool TraceStream::scale() {
  double& submit_s = row_.job.submit_s;
  if (!is_given(origin_s_)) origin_s_ = submit_s;
  if (choices_.scale_load != 1) {
    const double before_s = submit_s;
    submit_s = origin_s_ + (submit_s - origin_s_) / choices_.scale_load;
    row_.job.eligible_s += submit_s - before_s;
    row_.job.start_s += submit_s - before_s;
  }
  if (kDates.contains(submit_s)) return true;
  row_.refuse("submit_s", "a date from 0 to 2^33 s also after --scale-load", fmt::format("{}", submit_s));
  return false;
}

/// With the jobs before, and with the cluster's nodes and GPUs.
void TraceStream::compare() {
  TraceJob& job = row_.job;
  const auto repaired = [this](std::string_view field, double value, std::string what) {
    Written at = reader_->written(field, value);
    row_.repairs.push_back({at.column, std::move(what), std::move(at.text)});
  };
  if (job.submit_s < latest_s_)
    repaired("submit_s", job.submit_s,
             choices_.scenario != nullptr ? "dates that never decrease: sorted"
                                          : "dates that never decrease: whoever reads the jobs sorts them");
  if (job.submit_s - latest_s_ > kClockJump_s && latest_s_ >= 0) repaired("submit_s", job.submit_s, std::string(kClockJumps));
  latest_s_ = std::max(latest_s_, job.submit_s);
  if (choices_.scenario == nullptr) return;
  const ClusterLimits& cluster = choices_.scenario->cluster;
  const bool part = job.gpu_fraction < 1;
  if (is_given(job.nodes) && is_given(job.duration_s) && !part) {
    const double gpus = gpus_alone(job);
    const bool even = std::fmod(gpus, job.nodes) == 0;
    if (!even || !cluster.has_nodes(job.nodes, gpus / job.nodes, named_pools(looked_up_))) {
      repaired("nodes", job.nodes, std::string(even ? kOtherNodes : kUnevenNodes));
      job.nodes = kNotGiven;
    }
  }
  if (is_given(job.duration_s) && !is_given(job.nodes))
    if (std::string expected = cluster.too_many_for_a_node(part ? 1 : gpus_alone(job)); !expected.empty())
      repaired("gpus", job.gpus, std::move(expected));
  if (!job.gpu_type.empty() && !cluster.has_gpu_type(job.gpu_type))
    row_.repairs.push_back({"gpu_type", std::string(kUnknownGpuType), job.gpu_type});
}

void TraceStream::finish() {
  if (!report_.notes.empty()) return;
  report_.notes = reader_->notes();
  if (is_cut_off())
    report_.notes.emplace_back("the last line has no line end: if the file was cut off, the row before its end is wrong");
  if (report_.rows > 0 && report_.jobs == 0 && report_.rows_dropped == report_.rows && !names_only_)
    report_.what_it_is = what_it_is(path_, format_);
  if (outside_ > 0)
    report_.notes.push_back(fmt::format("outside --from and --to: {}", sim::counted(static_cast<double>(outside_), "row")));
  if (not_sampled_ > 0)
    report_.notes.push_back(fmt::format("not drawn by --sample: {}", sim::counted(static_cast<double>(not_sampled_), "row")));
}

/// Whether its last line may be the beginning of a longer one; packed files and JSON show that themselves.
bool TraceStream::is_cut_off() const {
  std::error_code ignored;
  if (report_.rows == 0 || !std::filesystem::is_regular_file(path_, ignored)) return false;
  std::ifstream file(path_, std::ios::binary);
  constexpr std::string_view kOthers = "\x1F\xFD{[";
  if (kOthers.find(static_cast<char>(file.get())) != kOthers.npos) return false;
  file.seekg(-1, std::ios::end);
  return file.get() != '\n';
}

const ModelName* find_model_name(std::string_view theirs) {
  // inception3: ElasticFlow and Tiresias. The others: Gavel, whose ResNet-18 trains on CIFAR-10 (Narayanan et al., table 2).
  static constexpr ModelName kNames[] = {
      {"inception3", "inception-v3", {}}, {"ResNet-18", "resnet18", "cifar10"}, {"ResNet-50", "resnet50", "imagenet"}};
  for (const ModelName& name : kNames)
    if (name.theirs == theirs) return &name;
  return nullptr;
}

}  // namespace rehearse::traces
