// The block comes first: the masks are computed over it.
#include "tokenizer/x86/block_avx2.hpp"

#include "tokenizer/ascii_spans_kernels.hpp"

namespace ml::spans {

const Table avx2_table = kFinders;

}  // namespace ml::spans
