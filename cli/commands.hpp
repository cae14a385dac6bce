// The commands of the program, one file each. Each returns the exit status; what goes wrong is thrown and told by main.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"

namespace rehearse::cli {

/// SEMANTICS of exit: the same for every command.
enum ExitStatus : int {
  kOk = 0,
  kBug = 1,
  kDamaged = 1,  ///< a sweep's database
  kUsage = 2,
  kInvalidInput = 3,
  kRegression = 4,
  kPolicyFailed = 5,
  kInterrupted = 130
};

struct ScenarioArguments {
  std::string path;
  std::vector<std::string> sets;        ///< "/pointer=value"
  std::vector<std::string> catalogues;  ///< files
};

struct RunArguments {
  ScenarioArguments scenario;
  std::string out;
  int processes = 0;
  bool watch = false;
  bool replace = false;
  bool resume = false;
  bool certify = false;
};

struct SweepArguments {
  ScenarioArguments scenario;
  std::string out, csv, report;  ///< files; may be empty
  int processes = 0;
  int limit = 1'000'000;  ///< runs
  bool retry = false;
  std::string launcher = "local";  ///< or slurm, parallel
  int tasks = 0;                   ///< of the launchers that have tasks; 0: as many as make sense
  std::string hosts = ":";         ///< of parallel
  std::string max_memory;          ///< of each task in bytes, as it was given; empty: the default
  std::string task;                ///< FOLDER/N: be this task of a sweep on other machines
};

struct ReportArguments {
  std::vector<std::string> folders;  ///< of results
  std::string out;                   ///< instead of report.html in the folder; may be empty
  bool timing = false;
};

struct ExplainArguments {
  std::string folder;  ///< of results
  std::string job, policy;
  std::string inputs;  ///< a folder
  int repetition = 0;
  bool all = false;  ///< candidates
};

struct CompareArguments {
  std::vector<std::string> folders;  ///< of results
  std::vector<std::string> metrics;  ///< none: the usual ones
};

struct ImportArguments {
  bool history = false;  ///< past runs; else measurements
  std::string format, path, out;
  std::vector<std::string> paths;           ///< of trainings and throughputs, instead of `path`
  bool throughputs = false;                 ///< of types of jobs
  std::string device, instance, precision;  ///< of measurements, over what the format assumes; empty: as it does
};

struct MeasuredArguments {
  std::string path;                     ///< native CSV of measurements
  std::vector<std::string> catalogues;  ///< files
};

struct ValidateArguments {
  MeasuredArguments measured;
  std::string hold_out = "nothing";  ///< or batches, models, limits, devices, stacks
  std::string stack = "none";        ///< or "named": by each row's source; a name: of rows whose source names none, too
  std::string rows;                  ///< a CSV file to write, one line a row; may be empty
  std::string recipe;                ///< of measured trainings: by which they were; may be empty
  bool columns = false;              ///< say which columns there are, and no more
};

struct CalibrateArguments {
  MeasuredArguments measured;
  std::string out;
};

struct GraphArguments {
  std::string model;              ///< of the zoo, or a file: a network's or a graph's
  std::string format = "native";  ///< of the file
  std::string dataset;
  double batch = 64;
  bool unroll = false;
  std::string granularity = "layers";
  int layers = 0, hidden = 0, steps = 0, vocabulary = 0;  ///< of a recurrent model in TensorFlow's operations; 0: the paper's
  bool dropout = false;                                   ///< likewise
  std::string device = "k80";
  std::vector<std::string> catalogues;  ///< files
  int groups = 0;                       ///< to coarsen to; 0: as they are
  std::string dot, json;                ///< files to write; may be empty
};

struct TrainArguments {
  std::string strategy;
  ScenarioArguments scenario;
  std::string out, resume;
  int iterations = 300;
};

struct ProfileArguments {
  std::string sweep;  ///< cnn or rnn
  std::string out;
  int networks = 80;
  double noise = 0.03;
  int seed = 1;
  std::vector<std::string> devices;     ///< names; none: a usual few
  std::vector<std::string> catalogues;  ///< files
};

struct PlanArguments {
  std::string job, cluster;  ///< JSON files
  std::string stack;         ///< in the place of the cluster's; may be empty
  std::string precision;     ///< in the place of the stack's; may be empty
  std::string export_to;     ///< a folder for the files to run it with; may be empty
  std::string framework = "keras";
};

struct CataloguePricesArguments {
  std::string path, out;                ///< a CSV file of prices; the catalogue file to write
  std::vector<std::string> catalogues;  ///< files
};

struct RateArguments {
  std::string model, dataset;  ///< of the zoo; a simulated ramp
  double batch = 0;            ///< 0: the convergence's reference batch
  double noise = 0.003;
  int seed = 1;
  std::string csv;  ///< instead: a ramp of the user's own
};

struct SplitArguments {
  std::string model, dataset;           ///< of the zoo
  std::vector<std::string> workers;     ///< "NAME=COUNT": of GPUs, or with a cluster of its pools
  std::string cluster;                  ///< a JSON file as plan's; may be empty
  int batch = 0;                        ///< global
  std::vector<std::string> catalogues;  ///< files
};

int catalogue_prices_command(const CataloguePricesArguments& arguments);
void add_catalogue_command(Command app, CataloguePricesArguments& arguments);
int explain_command(const ExplainArguments& arguments);
int compare_command(const CompareArguments& arguments);
int split_command(const SplitArguments& arguments);
int rate_command(const RateArguments& arguments);
int plan_command(const PlanArguments& arguments);
int profile_command(const ProfileArguments& arguments);
int graph_command(const GraphArguments& arguments);
int train_command(const TrainArguments& arguments);
int import_command(const ImportArguments& arguments);
int import_convergence(const ImportArguments& arguments);
int import_throughputs(const ImportArguments& arguments);
int validate_command(const ValidateArguments& arguments);
int calibrate_command(const CalibrateArguments& arguments);
int report_command(const ReportArguments& arguments);
int run_command(const RunArguments& arguments);
int sweep_command(const SweepArguments& arguments);
int check_command(const ScenarioArguments& arguments);
int list_command(const std::string& what, const std::string& which, bool as_json);

/// The scenario's file, --set and --catalogue.
void add_scenario_arguments(Command command, ScenarioArguments& arguments);
void add_sweep_command(Command app, SweepArguments& arguments);

/// The formats that can be imported: of measurements, of trainings, and of past runs.
std::vector<std::string> import_formats();
std::vector<std::string> import_convergence_formats();
std::vector<std::string> import_throughput_formats();
std::vector<std::string> import_history_formats();

/// What `list` can list.
const std::vector<std::string>& listable();

}  // namespace rehearse::cli
