#include "experiments/run/map_processes.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <stdexcept>

#include "experiments/run/process_pool.hpp"
#include "sim/base/errors.hpp"
#include "tests/scenarios/temporary_folder.hpp"

using namespace rehearse;

TEST_CASE("texts come back in order, whatever they hold and however many processes there are") {
  const TemporaryFolder place;
  const scenarios::HeldInterrupts held;
  const scenarios::ResultsFolder folder({.path = place.path() + "/out"});
  const auto work = [](int task) {
    return task == 2 ? std::string() : std::string(static_cast<std::size_t>(task), 'x') + '\0' + "\n";
  };
  for (const int processes : {1, 3}) {
    const std::vector<std::string> texts = scenarios::map_processes(5, processes, folder, work);
    REQUIRE(texts.size() == 5);
    for (int task = 0; task < 5; ++task) CHECK(texts[static_cast<std::size_t>(task)] == work(task));
  }
}

TEST_CASE("a child that throws or dies ends all, with the reason") {
  const TemporaryFolder place;
  const scenarios::HeldInterrupts held;
  const scenarios::ResultsFolder folder({.path = place.path() + "/out"});
  const auto throws = [](int task) -> std::string {
    if (task == 1) throw std::runtime_error("no answer");
    return "";
  };
  CHECK_THROWS_WITH(scenarios::map_processes(3, 2, folder, throws), "task 1 failed: no answer");
  const auto dies = [](int) -> std::string {
    ::kill(::getpid(), SIGKILL);
    return "";
  };
  CHECK_THROWS_AS(scenarios::map_processes(1, 1, folder, dies), sim::InputError);
  CHECK_THROWS_WITH(scenarios::map_processes(1, 1, folder, dies),
                    Catch::Contains("expected each task to run to its end, found task 0 ended from outside: Killed (signal 9)"));
  const auto crashes = [](int) -> std::string {
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
    return "";
  };
  CHECK_THROWS_WITH(scenarios::map_processes(1, 1, folder, crashes), "task 0 failed: Segmentation fault");
}
