#pragma once

namespace ml {

/// Gives `old_name` in one folder the name `new_name` in another, which must be free. Where the file system
/// cannot promise that (NFS, old kernels) it looks first.
/// @return as renameat2(2); EEXIST: the name is taken
int rename_to_free_name(int old_folder, const char* old_name, int new_folder, const char* new_name);

/// Exchanges two names of a folder. Where the file system cannot, `second` is missing for a moment.
/// @return as renameat2(2); after a failure the names are as they were
int exchange_names(int folder, const char* first, const char* second);

}  // namespace ml
