#include "parallel_group.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <new>
#include <thread>

#include "error.h"

namespace tvm {
namespace runtime {
namespace {

constexpr uint64_t kOneArrived = uint64_t{1} << 32;
constexpr uint64_t kLauncherSleeps = uint64_t{1} << 31;
constexpr uint64_t kUnfinishedMask = kLauncherSleeps - 1;

uint64_t Unfinished(uint64_t counts) { return counts & kUnfinishedMask; }
uint64_t Arrived(uint64_t counts) { return counts >> 32; }

__thread bool inside_task __attribute__((tls_model("initial-exec"))) = false;
// A barrier has told the running task that another one failed.
__thread bool told_of_failure __attribute__((tls_model("initial-exec"))) = false;

std::atomic<uint32_t> fork_count{0};

// The lambda is C, but may be compiled from C++ that throws.
int Call(FTVMParallelLambda lambda, int task, TVMParallelGroupEnv* env, void* closure) noexcept {
  return Guarded([&] { return lambda(task, env, closure); });
}

void EnsureError(int task, int num_tasks, int code) {
  const char *kind, *message, *traceback;
  if (TVMErrorGet(&kind, &message, &traceback) != 0) {  // there is none
    Fail("TVMError", "task %d of %d of a parallel launch returned %d and set no error", task,
         num_tasks, code);
  }
}

}  // namespace

ParallelGroup::ParallelGroup(FTVMParallelLambda lambda, void* closure, int num_tasks,
                             int spin_checks)
    : first_task_{lambda, closure, {this, num_tasks}, 0, false},
      spin_checks_(spin_checks),
      fork_count_(fork_count.load(std::memory_order_relaxed)),
      counts_(static_cast<uint64_t>(num_tasks)),
      next_(1) {}

bool ParallelGroup::Inside() { return inside_task; }
void ParallelGroup::MarkInside() { inside_task = true; }
void ParallelGroup::NoteFork() { fork_count.fetch_add(1, std::memory_order_relaxed); }
bool ParallelGroup::Forked() const {
  return fork_count_ != fork_count.load(std::memory_order_relaxed);
}

const uint32_t* ParallelGroup::UnfinishedWord() const {
  auto* halves = reinterpret_cast<const uint32_t*>(&counts_);
  return halves + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1 : 0);
}

ParallelTask ParallelGroup::OpenTasksFrom(int task) {
  next_.store(task, std::memory_order_relaxed);
  first_task_.more = task < num_tasks();
  return first_task_;
}

int ParallelGroup::TakeTask() {
  if (next_.load(std::memory_order_relaxed) >= num_tasks()) return -1;
  int task = next_.fetch_add(1, std::memory_order_relaxed);
  return task < num_tasks() ? task : -1;
}

void ParallelTask::Run() {
  bool was_inside = inside_task, was_told = told_of_failure;
  inside_task = true;
  told_of_failure = false;
  int code = Call(lambda, index, &env, closure);
  if (code != 0) {
    EnsureError(index, env.num_task, code);
    group()->KeepFailure(index, told_of_failure);
  }
  inside_task = was_inside;
  told_of_failure = was_told;
}

int ParallelGroup::RunAlone(FTVMParallelLambda lambda, void* closure) {
  TVMParallelGroupEnv env{nullptr, 1};
  int code = Call(lambda, 0, &env, closure);
  if (code == 0) return 0;
  EnsureError(0, 1, code);
  return -1;
}

// Errors are chosen and dropped by the launcher alone: a dropped one may hold an object of a
// language whose lock the launcher's caller has.
void ParallelGroup::KeepFailure(int task, bool follows) {
  failed_.store(true, std::memory_order_relaxed);  // seen by all that see the task finish
  auto* failure = new (std::nothrow) Failure{task, follows, nullptr, nullptr};
  if (failure == nullptr) return;
  failure->error = TVMErrorTake();
  failure->next = failures_.load(std::memory_order_relaxed);
  while (!failures_.compare_exchange_weak(failure->next, failure, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
}

int ParallelGroup::TakeResult() {
  if (!failed_.load(std::memory_order_relaxed)) return 0;
  Failure* all = failures_.exchange(nullptr, std::memory_order_acquire);
  Failure* first = all;
  for (Failure* f = all; f != nullptr; f = f->next) {
    bool earlier = f->follows != first->follows ? first->follows : f->task < first->task;
    if (earlier) first = f;
  }
  void* error = first == nullptr ? nullptr : first->error;
  while (all != nullptr) {
    Failure* next = all->next;
    if (all != first && all->error != nullptr) {
      TVMErrorRestore(all->error);
      TVMErrorClear();
    }
    delete all;
    all = next;
  }
  if (error == nullptr)
    return Fail("MemoryError", "a parallel task failed; no memory for its error");
  TVMErrorRestore(error);
  return -1;
}

void ParallelGroup::EndPhase(uint64_t arrived) {
  // Whoever has not ended waits for the new phase, so that nobody changes the counts meanwhile.
  counts_.fetch_sub(arrived * kOneArrived, std::memory_order_relaxed);
  const uint32_t* word = FutexWord(phase_);
  phase_.fetch_add(1, std::memory_order_release);
  FutexWake(word);
}

void ParallelGroup::Finish() {
  const uint32_t* word = UnfinishedWord();
  uint64_t old = counts_.fetch_sub(1, std::memory_order_acq_rel);
  uint64_t left = Unfinished(old) - 1;
  if (left == 0) {
    if ((old & kLauncherSleeps) != 0) FutexWake(word);
  } else if (Arrived(old) == left) {
    EndPhase(left);
  }
}

bool ParallelGroup::LookForEnd(int checks) const {
  for (int i = 0;; ++i) {
    if (Unfinished(counts_.load(std::memory_order_acquire)) == 0) return true;
    if (i >= checks) return false;
    CpuRelax();
  }
}

void ParallelGroup::WaitForEnd() {
  if (LookForEnd(0)) return;
  if (Forked()) {
    // The threads that had the other tasks are the parent's.
    failed_.store(true, std::memory_order_relaxed);
    Fail("TVMError", "the process was forked inside a task: the child cannot finish the launch");
    KeepFailure(-1, false);
    return;
  }
  if (LookForEnd(spin_checks_)) return;
  uint64_t now = counts_.fetch_or(kLauncherSleeps, std::memory_order_acquire) | kLauncherSleeps;
  while (Unfinished(now) != 0) {
    FutexWait(UnfinishedWord(), static_cast<uint32_t>(now));
    now = counts_.load(std::memory_order_acquire);
  }
}

// A barrier was met, so all tasks have to be alive now.
void ParallelGroup::StartOpenTasks() {
  if (next_.load(std::memory_order_relaxed) >= num_tasks()) return;
  int first = next_.exchange(num_tasks(), std::memory_order_relaxed);
  if (first >= num_tasks()) return;
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  for (int task = first; task < num_tasks(); ++task) {
    try {
      std::thread([this, task] {
        ParallelTask copy = first_task_;
        copy.index = task;
        copy.more = false;
        copy.Run();
        Finish();
      }).detach();
    } catch (const std::exception& e) {
      Fail("RuntimeError",
           "a barrier needs all %d tasks of the launch alive at once, and there is no thread for "
           "task %d: %s",
           num_tasks(), task, e.what());
      KeepFailure(task, false);
      Finish();
    }
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

int ParallelGroup::Barrier() {
  if (Forked()) {
    return Fail("TVMError",
                "the process was forked inside a task: the child's barrier has lost the "
                "other tasks");
  }
  StartOpenTasks();
  uint32_t phase = phase_.load(std::memory_order_relaxed);
  uint64_t now = counts_.fetch_add(kOneArrived, std::memory_order_acq_rel) + kOneArrived;
  if (Arrived(now) == Unfinished(now)) {
    EndPhase(Arrived(now));
  } else {
    for (int i = 0; i < spin_checks_ && phase_.load(std::memory_order_acquire) == phase; ++i) {
      CpuRelax();
    }
    while (phase_.load(std::memory_order_acquire) == phase) FutexWait(FutexWord(phase_), phase);
  }
  if (!failed_.load(std::memory_order_relaxed)) return 0;
  told_of_failure = true;
  return Fail("TVMError", "another task of this parallel launch failed before the barrier");
}

}  // namespace runtime
}  // namespace tvm
