// The least that a replay of rigid one-GPU jobs can be: the trace is read into one piece of memory, jobs start first come first
// served on devices of which only the number is known, the completions stand in a std::priority_queue, and the rows of jobs.csv
// and decisions.csv are written that the program writes, number by number. No policy, no nodes, no books, no simulator's clock.
//   bare_loop TRACE GPUS FOLDER
// TRACE: job_id,submit_s,gpus,duration_s, as bench/ladder makes it. FOLDER gets the two files.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <queue>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"

namespace {

using rehearse::sim::on_date_grid;

constexpr double kUsdPerS = 3.06 / 3600, kWatts = 348.9;  // of a p3.2xlarge
constexpr std::size_t kBufferBytes = 1u << 18;
constexpr std::string_view kJobsHeader =
    "policy,repetition,job,user,model,dataset,submit_s,start_s,end_s,state,reason,pool,workers,batch_size,epochs,deadline_s,"
    "deadline_met,target_accuracy,accuracy,accuracy_met,cost_usd,effective_cost_usd,energy_j,device_s,preemptions,"
    "reconfigurations,cost_limit_usd,cost_limit_met,marginal_cost_usd\n";
constexpr std::string_view kDecisionsHeader =
    "policy,repetition,time_s,job,decision,rank,pool,workers,batch_size,learning_rate,predicted_time_s,predicted_accuracy,"
    "predicted_cost_usd,feasible,extrapolated,note\n";

struct BareJob {
  std::string_view name;
  double submit_s = 0, duration_s = 0, start_s = 0;
};

using Completion = std::pair<double, std::size_t>;  // date in seconds, job

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "bare_loop: %s\n", what.c_str());
  std::exit(2);
}

class Rows {
 public:
  Rows(const std::string& path, std::string_view header) : file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) fail("cannot write " + path);
    std::setvbuf(file_, nullptr, _IONBF, 0);
    buffer_.reserve(kBufferBytes + 4096);
    text(header);
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  ~Rows() { close(); }
  Rows& text(std::string_view value) {
    buffer_.append(value);
    return *this;
  }
  Rows& date(double value) {
    char digits[rehearse::sim::kDateText + 1];
    char* end = rehearse::sim::write_date(value, digits);
    *end++ = ',';
    buffer_.append(digits, end);
    return *this;
  }
  Rows& number(double value) {
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    buffer_.append(digits, error == std::errc() ? end : digits);
    buffer_.push_back(',');
    return *this;
  }
  /// After a number: its comma goes.
  void end_row() {
    buffer_.back() = '\n';
    if (buffer_.size() >= kBufferBytes) flush();
  }

 private:
  void flush() {
    if (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) fail("the disk does not take it all");
    buffer_.clear();
  }
  void close() {
    flush();
    std::fclose(file_);
  }
  std::FILE* file_;
  std::string buffer_;
};

std::vector<BareJob> read_jobs(std::string_view text) {
  std::vector<BareJob> jobs;
  const auto field = [&text](char end) {
    const std::size_t length = std::min(text.find(end), text.size());
    const std::string_view found = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    return found;
  };
  const auto number = [](std::string_view digits) {
    double value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) fail("no number in the trace");
    return value;
  };
  field('\n');
  while (!text.empty()) {
    BareJob job{.name = field(',')};
    job.submit_s = on_date_grid(number(field(',')));
    field(',');
    job.duration_s = number(field('\n'));
    jobs.push_back(job);
  }
  return jobs;
}

void replay(std::vector<BareJob>& jobs, long gpus, const std::string& folder) {
  Rows ended(folder + "/jobs.csv", kJobsHeader), started(folder + "/decisions.csv", kDecisionsHeader);
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> completions;
  const auto end_first = [&] {
    const auto [end_s, index] = completions.top();
    completions.pop();
    const BareJob& job = jobs[index];
    const double held_s = end_s - job.start_s, usd = held_s * kUsdPerS;
    ended.text("measured,0,").text(job.name).text(",,,,").date(job.submit_s).date(job.start_s).date(end_s);
    ended.text("finished,,gpus,1,0,0,,,,,,").number(usd).number(usd).number(held_s * kWatts).number(held_s).text("0,0,,,");
    ended.number(usd).end_row();
    return end_s;
  };
  for (std::size_t next = 0; next < jobs.size(); ++next) {
    BareJob& job = jobs[next];
    double now_s = job.submit_s;
    while (!completions.empty() && completions.top().first <= now_s) end_first();
    if (static_cast<long>(completions.size()) == gpus) now_s = end_first();
    job.start_s = std::max(now_s, next > 0 ? jobs[next - 1].start_s : 0);  // nobody overtakes
    started.text("measured,0,").date(job.start_s).text(job.name).text(",start,0,gpus,1,0,0,");
    started.number(job.duration_s).text(",").number(job.duration_s * kUsdPerS).text("true,false,,").end_row();
    completions.push({on_date_grid(job.start_s + job.duration_s), next});
  }
  while (!completions.empty()) end_first();
}

}  // namespace

int main(int argc, char** argv) {
  const long gpus = argc == 4 ? std::atol(argv[2]) : 0;
  if (gpus < 1) fail("usage: bare_loop TRACE GPUS FOLDER");
  std::ifstream file(argv[1], std::ios::binary | std::ios::ate);
  if (!file) fail(std::string("cannot read ") + argv[1]);
  std::string text(static_cast<std::size_t>(file.tellg()), '\0');
  file.seekg(0).read(text.data(), static_cast<std::streamsize>(text.size()));
  std::vector<BareJob> jobs = read_jobs(text);
  replay(jobs, gpus, argv[3]);
}
