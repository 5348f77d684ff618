#pragma once

#include <string_view>

namespace cli {

// In every program that has this file, from before main() on: memory that runs out where nothing catches it
// (another thread, the set-up of options) is a message and exit status 1.

/// Makes the descriptors 0 to 2 safe to use when the caller closed them: reads and writes fail, and no file
/// that the tool opens gets one of their numbers.
void guard_standard_streams();

/// Signals that end a process from outside (SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU, SIGALRM,
/// SIGUSR1, SIGUSR2) remove unfinished files first; a file size limit becomes an error of write(). An input
/// that shrinks while it is mapped is a message and exit status 1.
///
/// @param name  of the tool, for that message; stays valid
void install_signal_handlers(std::string_view name);

/// Writes all of it. @return 0, or errno of the failed write
int write_fully(int fd, std::string_view text);

}  // namespace cli
