#pragma once

/// Marks what the shared library exports; everything else is hidden.
#if defined(__GNUC__)
#define ML_API __attribute__((visibility("default")))
#else
#define ML_API
#endif
