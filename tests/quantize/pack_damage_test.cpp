// A packed folder with one defect of each kind: refused with one message that names it.

#include "catch.hpp"
#include "data.hpp"
#include "folder.hpp"
#include "formats/shards.hpp"
#include "patched.hpp"

#include <ml/inspect.hpp>
#include <ml/seed_pack.hpp>

#include <cstring>
#include <functional>

using namespace ml;

namespace {

using nlohmann::ordered_json;

// The one shard of a packed folder, opened up. Headers are JSON text, so that they may be what no writer
// makes.
struct Shard1 {
  ordered_json header;
  std::string text = {};  // in place of `header`
  std::string data;

  static Shard1 read(const std::string& path) {
    const std::string bytes = read_file(path);
    const auto length = load_le<std::uint64_t>(bytes.data());
    return {.header = ordered_json::parse(bytes.substr(8, length)), .data = bytes.substr(8 + length)};
  }
  std::string bytes() const {
    const std::string json = text.empty() ? header.dump() : text;
    return patched(std::string(8, '\0'), 0, std::uint64_t(json.size())) + json + data;
  }
  ordered_json& entry(const std::string& name) { return header.at(name); }
  std::uint64_t begin(const std::string& name) { return entry(name)["data_offsets"][0]; }
};

constexpr const char* kIndex = "packed/model.safetensors.index.json";
constexpr const char* kShard = "model-00001-of-00001.safetensors";

class PackedFolder {
 public:
  explicit PackedFolder(Encoding encoding) {
    TinyCheckpoint().write(source_);
    REQUIRE(pack_model(source_.path(), path(), {.encoding = encoding, .threads = 1}));
  }

  std::string path() const { return target_.file("packed"); }
  std::string shard() const { return path() + "/" + kShard; }

  // What opening says after a change, the folder left out; mlb-info must find a defect as well.
  std::string outcome(const std::function<void(Shard1&)>& change) const {
    Shard1 shard1 = Shard1::read(shard());
    const std::string sound = read_file(shard());
    change(shard1);
    target_.write(std::string("packed/") + kShard, shard1.bytes());
    const std::string message = defect();
    target_.write(std::string("packed/") + kShard, sound);
    return message;
  }

  std::string defect() const {
    const auto model = Model::open(path());
    if (model) return "";
    const auto report = inspect(path(), {.check = true, .threads = 1});
    CHECK((!report || !report->defects.empty()));
    std::string text = describe(model.error());
    for (auto at = text.find(path()); at != text.npos; at = text.find(path()))
      text.replace(at, path().size(), "DIR");
    return text;
  }

  const TempFolder& target() const { return target_; }

 private:
  TempFolder source_;
  TempFolder target_;
};

const std::string kName = "model.layers.0.self_attn.q_proj";
const std::string kWhere = std::string("DIR/") + kShard + ": ";

}  // namespace

TEST_CASE("a damaged seed tensor of a folder is refused by name", "[seedlm]") {
  const PackedFolder folder(Encoding::seed4p4);
  folder.target().remove(kIndex);  // it would name what is missing first
  REQUIRE(folder.defect() == "");
  CHECK(folder.outcome([](Shard1& s) { s.entry(kName + ".coefs")["dtype"] = "I16"; }) ==
        kWhere + "dtype is I16, must be U16 (ML_E_FORMAT, tensor " + kName + ".coefs)");
  CHECK(folder.outcome([](Shard1& s) {
    s.entry(kName + ".codes")["dtype"] = "U16";
    s.entry(kName + ".codes")["shape"] = {1, 64, 2};
  }) == kWhere + "dtype is U16, must be U8 (ML_E_FORMAT, tensor " + kName + ".codes)");
  CHECK(folder.outcome([](Shard1& s) {
    s.entry(kName + ".seeds")["shape"] = {1, 32, 16};
    s.entry(kName + ".exp_bias")["dtype"] = "F32";
  }) == kWhere + "dtype is F32, must be I32 (ML_E_FORMAT, tensor " + kName + ".exp_bias)");
  for (const std::string part : {".coefs", ".exp_bias"}) {
    CHECK(folder.outcome([&](Shard1& s) {
      s.header["other" + part] = s.entry(kName + part);
      s.header.erase(kName + part);
    }) == kWhere + kName + part + " is missing (ML_E_FORMAT, tensor " + kName + ".seeds)");
  }
  // Fewer seeds than the other parts say.
  CHECK(folder.outcome([](Shard1& s) {
    const std::uint64_t begin = s.begin(kName + ".seeds");
    s.entry(kName + ".seeds")["shape"] = {1, 32, 8};
    s.entry(kName + ".seeds")["data_offsets"] = {begin, begin + 512};
    s.header["rest"] = {{"dtype", "U16"}, {"shape", {256}}, {"data_offsets", {begin + 512, begin + 1024}}};
  }) == kWhere + "holds 1024 bytes, " + kName + ".seeds of shape [1, 32, 8] needs 512 (ML_E_FORMAT, tensor " +
            kName + ".coefs)");
}

