#include "ml_eval/texts.hpp"

#include "common/standard_input.hpp"
#include "common/text.hpp"

#include <ml/hash.hpp>
#include <ml/input.hpp>
#include <ml/little_endian.hpp>

#include <algorithm>
#include <cstdlib>

namespace ml_eval {

namespace {

constexpr std::uint32_t kDefaultCtx = 512;

bool blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

class Reader {
 public:
  Reader(cli::Tool& tool, const Options& options, const ml::Tokenizer& tokenizer, std::uint32_t vocab,
         Plan& plan)
      : tool_(tool), options_(options), tokenizer_(tokenizer), vocab_(vocab), plan_(plan) {}

  void read(const std::string& path) {
    const std::string name = cli::input_name(path);
    const auto content = ml::read_text(path);
    if (!content) return tool_.fail(ml::with_path(content.error(), name));
    if (options_.split.empty()) return add(name, *content);
    std::size_t n_texts = 0;
    for (std::size_t begin = 0; begin <= content->size();) {
      const std::size_t end = std::min(content->find(options_.split, begin), content->size());
      const std::string_view text(content->data() + begin, end - begin);
      begin = end + options_.split.size();
      if (blank(text)) continue;
      add(fmt::format("{}, text {}", name, ++n_texts), text);
    }
    if (n_texts == 0) add(name, "");
  }

 private:
  void add(std::string name, std::string_view text) {
    std::vector<std::uint32_t> tokens = tokenizer_.encode(text, {.bos = plan_.bos.has_value()});
    const auto fail = [&](ml::Status status, std::string message) {
      tool_.fail({.status = status, .message = std::move(message), .path = name});
    };
    if (tokens.size() < 2) {
      return fail(ml::Status::arg,
                  fmt::format("the text has {}{}, must have 2 to score one",
                              cli::counted(tokens.size(), "token"), plan_.bos ? " with BOS" : ""));
    }
    const auto largest = std::max_element(tokens.begin(), tokens.end());
    if (*largest >= vocab_) {
      return fail(ml::Status::arg, fmt::format("token {} is {}, must be below the model's vocabulary of {}",
                                               largest - tokens.begin(), *largest, vocab_));
    }
    plan_.texts.push_back({std::move(name), std::move(tokens)});
  }

  cli::Tool& tool_;
  const Options& options_;
  const ml::Tokenizer& tokenizer_;
  std::uint32_t vocab_;
  Plan& plan_;
};

}  // namespace

bool unescape(std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      result += text[i];
      continue;
    }
    const char next = i + 1 < text.size() ? text[++i] : '\0';
    if (next != 'n' && next != 't' && next != '\\') return false;
    result += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
  }
  text = std::move(result);
  return true;
}

std::uint64_t Plan::n_windows(const Text& text) const {
  const std::uint64_t all = windows_of(text).size();
  return windows == 0 ? all : std::min(all, windows);
}

std::uint64_t Plan::n_scored() const {
  std::uint64_t sum = 0;
  for_each_window([&](const Text&, const ml::EvaluationWindow& window) {
    sum += window.n_inputs - window.first_scored;
    return true;
  });
  return sum;
}

std::uint64_t Plan::n_inputs() const {
  std::uint64_t sum = 0;
  for_each_window([&](const Text&, const ml::EvaluationWindow& window) {
    sum += window.n_inputs;
    return true;
  });
  return sum;
}

std::uint64_t Plan::hash_of(std::uint64_t index, std::uint64_t n) const {
  ml::Hasher hasher;
  const auto add = [&](std::uint64_t number) {
    hasher.update(ml::LittleEndian(std::span(&number, 1)).bytes());
  };
  for (const std::uint64_t number : {std::uint64_t(ctx), std::uint64_t(stride), windows, index, n,
                                     std::uint64_t(bos ? *bos : ml::kNoTop), std::uint64_t(texts.size())}) {
    add(number);
  }
  for (const Text& text : texts) {
    add(text.tokens.size());
    hasher.update(ml::LittleEndian(std::span(text.tokens)).bytes());
  }
  return std::strtoull(hasher.hex().substr(0, 16).c_str(), nullptr, 16);
}

Plan read_texts(cli::Tool& tool, const Options& options, const ml::Tokenizer& tokenizer, std::uint32_t vocab,
                std::uint32_t max_seq) {
  Plan plan;
  plan.ctx = options.ctx != 0 ? options.ctx : std::min(kDefaultCtx, max_seq);
  plan.stride = options.stride != 0 ? options.stride : plan.ctx;
  plan.windows = options.windows;
  plan.shard_index = options.shard_index;
  plan.n_shards = options.n_shards;
  const bool wanted = options.bos || (!options.no_bos && (tokenizer.flags() & ml::kMltBos) != 0);
  if (wanted && tokenizer.bos()) plan.bos = tokenizer.bos();
  if (options.bos && !plan.bos) {
    tool.fail({.status = ml::Status::arg, .message = "--bos is given, but the tokenizer has no BOS"});
    return plan;
  }
  if (plan.stride > plan.ctx) {
    tool.fail_usage(fmt::format("--stride is {}, must be at most the context of {}", plan.stride, plan.ctx));
    return plan;
  }
  Reader reader(tool, options, tokenizer, vocab, plan);
  if (options.texts.empty()) reader.read("-");
  for (const std::string& path : options.texts) reader.read(path);
  return plan;
}

}  // namespace ml_eval
