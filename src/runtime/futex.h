/*
 * Sleeping on a 32-bit word until somebody changes it. Linux only, like everything that sleeps
 * here.
 */
#ifndef TVM_SRC_RUNTIME_FUTEX_H_
#define TVM_SRC_RUNTIME_FUTEX_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace tvm {
namespace runtime {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "a futex is a plain word");

/* Returns when woken, when *word is not `expected`, or for no reason: callers look again. */
inline void FutexWait(const uint32_t* word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

/* Only the address counts, so that the word may already be gone. */
inline void FutexWake(const uint32_t* word, int count = INT_MAX) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

inline const uint32_t* FutexWord(const std::atomic<uint32_t>& word) {
  return reinterpret_cast<const uint32_t*>(&word);
}

/* Tells the core that this is a waiting loop (and lets a sibling hyper-thread run). */
inline void CpuRelax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("isb" ::: "memory");
#else
  __asm__ __volatile__("" ::: "memory");
#endif
}

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_FUTEX_H_
