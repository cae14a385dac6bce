// Our own format of measured trainings: CSV, one row an evaluation or a target.
#pragma once

#include <string>

#include "traces/measurements/convergence_list.hpp"

namespace rehearse::traces {

/// Reads a CSV file, plain or gzip-compressed, with the columns model, dataset, batch_size (global, samples), epoch (passes over
/// the training samples, parts of one too), metric (higher is better, 0 to 1), and any of
///   learning_rate  of the run, before its schedule lowers it; left out: AdaScale's
///   examples       seen until then; left out: epoch x the dataset's training samples
///   reading        evaluation (the default); reached: the first epoch with at least this metric; never: the run did not get
///                  there (epoch may be empty)
///   noise_scale    of gradients in this epoch, samples
///   progress       steps at the smallest batch, as AdaScale counts them
///   phase          how often the schedule has lowered the learning rate until then
///   optimizer      sgd, momentum (the default), adam, adamw, adadelta, rmsprop
///   run, source    names
/// Any models and datasets. Rows that cannot be used are left out and listed. Throws sim::InputError when the file cannot be
/// read, lacks a column or has an unknown one, or nothing can be used.
ConvergenceList read_convergence(const std::string& path);

/// Whether the file's header is of this format rather than of step times: it has a column metric. Throws sim::InputError when
/// there is none that can be read.
bool is_convergence(const std::string& path);

/// The header line, and a row, each with its line end; numbers in the shortest form that reads back the same.
std::string convergence_header();
std::string convergence_row(const workloads::ConvergencePoint& point);

}  // namespace rehearse::traces
