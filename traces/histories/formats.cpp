#include "traces/histories/formats.hpp"

#include "traces/histories/native.hpp"

namespace rehearse::traces {

namespace {

constexpr HistoryFormat kHistoryFormats[] = {
    {"native", "our own: CSV, a row a run", "", read_native_history},
    {"trimtuner", "cnn.csv of TrimTuner (MASCOTS 2020): parameter servers on t2 machines",
     "download dataset_NN_Tensorflow/cnn.csv of github.com/pedrogbmendes/TrimTuner", read_trimtuner_history},
};

}  // namespace

std::span<const HistoryFormat> history_formats() { return kHistoryFormats; }

}  // namespace rehearse::traces
