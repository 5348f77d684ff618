// The layout of .mog: what the writer makes, and every defect by name.

#include "documented_rules.hpp"
#include "formats/mog_layout.hpp"
#include "mog_support.hpp"
#include "util/bytes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

using namespace ml;

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// A small model with a tokenizer, packed once.
const std::string& sample() {
  static const std::string bytes = [] {
    const TempFolder folder;
    pack_mog(recipe_path("qwen3_5_text"), data_path("models/qwen35-stories"), folder.file("a.mog"),
             {{"layers.*.down_proj", "int4_g64_f16"},
              {"layers.*.up_proj", "int8r16_g32_f32"},
              {"norm", "f16"},
              {"embed", "bf16"}});
    return read_file(folder.file("a.mog"));
  }();
  return bytes;
}

template <class T>
T get(const std::string& file, std::uint64_t at) {
  return load_le<T>(file.data() + at);
}
template <class T>
void put(std::string& file, std::uint64_t at, T value) {
  store_le(file.data() + at, value);
}

// Offset of the record of a slot.
std::uint64_t record_at(const std::string& name) {
  const auto slots = mog_slots(4);
  const auto slot = *find_mog_slot(name);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i] == slot)
      return get<std::uint64_t>(sample(), offsetof(MogPreamble, directory_offset)) + 64 * i;
  }
  FAIL(name);
  return 0;
}

struct Damage {
  const char* what;  // contained in the message
  std::function<void(std::string&)> change;
};

// -128 is refused when the file is opened, unless it is trusted; the place is the interleaved row's.
Error refused_minus_128() {
  const auto file = read_mog(bytes_of(sample()));
  REQUIRE(file);
  const auto up = std::find_if(file->tensors.begin(), file->tensors.end(), [](const MlbArray& tensor) {
    return tensor.role == Role::w3 && tensor.layer == 1;
  });
  REQUIRE(up != file->tensors.end());
  std::string bad = sample();
  bad[up->offset + 64 * 3 + 5 * 4 + 2] = static_cast<char>(-128);
  const TempFolder folder;
  folder.write("bad.mog", bad);
  CHECK(Model::open(folder.file("bad.mog"), {.trust = true}));
  const auto model = Model::open(folder.file("bad.mog"));
  REQUIRE_FALSE(model);
  CHECK(model.error().message.find("quant of row 5, column 14 is -128") != std::string::npos);
  CHECK(model.error().tensor == "layers.1.up_proj");
  return model.error();
}

}  // namespace

TEST_CASE("a packed file is sound, and its directory is as the format says", "[mog]") {
  const auto file = read_mog(bytes_of(sample()));
  if (!file) FAIL(describe(file.error()));
  CHECK(check_mog(bytes_of(sample())).empty());
  CHECK(file->preamble.tokenizer_offset == 1088);
  CHECK(file->preamble.n_records == 4 * 26 + 3);
  CHECK(file->preamble.payload_offset + file->preamble.payload_size == sample().size());
  CHECK(file->config.rope_layout == 0);
  std::uint64_t end = file->preamble.payload_offset;
  for (const MlbArray& tensor : file->tensors) {
    CHECK(tensor.offset == (end + 63) / 64 * 64);
    if (tensor.n_scale_bytes != 0)
      CHECK(tensor.scale_offset == (tensor.offset + tensor.n_bytes + 63) / 64 * 64);
    end = tensor.end();
  }
}

TEST_CASE("slots, encodings and architectures have the names and numbers of the format", "[mog]") {
  const auto slots = mog_slots(3);
  REQUIRE(slots.size() == 3 * 26 + 3);
  CHECK(mog_slot_name(slots[0]) == "embed");
  CHECK(mog_slot_name(slots[1]) == "layers.0.attn_norm");
  CHECK(mog_slot_name(slots[26]) == "layers.0.lin_out");
  CHECK(mog_slot_name(slots[79]) == "norm");
  CHECK(mog_slot_name(slots[80]) == "lm_head");
  for (const MogSlot& slot : slots) CHECK(find_mog_slot(mog_slot_name(slot)) == slot);
  for (const char* wrong :
       {"", "layers", "layers.", "layers.0", "layers.0.", "layers.x.q_proj", "layers.-1.q_proj",
        "layers.00.q_proj", "layers.512.q_proj", "layers.0.embed", "q_proj", "Embed"}) {
    CHECK_FALSE(find_mog_slot(wrong));
  }
  CHECK(mog_encodings().size() == 33);
  CHECK(find_mog_encoding("int4_g64_f32")->id == 5 + 16 * 2 + 4096);
  CHECK(find_mog_encoding("INT8R16_G128_F16")->id == 7 + 16 * 3 + 8192);
  CHECK(find_mog_encoding("int8_g32_f32")->encoding == Encoding::q8_0);
  CHECK(find_mog_encoding("int4h_g32_f16")->encoding == Encoding::q4_0);
  CHECK(find_mog_encoding("int8") == nullptr);
  std::set<std::uint32_t> ids;
  for (const MogEncoding& row : mog_encodings()) {
    CHECK(mog_encoding_id(row.encoding, row.scale_type) == row.id);
    ids.insert(row.id);
  }
  CHECK(ids.size() == 33);
  CHECK(mog_architectures().size() == 9);
}

