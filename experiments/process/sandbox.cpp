#include "experiments/process/sandbox.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "experiments/process/kept_process.hpp"

namespace rehearse::scenarios {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kOwnArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kOwnArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kOwnArchitecture = 0;
#endif
constexpr std::uint32_t kForeignCalls = 0x40000000;  // x32's numbers, beside those of x86-64
constexpr int kNobody = 65534;                       // no root: a new program has none of our capabilities

bool write_whole(const char* path, const char* text) noexcept {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, text, std::strlen(text)) == static_cast<ssize_t>(std::strlen(text));
  close(file);
  return written;
}

bool map_to_nobody(const char* path, unsigned outside) noexcept {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%d %u 1", kNobody, outside);
  return write_whole(path, text.data());
}

bool empty_at(const char* folder, unsigned long flags, const char* data) noexcept {
  return mount("none", folder, "tmpfs", MS_NOSUID | MS_NODEV | flags, data) == 0;
}

/// connect() fails: a network of its own has nobody in it, but sockets may be files, of the display, of a container's daemon.
bool refuse_connections() noexcept {
  if (kOwnArchitecture == 0) return true;
  constexpr std::uint32_t kRefused = SECCOMP_RET_ERRNO | EACCES;
  std::array<sock_filter, 8> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kOwnArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, kRefused),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kForeignCalls, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_connect, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kRefused),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

bool enter_own_namespaces() noexcept {
  const unsigned user = geteuid(), group = getegid();
  return unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWPID) == 0 &&
         write_whole("/proc/self/setgroups", "deny") && map_to_nobody("/proc/self/uid_map", user) &&
         map_to_nobody("/proc/self/gid_map", group);
}

bool shut_off(const std::vector<std::string>& hidden) noexcept {
  if (unshare(CLONE_NEWNS) != 0) return false;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  mount_attr read_only{};
  read_only.attr_set = MOUNT_ATTR_RDONLY;
  if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof read_only) != 0) return false;
  for (const std::string& folder : hidden)
    if (!empty_at(folder.c_str(), MS_RDONLY, "size=4k,mode=555")) return false;
  if (access("/run", F_OK) == 0 && !empty_at("/run", MS_RDONLY, "size=4k,mode=555")) return false;
  if (access("/dev/shm", F_OK) == 0 && (!empty_at("/dev/shm", 0, "size=64m,mode=1777") || setenv("TMPDIR", "/dev/shm", 1) != 0))
    return false;
  // A container may not let us have a new one: then there is none.
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0 &&
      !empty_at("/proc", MS_RDONLY, "size=4k,mode=555"))
    return false;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && refuse_connections();
}

std::string no_sandbox_reason() {
  KeptProcess probe({.words = {"true"}, .folder = {}, .sandbox = true});
  pollfd ended{.fd = probe.end(), .events = POLLIN, .revents = 0};
  constexpr int kPatience_ms = 10'000;
  while (poll(&ended, 1, kPatience_ms) < 0 && errno == EINTR) {
  }
  if (!probe.read_end()) return "it does not end";
  const std::string how = probe.how_it_ended();
  return how == "has ended with status 0" ? "" : how;
}

}  // namespace rehearse::scenarios
