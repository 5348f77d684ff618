#include "ml_run/jsonl.hpp"

#include "common/progress.hpp"
#include "common/standard_input.hpp"
#include "common/text.hpp"
#include "ml_run/answer.hpp"
#include "ml_run/request.hpp"
#include "ml_run/stop_text.hpp"

#include <ml/input.hpp>
#include <ml/multi_session.hpp>

#include <poll.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace cli {

namespace {

constexpr int kMostBlankLines = 256;  // passed over while jobs wait

/// Lines of standard input, for a reader that has other work: next() can refuse to wait for one.
class LineReader {
 public:
  /// Why the input ended, when it was not its end.
  const std::optional<ml::Error>& error() const { return error_; }

  /// @return a line; nothing at the end of the input, or when none is there after one read and `wait` is
  /// false
  std::optional<std::string> next(bool wait) {
    for (bool has_read = false;; has_read = true) {
      const std::size_t newline = buffer_.find('\n', searched_);
      if (newline != std::string::npos || (at_end_ && begin_ < buffer_.size())) {
        const std::size_t end = std::min(newline, buffer_.size());
        std::string line = buffer_.substr(begin_, end - begin_);
        begin_ = searched_ = std::min(end + 1, buffer_.size());
        return line;
      }
      searched_ = buffer_.size();
      if (at_end_) return std::nullopt;
      pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
      if (!wait && (has_read || ::poll(&input, 1, 0) == 0)) return std::nullopt;
      read_more();
    }
  }

 private:
  void read_more() {
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    char bytes[1 << 16];
    const auto n = input_.read(bytes);
    if (n) {
      buffer_.append(bytes, *n);
    } else {
      error_ = n.error();
    }
    at_end_ = !n || *n == 0;
  }

  ml::InputStream input_ = *ml::InputStream::open("-");  // which is open already
  std::optional<ml::Error> error_;
  std::string buffer_;
  std::size_t begin_ = 0;     // of the next line
  std::size_t searched_ = 0;  // up to here it has no newline
  bool at_end_ = false;
};

/// One request on its way to an answer.
struct Job {
  std::uint64_t line = 0;
  std::optional<ml::Error> error;
  Request request;
  std::uint32_t sequence = 0;
  std::vector<std::uint32_t> next;  // tokens to evaluate
  std::vector<std::uint32_t> ids;   // the answer
  std::string text;
  const char* finish = nullptr;  // set when it is done
  std::optional<ml::Sampler> sampler;
  std::optional<ml::StreamDecoder> decoder;
  std::optional<StopText> stop;
};

class Runner {
 public:
  Runner(Tool& tool, const RunOptions& options, const ml::Tokenizer& tokenizer,
         const std::vector<std::uint32_t>& ends, ml::MultiSession& session)
      : tool_(tool), options_(options), tokenizer_(tokenizer), ends_(ends), session_(session) {
    for (std::uint32_t i = session.n_sequences(); i > 0; --i) free_.push_back(i - 1);
  }

  void run() {
    // Where answers do not appear on the terminal themselves.
    std::optional<Progress> progress;
    if (::isatty(STDOUT_FILENO) == 0) progress.emplace(tool_, "answers", 0);
    while (admit(), !jobs_.empty()) {
      step();
      while (!jobs_.empty() && jobs_.front()->finish != nullptr) {
        print(*jobs_.front());
        jobs_.pop_front();
        if (progress) progress->advance(1);
      }
    }
    if (const auto& error = lines_.error())
      tool_.fail({.status = error->status,
                  .message = error->message,
                  .path = input_name("-"),
                  .os_errno = error->os_errno});
  }

 private:
  void admit();
  void start(Job& job, const std::string& line);
  void step();
  void take(Job& job, std::span<const float> logits);
  void finish(Job& job, const char* why);
  void print(const Job& job);

