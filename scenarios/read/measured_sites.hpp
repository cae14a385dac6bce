// Where measurements were made, from the catalogue.
#pragma once

#include <string>

#include "scenarios/read/catalogue.hpp"
#include "workloads/calibration/measurement.hpp"

namespace rehearse::scenarios {

/// The measurement's device, and the links of its instance: of the one it names, else of the smallest instance of the catalogue
/// that has enough of the device (slow defaults where none has). A CPU of an instance is its part of the sockets. The names must
/// be the catalogue's (sim::check).
workloads::Site site_of(const workloads::Measurement& measurement, const Catalogue& catalogue);

/// The instance whose links site_of() takes; null where the catalogue has none.
const InstanceEntry* instance_of(const workloads::Measurement& measurement, const Catalogue& catalogue);

/// A catalogue file with these, all their figures written out.
std::string catalogue_json(const std::vector<sim::Device>& devices, const std::vector<InstanceEntry>& instances,
                           const std::vector<sim::Stack>& stacks = {});

}  // namespace rehearse::scenarios
