// Other people's measurements: a reader for each format, in one table (formats.cpp).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "traces/measurements/measurement_list.hpp"

namespace rehearse::traces {

struct MeasurementFormat {
  std::string_view name, description;
  /// Throws sim::InputError when the file cannot be read or holds nothing that can be used.
  MeasurementList (*read)(const std::string& path);
};

std::span<const MeasurementFormat> measurement_formats();

MeasurementList read_gavel(const std::string& path);
MeasurementList read_pollux(const std::string& path);
MeasurementList read_tf_benchmarks(const std::string& path);
MeasurementList read_deepbench(const std::string& path);
MeasurementList read_trimtuner(const std::string& path);
MeasurementList read_zeus(const std::string& path);

}  // namespace rehearse::traces
