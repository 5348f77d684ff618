// generate MODEL [PROMPT]: continues a text by up to 40 tokens, through the C++ interface.
// c++ -std=c++20 generate.cpp $(pkg-config --cflags --libs libml); or CMake: CMakeLists.txt beside this file.

#include <ml/model.hpp>
#include <ml/session.hpp>
#include <ml/tokenizer.hpp>

#include <algorithm>
#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: generate MODEL [PROMPT]\n"), 2;
  const auto failed = [](const ml::Error& error) {
    std::fprintf(stderr, "generate: %s\n", ml::describe(error).c_str());
    return 1;
  };
  const auto model = ml::Model::open(argv[1]);
  if (!model) return failed(ml::with_path(model.error(), argv[1]));
  const auto tokenizer = ml::Tokenizer::open(ml::find_tokenizer(argv[1]));
  if (!tokenizer) return failed(tokenizer.error());
  auto session = ml::Session::create(*model);
  if (!session) return failed(session.error());
  ml::StreamDecoder decoder(*tokenizer);
  std::vector<std::uint32_t> ids = tokenizer->encode(argc > 2 ? argv[2] : "Once upon a time");
  decoder.push(ids);
  for (int i = 0; i < 40; ++i) {
    const auto logits = session->eval(ids);
    if (!logits) return failed(logits.error());
    ids = {static_cast<std::uint32_t>(std::max_element(logits->begin(), logits->end()) - logits->begin())};
    if (ids.front() == tokenizer->eos()) break;
    std::fputs(decoder.push(ids).c_str(), stdout);
  }
  std::puts(decoder.finish().c_str());
}
