#include "sim/io/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "sim/base/errors.hpp"
#include "sim/base/text.hpp"
#include "tests/scenarios/temporary_folder.hpp"

using namespace rehearse::sim;
namespace fs = std::filesystem;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

}  // namespace

TEST_CASE("a file appears under its name when it is whole, and not at all when it is given up") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.csv", "old");
  {
    OutputFile file(path);
    file.write("half of ");
    CHECK(text_of(path) == "old");
  }
  CHECK(text_of(path) == "old");
  CHECK(entries(folder.path()) == 1);
  OutputFile file(path);
  file.write("all of ");
  file.write("it");
  file.close();
  CHECK(text_of(path) == "all of it");
  CHECK(entries(folder.path()) == 1);
}

TEST_CASE("a file that is replaced keeps its permissions, a new one has the usual ones") {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "old");
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  write_file(path, "new");
  CHECK(mode_of(path) == 0640);
  const mode_t mask = ::umask(0022);
  write_file(folder.path() + "/b", "new");
  ::umask(mask);
  CHECK(mode_of(folder.path() + "/b") == 0644);
}

TEST_CASE("a link stays, and what it leads to is written, also when that is not there yet") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() + "/far");
  folder.write("far/target", "old");
  fs::create_symlink("far/target", folder.path() + "/one");
  fs::create_symlink("one", folder.path() + "/two");
  fs::create_symlink("far/none", folder.path() + "/dangling");
  for (const std::string name : {"two", "dangling"}) {
    write_file(folder.path() + "/" + name, name);
    CHECK(fs::is_symlink(folder.path() + "/" + name));
  }
  CHECK(fs::is_symlink(folder.path() + "/one"));
  CHECK(text_of(folder.path() + "/far/target") == "two");
  CHECK(text_of(folder.path() + "/far/none") == "dangling");
  CHECK(entries(folder.path() + "/far") == 2);
  fs::create_symlink("round", folder.path() + "/round");
  CHECK_THROWS_AS(check_output(folder.path() + "/round"), InputError);
}

TEST_CASE("a link under a name that the program made up goes, and what it leads to stays as it is") {
  const TemporaryFolder folder;
  folder.write("target", "old");
  fs::create_symlink("target", folder.path() + "/link");
  write_file(without_link(folder.path() + "/link"), "new");
  CHECK(text_of(folder.path() + "/link") == "new");
  CHECK(text_of(folder.path() + "/target") == "old");
  CHECK(without_link(folder.path() + "/target") == folder.path() + "/target");
  CHECK(text_of(folder.path() + "/target") == "old");
}

TEST_CASE("a pipe is written to as it is, and stays one") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(is_streamed(path));
  check_output(path);
  std::string read;
  std::thread reader([&] { read = text_of(path); });
  write_file(path, "through");
  reader.join();
  CHECK(read == "through");
  CHECK(fs::is_fifo(path));
}

TEST_CASE("a descriptor that is open already is written on, not its file anew") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/log";
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT, 0666);
  REQUIRE(::write(descriptor, "before ", 7) == 7);
  fs::create_symlink("/dev/fd/" + std::to_string(descriptor), folder.path() + "/link");
  for (const std::string& name :
       {"/dev/fd/" + std::to_string(descriptor), "/proc/self/fd/" + std::to_string(descriptor), folder.path() + "/link"}) {
    CHECK(is_streamed(name));
    write_file(name, "x");
  }
  ::close(descriptor);
  CHECK(text_of(path) == "before xxx");
  CHECK_THROWS_AS(check_output("/dev/fd/987"), InputError);
}

TEST_CASE("standard output by any of its names") {
  CHECK(is_standard_output("-"));
  CHECK(is_standard_output("/dev/stdout"));
  CHECK(is_standard_output("/proc/self/fd/1"));
  CHECK_FALSE(is_standard_output("/nowhere/-"));
}

TEST_CASE("what cannot be written is refused before anything is done, with the reason") {
  const TemporaryFolder folder;
  const std::string read_only = folder.write("protected", "mine");
  REQUIRE(::chmod(read_only.c_str(), 0444) == 0);
  CHECK_THROWS_WITH(check_output(read_only), read_only + ": expected a file that can be written, found one that is read-only");
  CHECK_THROWS_AS(OutputFile(read_only), InputError);
  CHECK(text_of(read_only) == "mine");
  CHECK_THROWS_WITH(check_output(folder.path()), Catch::Contains("found a folder"));
  CHECK_THROWS_WITH(check_output(folder.path() + "/none/a"), Catch::Contains("No such file or directory, of its folder"));
  CHECK_THROWS_WITH(check_output(read_only + "/a"), Catch::Contains("Not a directory"));
  CHECK_THROWS_WITH(check_output(folder.path() + "/" + std::string(256, 'x')), Catch::Contains("File name too long"));
  CHECK_THROWS_AS(check_output(""), InputError);
  CHECK_THROWS_WITH(check_output(std::string("a\0b", 3)), Catch::Contains("NUL"));
  write_file(folder.path() + "/" + std::string(255, 'x'), "as long as a name can be");
  CHECK(entries(folder.path()) == 2);
}

TEST_CASE("a full disk is called so, and leaves no empty file") {
  CHECK_THROWS_WITH(OutputFile::in_place("/dev/full").write("x"),
                    "/dev/full: expected a file that can be written, found No space left on device");
  const TemporaryFolder folder;
  {
    auto file = OutputFile::in_place(folder.path() + "/a");
    file.write("half");
    CHECK(entries(folder.path()) == 1);
  }
  CHECK(entries(folder.path()) == 0);
}

TEST_CASE("a run's folder has files of plain names; without a folder nothing is written") {
  const OwnFolder folder(std::string("/somewhere"));
  CHECK(folder.file("jobs.csv") == "/somewhere/jobs.csv");
  for (const char* name : {"", ".", "..", "/nodes.csv", "../nodes.csv", "a/b"}) CHECK_THROWS_AS(folder.file(name), CheckFailed);
  CHECK_THROWS_AS(OwnFolder().file("nodes.csv"), CheckFailed);
}

TEST_CASE("escape sequences are shown, not sent; line ends of our own stay") {
  CHECK(printable("a\x1b[31mb\n", kWholeText) == "a\\x1B[31mb\\x0A");
  CHECK(printable_lines("one\x1b]0;x\x07\ntwo\xc2\x9b\n") == "one\\x1B]0;x\\x07\ntwo\\xC2\\x9B\n");
  CHECK(printable_lines("gr\u00fc\u00df") == "gr\u00fc\u00df");
  const InputError error(Mistake{.file = "a\x1b[2J", .pointer = "/\x1b", .found = "\x1b[31m"});
  CHECK(std::string(error.what()) == "a\\x1B[2J: /\\x1B: found \\x1B[31m");
}