  Tool& tool_;
  const RunOptions& options_;
  const ml::Tokenizer& tokenizer_;
  const std::vector<std::uint32_t>& ends_;
  ml::MultiSession& session_;
  std::vector<std::uint32_t> free_;        // sequences without a job
  std::deque<std::unique_ptr<Job>> jobs_;  // in the order of the lines
  std::uint64_t n_lines_ = 0;
  LineReader lines_;
};

// Fills the free sequences with the next lines. Finished answers that wait for an earlier one hold the
// reading up, so that memory stays bounded.
void Runner::admit() {
  const std::size_t max_jobs = 4ull * session_.n_sequences();
  int n_blank = 0;
  while (!free_.empty() && jobs_.size() < max_jobs) {
    const auto line = lines_.next(jobs_.empty());
    if (!line) return;
    ++n_lines_;
    if (line->find_first_not_of(" \t\r") == std::string::npos) {
      if (!jobs_.empty() && ++n_blank == kMostBlankLines) return;
      continue;
    }
    jobs_.push_back(std::make_unique<Job>());
    jobs_.back()->line = n_lines_;
    start(*jobs_.back(), *line);
  }
}

void Runner::start(Job& job, const std::string& line) {
  auto request = parse_request(line, options_, tokenizer_);
  if (!request) {
    job.error = std::move(request.error());
    job.finish = "error";
    return;
  }
  job.request = std::move(*request);
  job.sequence = free_.back();
  session_.reset(job.sequence);
  if (auto fits = session_.check({job.sequence, job.request.tokens}); !fits) {
    job.error = std::move(fits.error());
    job.finish = "error";
    return;
  }
  free_.pop_back();
  job.next = job.request.tokens;
  job.sampler.emplace(*ml::Sampler::create(job.request.sampling));
  for (const std::uint32_t token : job.next) job.sampler->accept(token);
  job.decoder.emplace(tokenizer_);
  const bool after_bos = tokenizer_.bos() == job.next.front();
  job.decoder->push(std::span(job.next).subspan(after_bos ? 1 : 0));
  job.stop.emplace(job.request.stops);
  if (job.request.n == 0) finish(job, "length");
}

void Runner::step() {
  std::vector<ml::MultiSession::Input> inputs;
  std::vector<Job*> waiting;
  for (const auto& job : jobs_) {
    if (job->finish != nullptr) continue;
    inputs.push_back({job->sequence, job->next});
    waiting.push_back(job.get());
  }
  if (inputs.empty()) return;
  const auto logits = session_.eval(inputs);
  if (!logits) {  // every input was checked when its job started and after each step
    for (Job* job : waiting) {
      job->error = logits.error();
      finish(*job, "error");
    }
    return;
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) take(*waiting[i], (*logits)[i]);
}

void Runner::take(Job& job, std::span<const float> logits) {
  if (!std::all_of(logits.begin(), logits.end(), [](float logit) { return std::isfinite(logit); })) {
    job.error = ml::Error{.status = ml::Status::format,
                          .message = "a logit is not finite: the weights are not sound (mlb-info --check)"};
    return finish(job, "error");
  }
  const std::uint32_t token = job.sampler->sample(logits);
  if (std::find(ends_.begin(), ends_.end(), token) != ends_.end()) return finish(job, "end");
  job.sampler->accept(token);
  job.ids.push_back(token);
  job.text += job.stop->push(job.decoder->push({&token, 1}));
  if (job.stop->stopped()) return finish(job, "stop");
  if (job.ids.size() == job.request.n) return finish(job, "length");
  if (session_.position(job.sequence) == session_.ctx()) return finish(job, "context");
  job.next = {token};
}

void Runner::finish(Job& job, const char* why) {
  job.finish = why;
  if (job.decoder) job.text += job.stop->push(job.decoder->finish()) + job.stop->finish();
  free_.push_back(job.sequence);
}

void Runner::print(const Job& job) {
  if (job.error) {
    tool_.print(json_line(nlohmann::ordered_json{{"error", ml::describe(*job.error)}}));
    ml::Error error = *job.error;
    error.message = fmt::format("line {}: {}", job.line, error.message);
    tool_.fail(error);
  } else {
    tool_.print(answer_line(&job.text, options_.ids ? &job.ids : nullptr, job.request.tokens.size(),
                            job.ids.size(), job.finish));
  }
  tool_.flush();
}

}  // namespace

void run_jsonl(Tool& tool, const RunOptions& options, const ml::Model& model, const ml::Tokenizer& tokenizer,
               const std::vector<std::uint32_t>& ends) {
  auto created = ml::MultiSession::create(model, session_options(tool, options), options.parallel);
  if (!created) return tool.fail(ml::with_path(created.error(), options.model));
  Runner(tool, options, tokenizer, ends, *created).run();
}

}  // namespace cli
