// A policy's process that is shut off: it tries all that it should not, and says what worked.
#include "experiments/process/sandbox.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

#include "experiments/load.hpp"
#include "experiments/process/kept_process.hpp"
#include "experiments/run/run.hpp"
#include "tests/scenarios/loading.hpp"

namespace {

using namespace rehearse;

/// Listens to this machine, and to a file.
class Listening {
 public:
  explicit Listening(const std::string& path)
      : internet_(socket(AF_INET, SOCK_STREAM, 0)), file_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(bind(internet_, reinterpret_cast<const sockaddr*>(&at), size) == 0);
    REQUIRE(listen(internet_, 8) == 0);
    REQUIRE(getsockname(internet_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port_ = ntohs(at.sin_port);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof name.sun_path);
    std::strcpy(name.sun_path, path.c_str());
    REQUIRE(bind(file_, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
    REQUIRE(listen(file_, 8) == 0);
  }
  ~Listening() {
    close(internet_);
    close(file_);
  }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  int port() const { return port_; }

 private:
  int internet_, file_, port_ = 0;
};

/// What the policy says that worked.
std::string worked(bool sandbox) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(REHEARSE_SOURCE_DIR "/tests/experiments/process/sandboxed.py", folder.path() + "/sandboxed.py");
  const Listening listening(folder.path() + "/socket");
  const scenarios::KeptProcess other(
      {.words = {"/usr/bin/python3", "-c", "import time; time.sleep(60)", "--secret-seed"}, .folder = {}});
  std::filesystem::create_directory(folder.path() + "/earlier");
  folder.write("earlier/summary.json", "{}");
  const auto scenario = scenarios::load_scenario(
      folder.write("s.json",
                   fmt::format(R"({{ "cluster": {{ "pools": [ {{ "name": "p", "instance": "p3.2xlarge", "nodes": 1 }} ] }},
    "jobs": [ {{ "model": "resnet18", "dataset": "cifar10", "epochs": 1 }} ],
    "policies": [ "manual", {{ "name": "curious", "configure": {{ "sandbox": {}, "timeout_s": 60,
      "process": ["/usr/bin/python3", "sandboxed.py", "{}", "{}"] }} }} ] }})",
                               sandbox, listening.port(), folder.path() + "/earlier")),
      {});
  const report::Summary summary = scenarios::run_scenario(*scenario, {.out = folder.path() + "/out"});
  CHECK(summary.rows.at(0).ok);
  std::filesystem::remove("/tmp/rehearse_sandboxed");
  const std::string& reason = summary.rows.at(1).reason;
  const std::size_t at = reason.find("worked: ");
  return at == reason.npos ? reason : reason.substr(at, reason.find('"', at) - at);
}

}  // namespace

TEST_CASE("a process without a sandbox can do what its user can; in one it reads files and no more") {
  CHECK(worked(false) == "worked: network socket folder results processes temporary");
  if (const std::string reason = scenarios::no_sandbox_reason(); !reason.empty()) {
    WARN("no sandbox here: a process " << reason);
    CHECK(worked(true).find("cannot be shut off from network and files: ") != std::string::npos);
    return;
  }
  CHECK(worked(true) == "worked: temporary");
  CHECK_FALSE(std::filesystem::exists("/dev/shm/rehearse_sandboxed"));  // its own is gone with it
}

TEST_CASE("a sandboxed process that is killed, cannot be run or has no folder says so as others do") {
  if (!scenarios::no_sandbox_reason().empty()) return;
  const auto how = [](const std::vector<std::string>& words, const std::string& folder) {
    scenarios::KeptProcess process({.words = words, .folder = folder, .sandbox = true});
    while (!process.read_end()) usleep(1000);
    return process.how_it_ended();
  };
  CHECK(how({"/bin/sh", "-c", "exit 7"}, "") == "has ended with status 7");
  CHECK(how({"/nowhere/program"}, "") == "cannot be run: No such file or directory");
  CHECK(how({"true"}, "/nowhere") == "cannot be run in its folder: No such file or directory");
  // What it starts ends with it, and the kernel kills it as it would any other.
  CHECK(how({"/usr/bin/python3", "-c", "import ctypes; ctypes.string_at(0)"}, "") ==
        "was killed by signal 11 (Segmentation fault)");
  CHECK(how({"/bin/sh", "-c", "sleep 1000 & exit 0"}, "") == "has ended with status 0");
}
