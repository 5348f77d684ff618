// The same program in the other language: the header is both.

#include "c_api.c"
