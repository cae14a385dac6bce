// The commands `bundle` and `reproduce`: results for a paper's artifact, and making them again.
#pragma once

#include <string>

#include "cli/options.hpp"

namespace rehearse::cli {

struct BundleArguments {
  std::string results, out;
  std::string inputs;   ///< a folder; may be empty
  std::string figures;  ///< a file of plot commands; may be empty
};

struct ReproduceArguments {
  std::string folder;
  std::string out;  ///< where results and figures go; empty: nowhere, they are compared only
  bool run_programs = false;
  int processes = 0;
};

void add_bundle_commands(Command app, BundleArguments& bundle, ReproduceArguments& reproduce);
int bundle_command(const BundleArguments& arguments);
int reproduce_command(const ReproduceArguments& arguments);

}  // namespace rehearse::cli
