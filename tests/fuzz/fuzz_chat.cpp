// A chat template, then, after a zero byte, messages as JSON.

#include "support.hpp"

#include <ml/chat.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

FUZZ_TARGET(chat) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = bytes.find('\0');
  const auto chat_template = ml::ChatTemplate::parse(bytes.substr(0, zero));
  if (!chat_template) return 0;
  const std::string_view messages =
      zero == std::string_view::npos
          ? R"([{"role": "system", "content": " a"}, {"role": "user", "content": "b\n"}])"
          : bytes.substr(zero + 1);
  const ml::ChatOptions options = {
      .special_tokens = {{"bos_token", "<s>"}, {"eos_token", "</s>"}},
      .variables = R"({"tools": [{"name": "f", "arguments": {"a": [1, 2.5, null]}}]})",
      .date = "2026-11-29"};
  (void)static_cast<bool>(chat_template->render_json(messages, options));
  return 0;
}
