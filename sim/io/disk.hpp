// The one way of files to the disk: what is kept is written, renamed and made to survive the machine here.
#pragma once

#include <string>
#include <string_view>

namespace rehearse::sim {

/// All of the text. False, with errno: the disk did not take it all.
bool write_whole(int descriptor, std::string_view text);
/// The rest of a file, from `from` where it is read next, behind what `to` has. False, with errno.
bool append_rest(int to, int from);
/// As renameat2(2) of two paths, with its flags. False, with errno.
bool rename_path(const std::string& from, const std::string& to, unsigned flags = 0);
/// What was written survives the machine. True also where the file cannot be synced: a pipe, a device. False, with errno.
bool sync_file(int descriptor);
/// Of a file or a folder; a folder's sync makes the names in it survive. Throws InputError.
void sync_path(const std::string& path);
/// Of a folder with all that is in it, links left out. Throws InputError.
void sync_folder(const std::string& folder);

/// For tests alone: "fail:N" lets the Nth write, rename or sync of this program and its children from now on fail, half done;
/// "tear:N" kills the process in the middle of it. Null or empty: all of them succeed where the system lets them. Throws
/// InputError for other texts.
void break_disk(const char* setting);

}  // namespace rehearse::sim
