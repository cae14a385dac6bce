#include "traces/measurements/formats.hpp"

namespace rehearse::traces {
namespace {

constexpr MeasurementFormat kMeasurementFormats[] = {
    {"gavel", "throughputs of Gavel (OSDI 2020), JSON: *_throughputs.json", read_gavel},
    {"pollux", "placements.csv or scalability.csv of an application of Pollux (OSDI 2021)", read_pollux},
    {"tf-benchmarks", "images a second of TensorFlow's performance benchmarks of 2017, CSV", read_tf_benchmarks},
    {"deepbench", "a results sheet of Baidu's DeepBench, saved as CSV", read_deepbench},
    {"trimtuner", "cnn.csv of TrimTuner (MASCOTS 2020): parameter servers on t2 machines", read_trimtuner},
    {"zeus", "summary_power_DEVICE.csv of Zeus (NSDI 2023)", read_zeus},
};

}  // namespace

std::span<const MeasurementFormat> measurement_formats() { return kMeasurementFormats; }

}  // namespace rehearse::traces