TEST_CASE("a damaged affine tensor of a folder is refused by name", "[seedlm]") {
  const PackedFolder folder(Encoding::q4g64);
  folder.target().remove(kIndex);
  REQUIRE(folder.defect() == "");
  CHECK(folder.outcome([](Shard1& s) { s.entry(kName + ".scales")["dtype"] = "F16"; }) ==
        kWhere + "dtype is F16, must be BF16 (ML_E_FORMAT, tensor " + kName + ".scales)");
  CHECK(folder.outcome([](Shard1& s) {
    s.header["other.biases"] = s.entry(kName + ".biases");
    s.header.erase(kName + ".biases");
  }) == kWhere + kName + ".biases is missing (ML_E_FORMAT, tensor " + kName + ".scales)");
  for (const std::string part : {".scales", ".biases"}) {
    for (const std::string& value :
         {std::string("\xc0\x7f", 2), std::string("\x80\xff", 2)}) {  // NaN, -infinity
      std::uint64_t at = 0;
      const std::string message = folder.outcome([&](Shard1& s) {
        at = s.begin(kName + part) + 6;
        s.data.replace(at, 2, value);
        at += 8 + s.header.dump().size();
      });
      CHECK(message == kWhere + "element 3 is not finite (ML_E_FORMAT, tensor " + kName + part + ", offset " +
                           std::to_string(at) + ")");
    }
  }
}

TEST_CASE("a damaged shard is refused by name", "[seedlm]") {
  const PackedFolder folder(Encoding::q8g64);
  const std::string norm = "model.norm.weight";
  CHECK(folder
            .outcome([&](Shard1& s) {
              const std::uint64_t begin = s.begin(norm);
              s.entry(norm)["data_offsets"] = {begin - 2, begin + 126};
            })
            .find("data overlaps that of ") != std::string::npos);
  CHECK(folder
            .outcome([&](Shard1& s) {
              const std::uint64_t n = s.data.size();
              s.entry(norm)["data_offsets"] = {n, n + 128};
            })
            .find("(ML_E_FORMAT") != std::string::npos);
  CHECK(
      folder.outcome([&](Shard1& s) { s.data.resize(s.data.size() - 1); }).find("bytes, the tensor needs ") !=
      std::string::npos);
  CHECK(folder.outcome([&](Shard1& s) {
    s.text = s.header.dump();
    s.text.insert(1, "\"" + norm + "\":" + s.entry(norm).dump() + ",");
  }) == kWhere + "header: JSON key \"" + norm + "\" is there twice (ML_E_FORMAT, offset 8)");
  const std::string name = std::string(90, 'n') + ".weight";
  CHECK(folder.outcome([&](Shard1& s) {
    const std::uint64_t n = s.data.size();
    s.header[name] = {{"dtype", "BF16"}, {"shape", {1}}, {"data_offsets", {n, n + 2}}};
    s.data += "\x01\x01";
  }) == kWhere + "name has 97 bytes, at most 95 are allowed (ML_E_LIMIT, tensor " + std::string(77, 'n') +
            "...)");
}

TEST_CASE("a header of a gigabyte and a missing shard are refused by name", "[seedlm]") {
  const PackedFolder folder(Encoding::bf16);
  const std::string sound = read_file(folder.shard());
  const std::uint64_t length = 1000000000;
  const std::string shard = std::string("packed/") + kShard;
  folder.target().write(shard, patched(std::string(8, '\0'), 0, length) + "{");
  std::filesystem::resize_file(folder.shard(), length + 8);  // zeros that take no room
  CHECK(folder.defect() ==
        kWhere + "header length is 1000000000, at most 100000000 are allowed (ML_E_LIMIT, offset 0)");
  std::filesystem::resize_file(folder.shard(), 100);
  CHECK(folder.defect() ==
        kWhere + "header length is 1000000000, but only 92 bytes follow (ML_E_FORMAT, offset 0)");
  std::filesystem::remove(folder.shard());
  CHECK(folder.defect() == kWhere + "cannot open: No such file or directory (ML_E_IO)");
  folder.target().write(shard, sound);
  CHECK(folder.defect() == "");
}
