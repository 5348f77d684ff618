#include "formats/gguf_model.hpp"

#include "convert/gguf_tensors.hpp"
#include "util/try.hpp"

namespace ml {

Result<Model> open_gguf(std::shared_ptr<const InputBytes> input, const std::string& path,
                        const OpenOptions& options) {
  ML_TRY(const GgufFiles files, GgufFiles::open(std::move(input), path));
  ML_TRY(const GgufArch* arch, find_gguf_arch(files.head()));
  ML_TRY(ModelDesc desc, describe_gguf(files, *arch));
  ML_TRY(MappedTensors mapped, map_gguf_tensors(files, *arch, desc, {.decode = options.decode}));
  for (const GgufPart& part : files.parts()) mapped.storage.push_back(part.input);
  return Model::assemble(std::move(desc), std::move(mapped.tensors), std::move(mapped.storage));
}

}  // namespace ml
