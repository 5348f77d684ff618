#pragma once

// What the parts of a .mog mean (mog(5)).

#include <ml/mog.hpp>

namespace ml {

inline constexpr std::uint64_t kMogConfigAt = 64;
/// First byte after preamble and configuration.
inline constexpr std::uint64_t kMogHeadBytes = kMogConfigAt + sizeof(MogConfig);

/// Turn what lies in a file, little-endian, into values, or back.
void order_mog(MogPreamble& preamble);
void order_mog(MogConfig& config);
void order_mog(MogRecord& record);

/// The configuration as a header of a .mlb, whose rules it shares; its layer flags aside.
MlbHeader mog_header(const MogConfig& config);
/// The way back: every field that both have.
MogConfig mog_config(const MlbHeader& header);

/// Every rule that the configuration breaks, in file order.
std::vector<Error> mog_config_defects(const MogConfig& config);
/// @param config  valid
ModelDesc mog_desc(const MogConfig& config);

/// @return a field of the configuration by its name, "layer_flags" included, or null
const MogField* find_mog_config_field(std::string_view name);

/// Dimensions of a slot as the directory writes them: rows and columns, or a vector's length.
std::array<std::uint32_t, 4> mog_dims(const ModelDesc& desc, Role role);
/// @return true where the model has a tensor in that slot
bool has_mog_slot(const ModelDesc& desc, MogSlot slot);
/// @return the id of how a tensor is stored; it is one of mog_encodings()
std::uint32_t mog_encoding_id(Encoding encoding, ScaleType scale_type);

/// Checks one tensor's shape against its encoding.
/// @return what is wrong ("columns are 172, must be a multiple of 64 for int8_g64_f32"), or nothing
std::optional<std::string> mog_encoding_defect(const MogEncoding& encoding, std::uint64_t rows,
                                               std::uint64_t cols);

}  // namespace ml
