#pragma once

#include "mlt_encode/options.hpp"

#include <ml/tokenizer.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mlt_encode {

/// What became of some texts: the answer, and what is wrong with those that have none.
struct Outcome {
  std::string answer = {};
  std::uint64_t n_bytes = 0;  ///< of the texts
  std::vector<ml::Error> errors = {};
};

/// Turns texts into ids, or ids into texts, as the options say. Constant: threads share it.
class Transcoder {
 public:
  Transcoder(const ml::Tokenizer& tokenizer, const Options& options, ml::Target target)
      : tokenizer_(tokenizer), options_(options), target_(target) {}

  /// @param name    of the file, for messages
  /// @param offset  of the text in its file
  void text(std::string_view text, const std::string& name, std::uint64_t offset, Outcome& outcome) const;
  /// Each line is a text.
  void lines(std::string_view text, const std::string& name, std::uint64_t offset, Outcome& outcome) const;

 private:
  ml::Result<void> encode(std::string_view text, std::string& out) const;
  ml::Result<void> decode(std::string_view text, std::string& out) const;

  const ml::Tokenizer& tokenizer_;
  const Options& options_;
  ml::Target target_;
};

/// An error in a file of this name.
ml::Error in_file(ml::Error error, const std::string& name);

}  // namespace mlt_encode