TEST_CASE("every defect of a .mog has its message", "[mog]") {
  constexpr std::uint64_t kConfig = 64;
  const auto tokenizer = get<std::uint64_t>(sample(), 16);
  const std::uint64_t q = record_at("layers.3.q_proj");
  const auto at = [](std::uint64_t record, const char* field) -> std::uint64_t {
    const std::string name = field;
    if (name == "data") return record;
    if (name == "scales") return record + 8;
    if (name == "data bytes") return record + 16;
    if (name == "scale bytes") return record + 24;
    if (name == "dims") return record + 32;
    return record + (name == "encoding" ? 48 : 52);
  };
#define SET(type, where, value) [=](std::string& f) { put<type>(f, where, value); }
#define ADD(type, where, value) \
  [=](std::string& f) { put<type>(f, where, static_cast<type>(get<type>(f, where) + (value))); }
  const std::vector<std::pair<const char*, Damage>> rows{
      {"the magic is not MOG and a zero byte", {"magic is not MOG", SET(char, 0, 'X')}},
      {"the version is not 3", {"version is 1, an older public layout of .mog", SET(std::uint32_t, 4, 1u)}},
      {"the version is not 3", {"version is 2, an older public layout of .mog", SET(std::uint32_t, 4, 2u)}},
      {"the version is not 3", {"version is 4, must be 3", SET(std::uint32_t, 4, 4u)}},
      {"the architecture is none of the list",
       {"architecture is 0, must be 1 to 9", SET(std::uint32_t, 8, 0u)}},
      {"the architecture is none of the list",
       {"architecture is 10, must be 1 to 9", SET(std::uint32_t, 8, 10u)}},
      {"config_size is not 1024", {"config_size is 1000, must be 1024", SET(std::uint32_t, 12, 1000u)}},
      {"a section's offset is no multiple of 64",
       {"tokenizer_offset is 1090, must be a multiple of 64", SET(std::uint64_t, 16, 1090ull)}},
      {"sections overlap, or are out of order",
       {"tokenizer_offset is 64, which overlaps", SET(std::uint64_t, 16, 64ull)}},
      {"more than padding lies between sections",
       {"tokenizer_offset is 1152, must be 1088", SET(std::uint64_t, 16, 1152ull)}},
      {"tokenizer_offset or tokenizer_size is 0 and the other is not",
       {"must be 0 where tokenizer_offset is 0", SET(std::uint64_t, 16, 0ull)}},
      {"tokenizer_offset or tokenizer_size is 0 and the other is not",
       {"tokenizer_size is 0, must be above", SET(std::uint64_t, 24, 0ull)}},
      {"a section's end does not fit into 64 bits",
       {"does not fit into 64 bits", SET(std::uint64_t, 24, ~0ull)}},
      {"the file ends before a section does", {"the tokenizer needs", SET(std::uint64_t, 24, 1ull << 40)}},
      {"more than padding lies between sections", {"directory_offset is", ADD(std::uint64_t, 32, 64)}},
      {"sections overlap, or are out of order", {"directory_offset is", ADD(std::uint64_t, 32, -64)}},
      {"a section's offset is no multiple of 64", {"must be a multiple of 64", ADD(std::uint64_t, 32, 4)}},
      {"n_records is not what n_layers implies",
       {"n_records is 108, must be 107", ADD(std::uint32_t, 40, 1)}},
      {"record_size is not 64", {"record_size is 72, must be 64", ADD(std::uint32_t, 44, 8)}},
      {"more than padding lies between sections", {"payload_offset is", ADD(std::uint64_t, 48, 64)}},
      {"the file ends before a section does", {"the payload needs", ADD(std::uint64_t, 56, 1)}},
      {"the payload ends after or before its last tensor",
       {"the last tensor ends after",
        [](std::string& f) {
          put<std::uint64_t>(f, 56, get<std::uint64_t>(f, 56) + 128);
          f.append(128, '\0');
        }}},
      {"bytes follow the payload", {"must end at", [](std::string& f) { f.append(100, '\0'); }}},
      {"a field of the configuration breaks its rule in mlb(5)",
       {"dim is 100, must be a multiple of 32", SET(std::uint32_t, kConfig, 100u)}},
      {"n_layers is above 512",
       {"n_layers is 513, must be at most 512", SET(std::uint32_t, kConfig + 4, 513u)}},
      {"a field of the rotation breaks its rule in mlb(5)",
       {"low_freq_factor is 0", SET(std::uint32_t, kConfig + 44, 1u)}},
      {"rope_layout is neither 0 nor 1",
       {"rope_layout is 2, must be 0 or 1", SET(std::uint32_t, kConfig + 136, 2u)}},
      {"padding of the configuration is not zero", {"padding is not zero", SET(char, kConfig + 140, 1)}},
      {"padding of the configuration is not zero", {"padding is not zero", SET(char, kConfig + 511, 1)}},
      {"flags of a layer have an unknown bit", {"flags of layer 1 are 16", SET(char, kConfig + 513, 16)}},
      {"flags of a layer that the model lacks are not 0",
       {"flags of layer 4 are 1, must be 0 where n_layers is 4", SET(char, kConfig + 516, 1)}},
      {"flags of a layer that the model lacks are not 0",
       {"flags of layer 511 are 9", SET(char, kConfig + 1023, 9)}},
      {"the tokenizer's kind is neither 1 nor 2",
       {"tokenizer: kind is 3", SET(std::uint32_t, tokenizer, 3u)}},
      {"the tokenizer's n_vocab is out of range",
       {"tokenizer: n_vocab is 0", SET(std::uint32_t, tokenizer + 4, 0u)}},
      {"the tokenizer's section is not as long as its counts say",
       {"tokenizer: section is", ADD(std::uint32_t, tokenizer + 8, 1)}},
      {"the tokenizer's bos or eos is neither -1 nor below n_vocab",
       {"tokenizer: bos is", SET(std::int32_t, tokenizer + 12, 1 << 20)}},
      {"the tokenizer's bos or eos is neither -1 nor below n_vocab",
       {"tokenizer: eos is", SET(std::int32_t, tokenizer + 16, -2)}},
      {"the tokenizer's flags break a rule of mlt(5)",
       {"tokenizer: flags", SET(std::uint32_t, tokenizer + 20, 1u << 30)}},
      {"the last word of the tokenizer's header is not 0",
       {"tokenizer: last word of the header is 7", SET(std::uint32_t, tokenizer + 28, 7u)}},
      {"the texts of tokens do not go up from 0",
       {"must go up from 0", SET(std::uint32_t, tokenizer + 36, 1u << 20)}},
      {"the texts of tokens do not go up from 0",
       {"must go up from 0", SET(std::uint32_t, tokenizer + 32, 1u)}},
      {"a record is not zero, and the model has no tensor in its slot",
       {"record is not zero", SET(std::uint64_t, record_at("layers.0.q_proj"), 64ull)}},
      {"a record is zero, and the model needs a tensor in its slot",
       {"record is zero, but the model needs", [=](std::string& f) { f.replace(q, 64, 64, '\0'); }}},
      {"an encoding is none of the list",
       {"encoding is 99, which is none", SET(std::uint32_t, at(q, "encoding"), 99u)}},
      {"dims are not those of the slot", {"dims are", ADD(std::uint32_t, at(q, "dims"), 1)}},
      {"dims are not those of the slot", {"dims are", SET(std::uint32_t, at(q, "dims") + 12, 1u)}},
      {"padding of a record is not zero",
       {"padding of the record is not zero", SET(std::uint32_t, at(q, "padding"), 1u)}},
      {"padding of a record is not zero",
       {"padding of the record is not zero", SET(std::uint32_t, at(q, "padding") + 8, 1u)}},
      {"data or scales take other sizes than dims and encoding say",
       {"data takes", ADD(std::uint64_t, at(q, "data bytes"), 1)}},
      {"data or scales take other sizes than dims and encoding say",
       {"scales take", ADD(std::uint64_t, at(q, "scale bytes"), -4)}},
      {"a tensor without scales has an offset of scales",
       {"offset of scales is 64, must be 0 for f32",
        SET(std::uint64_t, record_at("layers.0.attn_norm") + 8, 64ull)}},
      {"an offset of data or scales is no multiple of 64",
       {"offset of data is", ADD(std::uint64_t, at(q, "data"), 4)}},
      {"buffers overlap, or are out of order",
       {"overlaps what ends at", ADD(std::uint64_t, at(q, "data"), -64)}},
      {"more than padding lies between buffers",
       {"no more than padding before it", ADD(std::uint64_t, at(q, "data"), 64)}},
      {"a buffer ends after the payload",
       {"end after the payload", SET(std::uint64_t, at(q, "data"), 1ull << 40)}},
      {"a buffer ends after the payload",
       {"end after the payload", SET(std::uint64_t, at(q, "data"), ~63ull)}},
      {"more than padding lies between buffers",
       {"offset of scales is", ADD(std::uint64_t, at(q, "scales"), 64)}},
      {"rows or columns are no multiple of what the encoding takes",
       {"rows are 4, must be a multiple of 16 for int8r16_g32_f32",
        SET(std::uint32_t, record_at("layers.0.lin_a") + 48, 7u + 16 + 4096)}},
      {"rows or columns are no multiple of what the encoding takes",
       {"columns are 320, must be a multiple of 128 for int8_g128_f32",
        SET(std::uint32_t, record_at("layers.0.down_proj") + 48, 4u + 48 + 4096)}},
  };
  DocumentedRules rules("mog");
  for (const auto& [rule, damage] : rows) {
    std::string file = sample();
    damage.change(file);
    CAPTURE(damage.what);
    const auto read = read_mog(bytes_of(file));
    REQUIRE_FALSE(read);
    CHECK(read.error().offset.has_value());
    const auto defects = check_mog(bytes_of(file));
    bool named = false;
    for (const Error& defect : defects) {
      CHECK(defect.message.find('\n') == std::string::npos);
      if (named || defect.message.find(damage.what) == std::string::npos) continue;
      named = true;
      rules.met(rule, describe(defect));
    }
    if (!named) {
      for (const Error& defect : defects) UNSCOPED_INFO(describe(defect));
    }
    CHECK(named);
  }
  rules.met(
      "an 8-bit q is -128, which takes a pass over the file that a caller may skip for one that was checked "
      "before",
      describe(refused_minus_128()));
  rules.check_all_met();
}

