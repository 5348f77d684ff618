// ModelDesc -> header -> ModelDesc, and files written through OutputFile.

#include "formats/mlb_write.hpp"
#include "catch.hpp"
#include "folder.hpp"
#include "mlb_builder.hpp"

#include "data.hpp"

using namespace ml;

namespace {

bool same(const ModelDesc& a, const ModelDesc& b) {
  const MlbHeader x = *make_mlb_header(a, {});
  const MlbHeader y = *make_mlb_header(b, {});
  return std::memcmp(&x, &y, sizeof x) == 0 && make_mlb_layer_flags(a) == make_mlb_layer_flags(b) &&
         a.head_dim == b.head_dim && a.rope.rot_dim == b.rope.rot_dim && a.rope.layout == b.rope.layout &&
         a.sliding_window == b.sliding_window && a.layers.size() == b.layers.size();
}

}  // namespace

TEST_CASE("a header survives the way to a description and back", "[mlb]") {
  MlbBuilder mixed = MlbBuilder::everything();
  MlbBuilder windowed;
  windowed.header.sliding_window = 16;
  MlbBuilder no_rope;
  no_rope.header.layer_flags = 1;
  no_rope.flags = {0, 4};
  for (const MlbBuilder& builder : {MlbBuilder(), mixed, windowed, no_rope}) {
    const ModelDesc desc = mlb_desc(builder.header, builder.flags);
    const auto header = make_mlb_header(desc, mlb_storage(builder.header));
    REQUIRE(header);
    for (const MlbField& field : mlb_fields()) {
      CAPTURE(field.name);
      CHECK(mlb_field_value(*header, field) == mlb_field_value(builder.header, field));
    }
    CHECK(make_mlb_layer_flags(desc) == builder.flags);
    CHECK(same(desc, mlb_desc(*header, make_mlb_layer_flags(desc))));
  }
}

TEST_CASE("zero stands for what zero means", "[mlb]") {
  MlbBuilder builder;
  builder.header.head_dim = 8;  // dim / n_heads
  builder.header.rot_dim = 8;   // head_dim
  builder.header.shared_classifier = 7;
  builder.header.layer_flags = 1;
  builder.header.sliding_window = 16;
  builder.flags = {1, 1};  // what the window means without flags
  const ModelDesc desc = mlb_desc(builder.header, builder.flags);
  CHECK(desc.head_dim == 8);
  CHECK(desc.rope.rot_dim == 8);
  const auto header = make_mlb_header(desc, {});
  REQUIRE(header);
  CHECK(header->head_dim == 0);
  CHECK(header->rot_dim == 0);
  CHECK(header->shared_classifier == 1);
  CHECK(header->layer_flags == 0);
  CHECK(header->sliding_window == 16);
  // A window that no layer has is none.
  builder.flags = {0, 0};
  CHECK(mlb_desc(builder.header, builder.flags).sliding_window == 0);
}

TEST_CASE("a description that .mlb cannot hold is refused by field", "[mlb]") {
  ModelDesc desc = mlb_desc(MlbBuilder().header, {});
  desc.hidden_dim = 65;
  auto header = make_mlb_header(desc, {});
  REQUIRE_FALSE(header);
  CHECK(describe(header.error()) == "hidden_dim is 65, must be a multiple of 32 (ML_E_SHAPE)");
  desc.hidden_dim = 64;
  desc.layers[1].local_rope = true;
  header = make_mlb_header(desc, {});
  REQUIRE_FALSE(header);
  CHECK(describe(header.error()) ==
        "flags of layer 1 are 2, must not have bit 1 (local RoPE base) where rope_local_theta is 0 "
        "(ML_E_FORMAT)");
}

TEST_CASE("the writer pads, and what it writes reads back", "[mlb]") {
  const MlbBuilder builder = MlbBuilder::everything();
  const std::string expected = builder.build();
  const TempFolder folder;
  const std::string path = folder.file("out.mlb");
  const auto plan = plan_mlb(mlb_desc(builder.header, builder.flags), mlb_storage(builder.header));
  REQUIRE(plan);
  CHECK(plan->n_bytes == expected.size());
  auto out = OutputFile::create(path, {});
  REQUIRE(out);
  MlbWriter writer(*plan, *out);
  REQUIRE(writer.write_header());
  for (const MlbArray& array : plan->arrays) {
    REQUIRE(writer.write(bytes_of(expected).subspan(array.offset, array.n_bytes)));
    REQUIRE(writer.pad());
    REQUIRE(writer.write(bytes_of(expected).subspan(array.scale_offset, array.n_scale_bytes)));
    REQUIRE(writer.pad());
  }
  REQUIRE(out->commit());
  CHECK(read_file(path) == expected);
}
