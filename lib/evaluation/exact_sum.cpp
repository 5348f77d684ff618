#include <ml/evaluation.hpp>

#include <algorithm>
#include <cmath>

namespace ml {

namespace {

constexpr int kLowest = -192;  // exponent of the lowest bit
constexpr double kLargest = 0x1p150;
constexpr std::int64_t kLimbMask = 0xffffffff;
constexpr std::int64_t kHighestLimb = 0xfffffff;  // with all others 95 hexadecimal digits
constexpr std::uint32_t kMaxWaiting = 1u << 30;   // a limb has room for 2^31 additions of 32 bits

}  // namespace

void ExactSum::add(double x) {
  int exponent = 0;
  const double fraction = std::frexp(std::min(std::fabs(x), kLargest), &exponent);
  auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  int shift = exponent - 53 - kLowest;
  if (shift < 0) {
    mantissa = shift > -64 ? mantissa >> -shift : 0;
    shift = 0;
  }
  const std::size_t limb = static_cast<std::size_t>(shift) / 32;
  const int within = shift % 32;
  const std::int64_t sign = std::signbit(x) ? -1 : 1;
  const auto low = static_cast<std::int64_t>((mantissa << within) & kLimbMask);
  const auto middle = static_cast<std::int64_t>((mantissa >> (32 - within)) & kLimbMask);
  const auto high = static_cast<std::int64_t>(within == 0 ? 0 : mantissa >> (64 - within));
  limbs_[limb] += sign * low;
  limbs_[limb + 1] += sign * middle;
  if (limb + 2 < kLimbs) limbs_[limb + 2] += sign * high;
  if (++n_waiting_ == kMaxWaiting) carry();
}

void ExactSum::add(const ExactSum& other) {
  ExactSum carried = other;
  carried.carry();
  carry();
  for (std::size_t i = 0; i < kLimbs; ++i) limbs_[i] += carried.limbs_[i];
  carry();
}

// Afterwards every limb but the highest is in [0, 2^32); that one has the sign.
void ExactSum::carry() {
  std::int64_t over = 0;
  for (std::size_t i = 0; i + 1 < kLimbs; ++i) {
    const std::int64_t sum = limbs_[i] + over;
    limbs_[i] = sum & kLimbMask;
    over = sum >> 32;
  }
  limbs_.back() += over;
  n_waiting_ = 0;
}

ExactSum ExactSum::magnitude(bool& negative) const {
  ExactSum result = *this;
  result.carry();
  negative = result.limbs_.back() < 0;
  if (negative) {
    for (std::int64_t& limb : result.limbs_) limb = -limb;
    result.carry();
  }
  return result;
}

bool ExactSum::fits() const {
  bool negative = false;
  return magnitude(negative).limbs_.back() <= kHighestLimb;
}

double ExactSum::value() const {
  bool negative = false;
  const ExactSum absolute = magnitude(negative);
  double sum = 0;
  for (std::size_t i = kLimbs; i-- > 0;)
    sum += std::ldexp(static_cast<double>(absolute.limbs_[i]), static_cast<int>(32 * i) + kLowest);
  return negative ? -sum : sum;
}

std::string ExactSum::text() const {
  bool negative = false;
  const ExactSum absolute = magnitude(negative);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (std::size_t i = kLimbs; i-- > 0;) {
    const int highest = i + 1 == kLimbs ? 60 : 28;  // the last limb holds what is over, too
    for (int shift = highest; shift >= 0; shift -= 4) digits += kDigits[(absolute.limbs_[i] >> shift) & 15];
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return negative ? "-" + digits : digits;
}

Result<ExactSum> ExactSum::parse(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative ? 1 : 0);
  // The highest limb keeps its sign bit and room for a carry.
  const bool fits = !digits.empty() && digits.size() < kLimbs * 8;
  if (!fits || digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return Error{.status = Status::format, .message = "a sum is no hexadecimal number of at most 95 digits"};
  }
  ExactSum sum;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const char digit = digits[digits.size() - 1 - i];
    const std::int64_t value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    sum.limbs_[i / 8] |= value << (4 * (i % 8));
  }
  if (negative) {
    for (std::int64_t& limb : sum.limbs_) limb = -limb;
    sum.carry();
  }
  return sum;
}

}  // namespace ml
