#pragma once

// The table of the lanes header that was included before: every target's table file ends with this.

#include "kernels/affine_kernels.hpp"
#include "kernels/attention_kernels.hpp"
#include "kernels/float_matmul.hpp"
#include "kernels/gated_delta_kernels.hpp"
#include "kernels/int_group_kernels.hpp"
#include "kernels/latent_cache_kernels.hpp"
#include "kernels/q4_0_kernels.hpp"
#include "kernels/q8_0_kernels.hpp"
#include "kernels/row_block_kernels.hpp"
#include "kernels/seed_kernels.hpp"
#include "kernels/seed_search_kernels.hpp"
#include "kernels/softplus_kernels.hpp"
#include "kernels/table.hpp"
#include "kernels/vector_kernels.hpp"

namespace ml::kernels {
namespace {

constexpr Table kRows{
    // In the order of ml::Encoding.
    .matmul_q8 = {nullptr,
                  nullptr,
                  nullptr,
                  matmul_q8<WeightsQ8>,
                  matmul_q8<WeightsQ4>,
                  matmul_q8<WeightsAffine8>,
                  matmul_q8<WeightsAffine4>,
                  matmul_q8<WeightsAffine4>,
                  nullptr,
                  nullptr,
                  nullptr,
                  matmul_q8<WeightsInt8>,
                  matmul_q8<WeightsInt8>,
                  matmul_q8<WeightsInt4>,
                  matmul_q8<WeightsInt4>,
                  matmul_q8<WeightsInt4>,
                  matmul_q8<WeightsInt4h<64>>,
                  matmul_q8<WeightsInt4h<128>>,
                  matmul_q8_blocks<BlocksInt8>,
                  matmul_q8_blocks<BlocksInt8>,
                  matmul_q8_blocks<BlocksInt8>,
                  matmul_q8_blocks<BlocksInt4>,
                  matmul_q8_blocks<BlocksInt4>,
                  matmul_q8_blocks<BlocksInt4>},
    .matmul_f32 =
        {matmul_f32<PlainF32>,          matmul_f32<PlainF16>,          matmul_f32<PlainBf16>,
         matmul_f32<ScaledQ8>,          matmul_f32<ScaledQ4>,          matmul_made<AffineRow<8, 64>>,
         matmul_made<AffineRow<4, 64>>, matmul_made<AffineRow<4, 32>>, matmul_made<SeedRow<4>>,
         matmul_made<SeedRow<3>>,       matmul_made<SeedRow<8>>,       matmul_made<ScaledInt8>,
         matmul_made<ScaledInt8>,       matmul_made<ScaledInt4>,       matmul_made<ScaledInt4>,
         matmul_made<ScaledInt4>,       matmul_made<ScaledInt4h>,      matmul_made<ScaledInt4h>,
         matmul_f32_blocks<BlocksInt8>, matmul_f32_blocks<BlocksInt8>, matmul_f32_blocks<BlocksInt8>,
         matmul_f32_blocks<BlocksInt4>, matmul_f32_blocks<BlocksInt4>, matmul_f32_blocks<BlocksInt4>},
    .quantize_q8 = quantize_q8,
    .pack_token = pack_token,
    .rms_norm = rms_norm,
    .l2_norm = l2_norm,
    .silu_mul = silu_mul,
    .gelu_mul = gelu_mul,
    .sigmoid_mul = sigmoid_mul,
    .softplus_mul = softplus_mul,
    .softcap = softcap,
    .exp = exp_vector,
    .to_f16 = to_f16,
    .attend = {attend<CacheF32>, attend<CacheF16>, attend<CacheQ8>, attend<CacheBf16>, attend<CacheFp8>,
               attend<CacheFp4>},
    .conv_silu = conv_silu,
    .delta_step = delta_step,
    .try_seeds = {try_seeds<3>, try_seeds<4>},
    .scan_seeds = {scan_seeds<3>, scan_seeds<4>},
};

}  // namespace
}  // namespace ml::kernels
