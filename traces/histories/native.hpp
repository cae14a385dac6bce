// Our own format of past runs: CSV, one row a run.
#pragma once

#include <string>

#include "traces/histories/history_list.hpp"

namespace rehearse::traces {

/// Reads a CSV file, plain or gzip-compressed, with the columns model, dataset, instance, workers, batch_size (global), samples,
/// epochs, time_s, accuracy and any of precision, lr_rule (without them a job's defaults, and the report says so), asynchronous
/// (0 or 1), censored (0 or 1: cut short), servers, learning_rate and price_usd_per_hour (of workers, servers and all else that
/// the run used). It is the user's own file: throws InputError with every mistake in it, and when it cannot be read or has no
/// row.
HistoryList read_native_history(const std::string& path);

/// The header line, and a row, each with its line end; numbers in the shortest form that reads back the same.
std::string native_history_header();
std::string native_history_row(const workloads::PastRun& run);

}  // namespace rehearse::traces
