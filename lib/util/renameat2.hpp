#pragma once

#include <unistd.h>

#include <cstdio>

// musl has no name for this call of Linux, or has one since lately.
#ifndef RENAME_NOREPLACE
#include <sys/syscall.h>

inline constexpr unsigned RENAME_NOREPLACE = 1;
inline constexpr unsigned RENAME_EXCHANGE = 2;

inline int renameat2(int old_folder, const char* old_name, int new_folder, const char* new_name,
                     unsigned flags) {
  return static_cast<int>(::syscall(SYS_renameat2, old_folder, old_name, new_folder, new_name, flags));
}
#endif
