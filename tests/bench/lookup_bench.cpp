// What prompt lookup gains where a text is summarized: lookup-bench MODEL TOKENIZER TEXT [ARTICLES]
//
// TEXT has the form of WikiText: " = Title = ", a lead, then sections from " = = Name = = " on. A lead sums
// its article up, and people wrote it, so here the sections are the prompt and the words of the lead are what
// the "model" says next. Guesses and passes are those of ml-run --lookup; only which token follows is given,
// so the weights need not be trained.

#include <ml/model.hpp>
#include <ml/session.hpp>
#include <ml/speculation.hpp>
#include <ml/tokenizer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kLongestPrompt = 2048;
constexpr std::size_t kShortestLead = 64;
constexpr std::size_t kLongestLead = 256;

struct Article {
  std::vector<std::uint32_t> prompt;
  std::vector<std::uint32_t> lead;
};

bool is_title(const std::string& line) { return line.starts_with(" = ") && !line.starts_with(" = = "); }

std::vector<Article> articles(std::istream& text, const ml::Tokenizer& tokenizer, std::size_t wanted) {
  std::vector<Article> found;
  std::string lead;
  std::string sections;
  const auto finish = [&] {
    Article article{tokenizer.encode(sections), tokenizer.encode(lead)};
    lead.clear();
    sections.clear();
    const bool fits = article.prompt.size() > article.lead.size() && article.prompt.size() <= kLongestPrompt;
    if (!fits || article.lead.size() < kShortestLead) return;
    if (article.lead.size() > kLongestLead) article.lead.resize(kLongestLead);
    found.push_back(std::move(article));
  };
  for (std::string line; found.size() < wanted && std::getline(text, line);) {
    if (is_title(line)) {
      finish();
    } else {
      const bool in_lead = sections.empty() && !line.starts_with(" = = ");
      (in_lead ? lead : sections) += line + '\n';
    }
  }
  return found;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Tally {
  std::uint32_t n_guesses;
  double seconds = 0;
  std::uint64_t n_tokens = 0;
  std::uint64_t n_passes = 0;
  std::uint64_t n_drafted = 0;
  std::uint64_t n_accepted = 0;
};

ml::Result<void> summarize(ml::Session& session, const Article& article, Tally& tally) {
  session.reset();
  if (const auto read = session.eval(article.prompt); !read) return read.error();
  ml::LookupDraft lookup;
  ml::SpeculativeDecoder decoder(session, lookup, std::max(1U, tally.n_guesses));
  const double start = now();
  for (const std::uint32_t& token : article.lead) {
    const auto logits = tally.n_guesses == 0 ? session.eval({&token, 1}) : decoder.eval(token);
    if (!logits) return logits.error();
  }
  tally.seconds += now() - start;
  tally.n_tokens += article.lead.size();
  tally.n_passes += tally.n_guesses == 0 ? article.lead.size() : decoder.n_passes();
  tally.n_drafted += decoder.n_drafted();
  tally.n_accepted += decoder.n_accepted();
  return {};
}

int complain(const std::string& text) {
  fmt::print(stderr, "lookup-bench: {}\n", text);
  return 1;
}

int bench(const std::string& model_path, const std::string& tokenizer_path, const std::string& text_path,
          std::size_t wanted) {
  const auto model = ml::Model::open(model_path);
  if (!model) return complain(ml::describe(model.error()));
  const auto tokenizer = ml::Tokenizer::open(tokenizer_path);
  if (!tokenizer) return complain(ml::describe(tokenizer.error()));
  if (tokenizer->n_vocab() > model->desc().vocab)
    return complain(fmt::format("{} has {} tokens, {} only {}", tokenizer_path, tokenizer->n_vocab(),
                                model_path, model->desc().vocab));
  std::ifstream text(text_path);
  const auto found = articles(text, *tokenizer, wanted);
  if (found.empty())
    return complain(text_path + ": no article with a lead and sections of a length that fits");
  auto session = ml::Session::create(*model, {.ctx = kLongestPrompt + kLongestLead});
  if (!session) return complain(ml::describe(session.error()));

  std::vector<Tally> tallies;
  for (const std::uint32_t n_guesses : {0U, 1U, 2U, 4U, 8U}) tallies.push_back({.n_guesses = n_guesses});
  // Turns article by article: a machine that changes its speed changes it for all.
  for (const Article& article : found)
    for (Tally& tally : tallies)
      if (const auto done = summarize(*session, article, tally); !done)
        return complain(ml::describe(done.error()));

  fmt::print("{} summaries\n{:>7} {:>8} {:>9} {:>14} {:>13}\n", found.size(), "guesses", "tok/s", "speed-up",
             "tokens a pass", "come true (%)");
  for (const Tally& tally : tallies) {
    const auto n_tokens = static_cast<double>(tally.n_tokens);
    const double come_true = static_cast<double>(tally.n_accepted) /
                             static_cast<double>(std::max<std::uint64_t>(1, tally.n_drafted));
    fmt::print("{:7} {:8.1f} {:9.2f} {:14.2f} {:13.0f}\n", tally.n_guesses, n_tokens / tally.seconds,
               tallies.front().seconds / tally.seconds, n_tokens / static_cast<double>(tally.n_passes),
               100 * come_true);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  std::size_t wanted = 10;
  if (args.size() == 4) {
    const auto [end, status] = std::from_chars(args[3].data(), args[3].data() + args[3].size(), wanted);
    if (status != std::errc() || *end != '\0' || wanted == 0)
      return complain("ARTICLES must be a number above 0");
  } else if (args.size() != 3) {
    return complain("usage: lookup-bench MODEL TOKENIZER TEXT [ARTICLES]");
  }
  return bench(args[0], args[1], args[2], wanted);
}
