// import, validate and calibrate for measured trainings: the same commands, told apart by the file's header.
#pragma once

#include "cli/commands.hpp"

namespace rehearse::cli {

int validate_convergence(const ValidateArguments& arguments);
int calibrate_convergence(const CalibrateArguments& arguments);

}  // namespace rehearse::cli
