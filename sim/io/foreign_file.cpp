#include "sim/io/foreign_file.hpp"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace rehearse::sim {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kGitPointer = "version https://git-lfs.github.com/spec";

/// Bytes at a place.
struct Magic {
  std::string_view bytes;
  std::size_t at = 0;
};

struct ForeignFormat {
  std::string_view what;
  std::initializer_list<Magic> magic{};
  std::initializer_list<std::string_view> entries{};  ///< of a zip archive: names of files in it; a star at an end is any text
  std::initializer_list<std::string_view> endings{};  ///< of the file's own name
};

// Sources: HDF5 File Format Specification 3.0, II.A (the superblock stands at 0, 512, 1024, 2048, ...); Keras's saving_lib.py;
// PyTorch's serialization.py (a zip archive since 1.6, before that a pickle with a magic number); TensorFlow Lite's schema.fbs
// and TensorFlow's saved_model.proto; apache.org for Parquet, Arrow, ORC and Avro; ECMA-376, part 2, for Excel; NumPy's
// format.py.
const ForeignFormat kForeignFormats[] = {
    {.what =
         "a Keras model with its weights: write its structure with open(\"model.json\", \"w\").write(model.to_json()) in Python, "
         "and give model.json",
     .entries = {"config.json", "model.weights.h5"},
     .endings = {".keras"}},
    {.what =
         "an HDF5 file: of a Keras model, write the structure with open(\"model.json\", \"w\").write(model.to_json()) in Python; "
         "of a table, pandas.read_hdf(file).to_csv(\"table.csv\", index=False)",
     .magic = {{"\x89HDF\r\n\x1A\n"},
               {"\x89HDF\r\n\x1A\n", 512},
               {"\x89HDF\r\n\x1A\n", 1024},
               {"\x89HDF\r\n\x1A\n", 2048},
               {"\x89HDF\r\n\x1A\n", 4096}},
     .endings = {".h5", ".hdf5", ".hdf"}},
    {.what =
         "a PyTorch file, which holds weights: write the network's layers with python/rehearse_torch.py, from the module itself",
     .magic = {{"\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19"}},
     .entries = {"*/data.pkl", "*serialized_exported_program.json", "*/archive_format"},
     .endings = {".pt", ".pth", ".pt2", ".ckpt"}},
    {.what = "weights in the safetensors format, without the network: write its layers with python/rehearse_torch.py, from the "
             "module "
             "itself",
     .endings = {".safetensors"}},
    {.what = "a GGUF file, weights of a language model: write its layers with python/rehearse_torch.py, from the module itself",
     .magic = {{"GGUF"}},
     .endings = {".gguf"}},
    {.what = "a TensorFlow Lite model: convert it with python3 -m tf2onnx.convert --tflite FILE --output model.onnx",
     .magic = {{"TFL3", 4}},
     .endings = {".tflite"}},
    {.what =
         "a TensorFlow graph: convert it with python3 -m tf2onnx.convert --graphdef FILE --inputs NAMES --outputs NAMES --output "
         "model.onnx",
     .endings = {".pb"}},
    {.what = "a Parquet file: write it as CSV with pandas.read_parquet(file).to_csv(\"table.csv\", index=False) in Python",
     .magic = {{"PAR1"}, {"PARE"}},
     .endings = {".parquet", ".pq"}},
    {.what = "an Arrow file: write it as CSV with pandas.read_feather(file).to_csv(\"table.csv\", index=False) in Python",
     .magic = {{"ARROW1\0\0"sv}, {"FEA1"}},
     .endings = {".feather", ".arrow"}},
    {.what = "an ORC file: write it as CSV with pandas.read_orc(file).to_csv(\"table.csv\", index=False) in Python",
     .magic = {{"ORC"}},
     .endings = {".orc"}},
    {.what = "an Avro file: write it as JSON or CSV first", .magic = {{"Obj\x01"}}, .endings = {".avro"}},
    {.what = "an Excel workbook: save the sheet as CSV",
     .magic = {{"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"}},
     .entries = {"xl/*"},
     .endings = {".xlsx", ".xls", ".xlsm"}},
    {.what = "an OpenDocument file: save the sheet as CSV", .entries = {"content.xml"}, .endings = {".ods"}},
    {.what = "NumPy's arrays: write them as CSV with numpy.savetxt(\"table.csv\", array, delimiter=\",\") in Python; of a "
             "network, its "
             "weights alone",
     .magic = {{"\x93NUMPY"}},
     .entries = {"*.npy"},
     .endings = {".npz", ".npy"}},
    {.what = "a Python pickle: of a table, write it as CSV with pandas.read_pickle(file).to_csv(\"table.csv\", index=False) in "
             "Python; "
             "of a PyTorch module, write its layers with python/rehearse_torch.py",
     .magic = {{"\x80\x02"}, {"\x80\x03"}, {"\x80\x04"}, {"\x80\x05"}},
     .endings = {".pkl", ".pickle"}},
    {.what = "an SQLite database: export the table as CSV (sqlite3 -header -csv FILE \"select * from TABLE\" > table.csv)",
     .magic = {{"SQLite format 3\0"sv}}},
    // Archives and encodings: what they hold may be read.
    {.what = "a zip archive: unpack it first", .magic = {{"PK\x03\x04"}, {"PK\x05\x06"}, {"PK\x07\x08"}}},
    {.what = "a bzip2 file: unpack it first", .magic = {{"BZh"}}},
    {.what = "a zstd file: unpack it first", .magic = {{"\x28\xB5\x2F\xFD"}}},
    {.what = "a 7z archive: unpack it first", .magic = {{"7z\xBC\xAF"}}},
    {.what = "text in UTF-16: convert it to UTF-8 first", .magic = {{"\xFF\xFE"}, {"\xFE\xFF"}}},
    // POSIX.1-2017, pax, "ustar Interchange Format".
    {.what = "a tar archive: unpack it first", .magic = {{"ustar", 257}}},
};

