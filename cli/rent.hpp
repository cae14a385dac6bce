// `rehearse rent`: what a user wants, and what is said of the answer.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/measured.hpp"
#include "cli/options.hpp"
#include "policies/harness/rent.hpp"
#include "scenarios/read/rent_files.hpp"

namespace rehearse::cli {

struct RentArguments {
  std::string model;  ///< of the zoo, a network's file, or a job's JSON file
  std::string dataset, recipe, samples, epochs, deadline, batches;
  double accuracy = 0, budget = 0;
  double confidence = 90;  ///< percent
  std::string precisions;  ///< that may be chosen, with commas; empty: fp32,fp16
  std::string stack;       ///< of devices that nobody has measured; empty: none
  std::string spot = "no", spot_prices, regions, providers, account, from;
  double spot_mean_up_h = 24;
  int nodes = 16;
  bool power_limits = false;
  std::vector<std::string> catalogues, against;
  std::string csv, html, export_to, framework = "pytorch", state, resume, watch;
};

/// Numbers of the command line that a state's file keeps, and what they may be; 0 where they are not given and have no default.
struct RentNumber {
  const char* key;
  double RentArguments::*value;
  double low, high;
};
inline constexpr std::array kRentNumbers{RentNumber{"accuracy", &RentArguments::accuracy, 1e-3, 1},
                                         RentNumber{"budget", &RentArguments::budget, 0.01, 1e12},
                                         RentNumber{"confidence", &RentArguments::confidence, 50, 99.9},
                                         RentNumber{"spot_mean_up_h", &RentArguments::spot_mean_up_h, 0.01, 1e5}};
inline const std::vector<std::string> kSpotUses{"no", "allowed", "only"};

void add_rent_command(Command app, RentArguments& arguments);
int rent_command(const RentArguments& arguments);
/// What is known before anything is predicted: the catalogue, with files over it, devices fitted to measurements and a stack.
struct RentGrounds {
  scenarios::Catalogue catalogue;
  std::optional<Measured> measured;  ///< --from
  std::vector<sim::Device> fitted;   ///< to them
};
/// `own`: a network that rows may be of.
RentGrounds grounds_of(const RentArguments& arguments, const std::optional<traces::OwnNetwork>& own);
/// Of each pool: what is known of its device, and what was measured of this model on it.
void know_pools(scenarios::RentMarket& market, const RentGrounds& grounds, const policies::RentModel& model,
                const RentArguments& arguments);

/// The part of settings that a measured step is one of.
policies::Spread spread_of(const workloads::Measurement& measured);

using NearbyErrorsOf = decltype(policies::RentPool::nearby);
/// Of rows of one model on one device, by precision and spread: what their predictions (one a row of `rows`) were off by.
NearbyErrorsOf nearby_errors(const std::vector<workloads::Measurement>& rows, const std::vector<std::size_t>& which,
                             const std::vector<double>& predicted_s);

/// Answers beside what was measured: records of trainings (JSON), measured steps (CSV).
int rent_against(const RentArguments& arguments);

/// One request, its choices and those of them that are told.
struct RentAnswer {
  scenarios::Catalogue catalogue;
  scenarios::RentMarket market;
  scenarios::PlanRequest request;
  policies::RentRules rules;
  scenarios::SpotPriceList spot_prices = {};
  std::vector<policies::RentChoice> choices;
  struct Told {
    std::string label;
    std::size_t choice = 0;
    policies::Bottleneck bottleneck = policies::Bottleneck::compute;
  };
  std::vector<Told> told;               ///< the cheapest, the fastest, the least energy, then others
  std::vector<RentAnswer::Told> front;  ///< of money against time
  double checkpoint_bytes = 0;
  const policies::RentPool& pool_of(const policies::RentChoice& c) const {
    return market.pools[static_cast<std::size_t>(c.plan.pool)];
  }
};

RentAnswer rent_answer(const RentArguments& arguments);
/// Of a training on spot nodes: how often it is drawn.
inline constexpr int kSpotDraws = 200;
/// Whether a file is a job's: an object with a model, a network or a dataset, and no layers.
bool is_job_file(const std::string& path);
/// Throws sim::InputError that names the option and what it should be.
[[noreturn]] void refuse_missing(const char* option, const std::string& expected);
/// The request and its cheapest answer, for `--resume`.
void save_rent_state(const RentAnswer& answer, const RentArguments& arguments);
/// A training that runs by such a state, beside its log: stay, change batch, or change machine, with the money of each.
int rent_resume(const RentArguments& arguments);

/// "2 x p5.48xlarge, all 16 h100".
std::string rented_words(const policies::RentChoice& choice, const sim::Cluster& cluster);
/// "aws us-east-1": whose it is, and where its price holds.
std::string where_words(const RentAnswer& answer, const policies::RentChoice& choice);
/// Which ten minutes would be worth `usd`, and how they are measured: by the script that knows the zoo, by the exported training,
/// or, of a network that none of them can train, by the user's own.
std::string measurement_words(const RentAnswer& answer, int pool, double usd);
/// A share, which may be tiny.
std::string miss_words(double share);
/// When the price of a pool's nodes held; `of_account` where the account says what they cost.
std::string price_date_of(const RentAnswer& answer, int pool, const char* of_account);
/// "Prices of 2022-12 to 2026", of these pools.
std::string price_dates_words(const RentAnswer& answer, const std::vector<int>& pools);
/// As jobs and measurements name it.
const std::string& precision_name(sim::Precision precision);
std::string precision_words(const policies::RentChoice& choice);

/// The front as points of a terminal's size: money to the right, time upwards, both logarithmic.
std::string front_picture(const RentAnswer& answer);
/// A page by itself: the front as a picture, and a table with each point's reasons.
std::string rent_page(const RentAnswer& answer);
/// A line for each choice that fits memory.
std::string rent_csv(const RentAnswer& answer);

/// Seconds of "12h", "1.5 d", "90min" or "3600s": a number alone has no unit. Throws sim::InputError that names the option.
double duration_option(const std::string& option, const std::string& text);
/// The number of "1.2M", "50k", "3e5".
double count_option(const std::string& option, const std::string& text);

}  // namespace rehearse::cli
