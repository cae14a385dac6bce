// What keeps a policy's process to its task: no network, no file that it could write, nothing to see of other processes and of
// results. By Linux's user, network, process and mount namespaces (namespaces(7)), which need no rights where the system lets
// users have them, and a seccomp filter (seccomp(2)) for sockets that are files.
#pragma once

#include <string>
#include <vector>

namespace rehearse::scenarios {

/// In the keeper, before it forks: what it forks is alone. False, with errno, where the system does not let us.
bool enter_own_namespaces() noexcept;

/// In the forked child, before it becomes the program: all files read-only, these folders and /run empty, /dev/shm to write to
/// (TMPDIR, 64 MiB), /proc of itself. False, with errno.
bool shut_off(const std::vector<std::string>& hidden) noexcept;

/// Why no process can be shut off here; empty where one can. Tries it.
std::string no_sandbox_reason();

}  // namespace rehearse::scenarios
