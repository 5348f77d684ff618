#pragma once

// The table of the quant_lanes header that was included before: every target's file ends with this.

#include "kernels/q4_0_fit_kernels.hpp"
#include "kernels/quant_kernels.hpp"

namespace ml::kernels {
namespace {

constexpr QuantTable kQuantRows{
    .widen_f16 = widen_f16,
    .widen_bf16 = widen_bf16,
    .largest_magnitude = largest_magnitude,
    .encode_q8_0 = {encode_q8_0<32>, encode_q8_0<64>, encode_q8_0<128>},
    .encode_q4_0_round = {encode_q4_0_round<32>, encode_q4_0_round<64>, encode_q4_0_round<128>},
    .search_q4_0 = {search_q4_0<32>, search_q4_0<64>, search_q4_0<128>},
    .refine_q4_0 = refine_q4_0,
    .measure_q8_0 = measure_q8_0,
    .measure_q4_0 = measure_q4_0,
    .to_f16 = narrow_f16,
};

}  // namespace
}  // namespace ml::kernels