TEST_CASE("what only a check finds: gaps that are not zero, values that are not finite", "[mog]") {
  const auto file = read_mog(bytes_of(sample()));
  REQUIRE(file);
  const auto find = [&](Role role, std::uint32_t layer) {
    for (const MlbArray& tensor : file->tensors) {
      if (tensor.role == role && tensor.layer == layer) return tensor;
    }
    return MlbArray();
  };
  const MlbArray norm = find(Role::final_norm, kNoLayer);
  const MlbArray up = find(Role::w3, 1);
  const MlbArray embed = find(Role::tok_emb, kNoLayer);
  const MlbArray down = find(Role::w2, 0);
  const std::vector<Damage> rows{
      {"padding byte is 1, must be 0",
       [&](std::string& f) { f[get<std::uint64_t>(f, 16) + get<std::uint64_t>(f, 24)] = 1; }},
      {"value of row 0, column 5 is infinite",
       [&](std::string& f) { put<std::uint16_t>(f, norm.offset + 10, 0x7c00); }},
      {"value of row 1, column 2 is NaN",
       [&](std::string& f) { put<std::uint16_t>(f, embed.offset + 2 * (embed.cols + 2), 0x7fc1); }},
      {"scale of row 17, column 32 is NaN",
       [&](std::string& f) { put<float>(f, up.scale_offset + 4 * ((up.cols / 32 + 1) * 16 + 1), NAN); }},
      {"scale of row 1, column 0 is infinite",
       [&](std::string& f) { put<std::uint16_t>(f, down.scale_offset + 2 * (down.cols / 64), 0x7c00); }},
  };
  for (const Damage& row : rows) {
    std::string bad = sample();
    row.change(bad);
    CAPTURE(row.what);
    CHECK(read_mog(bytes_of(bad)));
    const auto defects = check_mog(bytes_of(bad));
    REQUIRE(defects.size() == 1);
    CHECK(defects[0].message.find(row.what) != std::string::npos);
    CAPTURE(defects[0].message);
  }
}

TEST_CASE("a .mog that ends early is refused wherever it ends", "[mog]") {
  const std::string& whole = sample();
  for (std::size_t n = 0; n < whole.size(); n += n < 1200 ? 37 : 4099) {
    const std::string cut = whole.substr(0, n);
    const auto read = read_mog(bytes_of(cut));
    CAPTURE(n);
    REQUIRE_FALSE(read);
    CHECK_FALSE(check_mog(bytes_of(cut), 1).empty());
  }
  // The last padding may be there.
  std::string padded = whole;
  padded.resize((padded.size() + 63) / 64 * 64);
  CHECK(read_mog(bytes_of(padded)));
}

TEST_CASE("any byte changed gives a model or a message", "[mog]") {
  const auto payload = get<std::uint64_t>(sample(), 48);
  std::string file = sample();
  for (std::uint64_t at = 0; at < payload; at += at < 1500 ? 1 : 13) {
    const char before = file[at];
    file[at] = static_cast<char>(before ^ (1 << at % 8));
    const auto read = read_mog(bytes_of(file));
    if (!read) CHECK_FALSE(read.error().message.empty());
    file[at] = before;
  }
}