/// Two bytes, the lower first.
std::size_t number_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]) + 256u * static_cast<unsigned char>(bytes[at + 1]);
}

/// Names of the files in a zip archive whose headers lie in `head` (APPNOTE 6.3.10, 4.3.7 and 4.3.12). They are looked for, not
/// walked to: a header may leave out how long the file behind it is.
std::vector<std::string_view> zip_entries(std::string_view head) {
  struct Header {
    std::string_view signature;
    std::size_t name_length, name;  ///< where they stand
  };
  std::vector<std::string_view> names;
  if (!head.starts_with("PK")) return names;
  for (const Header& header : {Header{"PK\x03\x04", 26, 30}, Header{"PK\x01\x02", 28, 46}})
    for (std::size_t at = head.find(header.signature); at != head.npos; at = head.find(header.signature, at + 4))
      if (at + header.name < head.size())
        names.push_back(head.substr(at + header.name, number_at(head, at + header.name_length)));
  return names;
}

bool is_entry(std::string_view name, std::string_view pattern) {
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

/// Protobuf: version 1, then a MetaGraphDef, whose first field is a message again. An ONNX file of version 1 has a text there.
bool is_saved_model(std::string_view head) {
  if (!head.starts_with("\x08\x01\x12")) return false;
  std::size_t at = 3;  // of the message's length, which may take several bytes
  while (at < head.size() && head[at] < 0) ++at;
  return at + 1 < head.size() && head[at + 1] == '\n';
}

/// No control characters but white space; whatever stands for letters.
bool is_text(std::string_view head) {
  return std::ranges::none_of(head, [](char c) { return c >= 0 && c < 0x20 && (c < '\t' || c > '\r'); });
}

}  // namespace

std::string_view foreign_file(std::string_view head, std::string_view path) {
  if (head.empty()) return {};
  const bool has_lines = is_text(head) && head.find('\n') != head.npos;  // a table may begin with a column "ORC"
  const std::vector<std::string_view> names = zip_entries(head);
  for (const ForeignFormat& format : kForeignFormats) {
    for (const Magic& magic : format.magic)
      if (!has_lines && head.size() >= magic.at && head.substr(magic.at).starts_with(magic.bytes)) return format.what;
    for (const std::string_view name : names)
      if (std::ranges::any_of(format.entries, [&](std::string_view entry) { return is_entry(name, entry); })) return format.what;
  }
  if (head.starts_with(kGitPointer)) return "a Git LFS pointer: fetch the file itself with git lfs pull";
  if (is_saved_model(head))
    return "a TensorFlow SavedModel: convert its folder with python3 -m tf2onnx.convert --saved-model FOLDER --output model.onnx";
  if (is_text(head) || head.starts_with('\b')) return {};  // ONNX begins so
  for (const std::string_view packed : {".gz", ".xz"})
    if (path.ends_with(packed)) path.remove_suffix(packed.size());
  for (const ForeignFormat& format : kForeignFormats)
    if (std::ranges::any_of(format.endings, [&](std::string_view ending) { return path.ends_with(ending); })) return format.what;
  return {};
}

}  // namespace rehearse::sim
