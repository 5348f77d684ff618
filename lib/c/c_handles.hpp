#pragma once

// What the handles of ml/ml.h hold. Each keeps alive what it needs, so their order of release is free.

#include <ml/ml.h>
#include <ml/model.hpp>
#include <ml/sampling.hpp>
#include <ml/session.hpp>
#include <ml/tokenizer.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

struct ml_model {
  std::shared_ptr<const ml::Model> model;
  std::vector<std::uint32_t> ends;
  std::string path;
};

struct ml_tokenizer {
  ml::Tokenizer tokenizer;
};

struct ml_decoder {
  ml::StreamDecoder decoder;
  std::string text;
};

struct ml_session {
  std::shared_ptr<const ml::Model> model;
  ml::Session session;
  std::span<const float> logits;
};

struct ml_sampler {
  ml::Sampler sampler;
};
