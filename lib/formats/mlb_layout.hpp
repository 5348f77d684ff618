#pragma once

// The meaning of a .mlb header, and the way back; where its arrays lie (mlb(5), HEADER and BODY).

#include <ml/mlb.hpp>

#include <optional>

namespace ml {

/// How a .mlb stores its matrices.
struct MlbStorage {
  Encoding type = Encoding::q8_0;  ///< q8_0 or q4_0
  ScaleType scales = ScaleType::f32;
  std::uint32_t q8_mask = 0;  ///< classes stored as Q8_0 where type is q4_0
};

/// @param bytes  a file's first ones
/// @return       its header; what the bytes lack is as in a new one
MlbHeader load_mlb_header(std::span<const std::byte> bytes);
/// Turns the numbers of a header from the order of the file to that of this machine, or back.
void order_mlb_header(MlbHeader& header);

/// Every rule that the header breaks, in file order; only one where it is no .mlb of version 1.
std::vector<Error> mlb_header_defects(const MlbHeader& header);

/// Every rule that the layers' flag bytes break (mlb(5), LAYER FLAGS).
///
/// @param header  valid
/// @param flags   one a layer, or empty
std::vector<Error> mlb_layer_defects(const MlbHeader& header, std::span<const std::uint8_t> flags);

/// @return storage of a valid header
MlbStorage mlb_storage(const MlbHeader& header);

/// @param header  valid
/// @param flags   valid, one a layer, or empty
ModelDesc mlb_desc(const MlbHeader& header, std::span<const std::uint8_t> flags);

/// @return the header that says the same as `desc`, with 0 wherever 0 says it
/// @error format, shape   a value that .mlb cannot hold; the message names the field
Result<MlbHeader> make_mlb_header(const ModelDesc& desc, const MlbStorage& storage);

/// @return a byte a layer, or nothing where every layer is what its file's header says
std::vector<std::uint8_t> make_mlb_layer_flags(const ModelDesc& desc);

/// @return the bit of q8_mask that covers a matrix; 0 for tensors that none covers
std::uint32_t mlb_q8_class(Role role);

/// @return how a .mlb stores a tensor
Encoding mlb_encoding(Role role, const MlbStorage& storage, bool shared_classifier);

/// @return a tensor where it lies in the bytes of its file, which hold it whole
TensorView array_view(std::span<const std::byte> bytes, const MlbArray& array);

/// Places every tensor of a model in file order.
///
/// @param flags      the file stores layer flags
/// @param file_size  where given, no tensor may end after it: the first that does is an error
/// @param arrays     receives the tensors up to the first error
/// @return           nothing, or the error
std::optional<Error> lay_out_mlb(const ModelDesc& desc, const MlbStorage& storage, bool flags,
                                 std::optional<std::uint64_t> file_size, std::vector<MlbArray>& arrays);

}  // namespace ml
