#include "util/temporary_file.hpp"

#include <ml/output.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

namespace ml {

namespace temporaries {

namespace {

enum class State : int { free, filling, active };

// Fixed storage, because a signal handler may look at it at any moment.
struct Slot {
  std::atomic<State> state{State::free};
  int folder_fd = -1;
  std::array<char, 2 * (NAME_MAX + 1)> name{};  // a file of a folder of its own has two parts
};
static_assert(std::atomic<State>::is_always_lock_free);

std::array<Slot, kMax> slots;

}  // namespace

int add(int folder_fd, const std::string& name) {
  if (name.size() >= Slot().name.size()) return -1;
  for (int i = 0; i < kMax; ++i) {
    Slot& slot = slots[static_cast<std::size_t>(i)];
    State expected = State::free;
    if (!slot.state.compare_exchange_strong(expected, State::filling, std::memory_order_acq_rel)) continue;
    slot.folder_fd = folder_fd;
    std::memcpy(slot.name.data(), name.c_str(), name.size() + 1);
    slot.state.store(State::active, std::memory_order_release);
    return i;
  }
  return -1;
}

void drop(int slot) {
  if (slot < 0) return;
  slots[static_cast<std::size_t>(slot)].state.store(State::free, std::memory_order_release);
}

}  // namespace temporaries

void remove_temporaries() noexcept {
  const int saved_errno = errno;
  for (temporaries::Slot& slot : temporaries::slots) {
    if (slot.state.load(std::memory_order_acquire) == temporaries::State::active) {
      ::unlinkat(slot.folder_fd, slot.name.data(), 0);
    }
  }
  for (temporaries::Slot& slot : temporaries::slots) {  // folders, now that they are empty
    if (slot.state.load(std::memory_order_acquire) == temporaries::State::active) {
      ::unlinkat(slot.folder_fd, slot.name.data(), AT_REMOVEDIR);
    }
  }
  errno = saved_errno;
}

}  // namespace ml
