#include "thread_pool.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <tvm/runtime/c_backend_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "cpu_count.h"
#include "error.h"
#include "fork.h"
#include "futex.h"
#include "parallel_group.h"

namespace tvm {
namespace runtime {
namespace {

// What a worker's mailbox says. The launcher that owns the worker posts (kIdle or kAsleep ->
// kPosted), the worker begins (kPosted -> kBusy) and is done (-> kIdle); a launcher that would have
// to wait for a worker that has not begun takes the task back (kPosted -> kIdle).
enum MailState : uint32_t { kIdle, kAsleep, kPosted, kBusy };

// Each part has two cache lines, because neighbouring lines are fetched in pairs. A launch that
// meets a worker that is awake moves the mailbox there and the group's counts back, and nothing
// else.
struct Worker {
  // 1 from the beginning to the end of the launch that has this worker.
  alignas(128) std::atomic<uint32_t> taken{0};
  alignas(128) std::atomic<uint32_t> state{kIdle};
  std::atomic<int32_t> cpu{-1};    // where it became idle, or is pinned
  std::atomic<int32_t> thread{0};  // the system's number of the thread, 0 before it runs
  std::atomic<uint32_t> moved{0};  // a launcher has forbidden it a CPU
  ParallelTask task;
};
static_assert(sizeof(Worker) == 256, "the mailbox is one line");

constexpr int kMaxWorkers = 1023;
constexpr std::chrono::microseconds kSpinTime{100};
// How many checks a launcher leaves a worker that is awake before it takes the task back.
constexpr int kGraceChecks = 64;

struct ThreadPool {
  int num_workers = 0;
  Worker* workers = nullptr;
  int spin_checks = 0;  // how often an idle worker looks before it goes to sleep
  std::vector<int> cpus;
  bool pin = false;
  ThreadPool* before_fork = nullptr;  // keeps what the parent allocated reachable
};

std::atomic<ThreadPool*> pool{nullptr};
ThreadPool* pool_before_fork = nullptr;
std::atomic<int> num_threads{0};
std::mutex start_mutex;

// A pause takes between 10 and 150 cycles, depending on the model.
int ChecksIn(std::chrono::nanoseconds duration) {
  constexpr int kPauses = 100;
  auto shortest = std::chrono::nanoseconds::max();
  for (int round = 0; round < 4; ++round) {  // the shortest: the others may have been interrupted
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kPauses; ++i) CpuRelax();
    shortest =
        std::min<std::chrono::nanoseconds>(shortest, std::chrono::steady_clock::now() - begin);
  }
  return static_cast<int>(duration.count() * kPauses / std::max<int64_t>(shortest.count(), 1));
}

int SpinChecks(int num_threads, int num_cpus) {
  if (const char* text = getenv("TVM_THREAD_POOL_SPIN_COUNT")) {
    char* end = nullptr;
    long checks = strtol(text, &end, 10);
    if (end != text && *end == '\0' && checks >= 0) {
      return static_cast<int>(std::min<long>(checks, INT32_MAX));
    }
  }
  // Threads that share a CPU would keep each other from working.
  if (num_threads > num_cpus) return 0;
  return ChecksIn(kSpinTime);
}

// Waits until a task is in the mailbox: looks for a while, then sleeps.
void WaitForPost(Worker* self, int spin_checks) {
  int left = spin_checks;
  for (;;) {
    uint32_t state = self->state.load(std::memory_order_acquire);
    if (state == kPosted) return;
    if (state == kAsleep) {
      FutexWait(FutexWord(self->state), kAsleep);
    } else if (state == kIdle && left-- <= 0) {
      self->state.compare_exchange_strong(state, kAsleep, std::memory_order_relaxed);
    } else {
      CpuRelax();
    }
  }
}

void WorkerMain(ThreadPool* home, int index) {
  Worker* self = &home->workers[index];
  ParallelGroup::MarkInside();
  pthread_setname_np(pthread_self(), "tvm-worker");
  // A new thread inherits the mask of its maker, which may be pinned to one CPU.
  SetThreadCpus(0, home->cpus, -1);
  if (home->pin && !home->cpus.empty()) {
    int cpu = home->cpus[index % home->cpus.size()];
    if (SetThreadCpus(0, {cpu}, -1)) self->cpu.store(cpu, std::memory_order_relaxed);
  }
  self->thread.store(static_cast<int>(syscall(SYS_gettid)), std::memory_order_relaxed);
  for (;;) {
    WaitForPost(self, home->spin_checks);
    uint32_t state = kPosted;
    if (!self->state.compare_exchange_strong(state, kBusy, std::memory_order_acquire)) continue;
    ParallelTask task = self->task;
    for (;;) {
      task.Run();
      int next = task.more ? task.group()->TakeTask() : -1;
      if (next < 0) break;
      task.group()->Finish();
      task.index = next;
    }
    if (!home->pin) self->cpu.store(sched_getcpu(), std::memory_order_relaxed);
    // Free before finished: the caller's next launch, which may come at once, finds us.
    self->state.store(kIdle, std::memory_order_release);
    task.group()->Finish();
    if (self->moved.load(std::memory_order_relaxed) != 0) {
      self->moved.store(0, std::memory_order_relaxed);
      SetThreadCpus(0, home->cpus, -1);
    }
    // Forked inside the task: we are the child's only thread, and the pool is the parent's.
    if (home != pool.load(std::memory_order_relaxed)) return;
  }
}

// Threads of this library must not lose their code to dlclose.
void KeepLibraryLoaded() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&KeepLibraryLoaded), &info) != 0 &&
      info.dli_fname != nullptr) {
    dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

void ForgetPoolInChild() {
  pool_before_fork = pool.load(std::memory_order_relaxed);
  pool.store(nullptr, std::memory_order_relaxed);
  num_threads.store(0, std::memory_order_relaxed);
  ParallelGroup::NoteFork();
}

void PrepareForFork() {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] {
    ProtectMutexInFork(&start_mutex);
    pthread_atfork(nullptr, nullptr, ForgetPoolInChild);
  });
}

// Returns how many could be started.
int StartWorkers(ThreadPool* home, int wanted) {
  // Signals are for the threads of the program.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int started = 0;
  try {
    for (; started < wanted; ++started) std::thread(WorkerMain, home, started).detach();
  } catch (const std::exception&) {
    // No more threads to be had, or no memory for one: those that run have to do.
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return started;
}

// May end up with fewer workers than wished, even none: launches then run on their callers.
ThreadPool* StartPool() {
  PrepareForFork();
  std::lock_guard<std::mutex> lock(start_mutex);
  if (ThreadPool* started = pool.load(std::memory_order_acquire)) return started;
  KeepLibraryLoaded();
  int count = NumThreads();
  auto made = std::make_unique<ThreadPool>();
  made->cpus = ProcessCpus();
  made->spin_checks = SpinChecks(count, AvailableCpus());
  const char* bind = getenv("TVM_BIND_THREADS");
  made->pin = bind != nullptr && strcmp(bind, "1") == 0;
  made->before_fork = pool_before_fork;
  int wanted = std::min(made->pin ? count : count - 1, kMaxWorkers);
  made->workers = new Worker[wanted];
  made->num_workers = StartWorkers(made.get(), wanted);
  pool.store(made.get(), std::memory_order_release);
  return made.release();
}

// The workers that a launch has for itself.
class Crew {
 public:
  explicit Crew(ThreadPool* pool) : pool_(pool) {}
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;
  ~Crew() {
    ForEach([](Worker& worker) { worker.taken.store(0, std::memory_order_release); });
  }

  // Takes as many free workers as there are, but not more than wanted; returns how many.
  int Take(int wanted) {
    int got = 0;
    // Pinned workers are one more than needed, so that the one on the launcher's CPU is left out.
    int spare = pool_->num_workers - wanted;
    for (; end_ < pool_->num_workers && got < wanted; ++end_) {
      if ((end_ & 63) == 0) mine_[end_ >> 6] = 0;
      std::atomic<uint32_t>& taken = pool_->workers[end_].taken;
      if (taken.load(std::memory_order_relaxed) != 0) continue;
      if (pool_->pin && spare > 0 &&
          pool_->workers[end_].cpu.load(std::memory_order_relaxed) == cpu_) {
        --spare;
        continue;
      }
      if (taken.exchange(1, std::memory_order_acquire) != 0) continue;
      mine_[end_ >> 6] |= uint64_t{1} << (end_ & 63);
      ++got;
    }
    return got;
  }

  // Gives the workers task 1 and the following; true when one had to be woken.
  bool Post(ParallelTask task) {
    bool woke_any = false;
    ForEach([&](Worker& worker) {
      ++task.index;
      worker.task = task;
      bool asleep = worker.state.exchange(kPosted, std::memory_order_acq_rel) == kAsleep;
      // A worker that is awake on this CPU cannot be running: we are.
      if (asleep || worker.cpu.load(std::memory_order_relaxed) == cpu_) MoveAway(&worker);
      if (asleep) FutexWake(FutexWord(worker.state), 1);
      woke_any |= asleep;
    });
    return woke_any;
  }

  // Runs what no worker has begun yet.
  void TakeBack() {
    ForEach([](Worker& worker) {
      uint32_t state = kPosted;
      if (worker.state.load(std::memory_order_relaxed) != kPosted) return;
      if (!worker.state.compare_exchange_strong(state, kIdle, std::memory_order_acq_rel)) return;
      worker.task.Run();
      worker.task.group()->Finish();
    });
  }

 private:
  // Linux likes to wake a thread on the CPU of the one that wakes it; in virtual machines it always
  // does, because it takes CPUs that sleep for CPUs that the host has taken away. There the worker
  // would only push the launcher aside. So this CPU is forbidden to it until its task is done.
  void MoveAway(Worker* worker) {
    int thread = worker->thread.load(std::memory_order_relaxed);
    if (pool_->pin || thread == 0 || !SetThreadCpus(thread, pool_->cpus, cpu_)) return;
    worker->moved.store(1, std::memory_order_relaxed);
  }

  template <typename F>
  void ForEach(F&& visit) {
    for (int word = 0; word * 64 < end_; ++word) {
      for (uint64_t left = mine_[word]; left != 0; left &= left - 1) {
        visit(pool_->workers[word * 64 + __builtin_ctzll(left)]);
      }
    }
  }

  ThreadPool* pool_;
  int cpu_ = sched_getcpu();
  int end_ = 0;                             // workers before this one have been looked at
  uint64_t mine_[(kMaxWorkers + 63) / 64];  // a bit a worker, set as far as end_
};

// Task 0, then what is open: the launcher's share of a launch.
void RunOwnTasks(ParallelTask task) {
  while (task.index >= 0) {
    task.Run();
    task.group()->Finish();
    task.index = task.more ? task.group()->TakeTask() : -1;
  }
}

int LaunchOnWorkers(ThreadPool* pool, ParallelGroup* group) {
  Crew crew(pool);
  int first_open = 1 + crew.Take(group->num_tasks() - 1);
  ParallelTask task = group->OpenTasksFrom(first_open);
  bool woke_any = crew.Post(task);
  RunOwnTasks(task);
  // A worker that is awake is about to begin; one that had to be woken takes longer than a small
  // task does.
  if (!group->LookForEnd(woke_any ? 0 : kGraceChecks)) {
    crew.TakeBack();
    group->WaitForEnd();
  }
  return group->TakeResult();
}

}  // namespace

int NumThreads() {
  int count = num_threads.load(std::memory_order_relaxed);
  if (count > 0) return count;
  PrepareForFork();
  count = PositiveFromEnv("TVM_NUM_THREADS");
  if (count == 0) count = PositiveFromEnv("OMP_NUM_THREADS");
  if (count == 0) count = AvailableCpus();
  // A parallel loop has a task for each, also where there cannot be so many threads.
  count = std::min(count, kMaxWorkers + 1);
  num_threads.store(count, std::memory_order_relaxed);
  return count;
}

}  // namespace runtime
}  // namespace tvm

using tvm::runtime::ParallelGroup;

int TVMRuntimeNumThreads(void) { return tvm::runtime::NumThreads(); }

int TVMBackendParallelLaunch(FTVMParallelLambda flambda, void* cdata, int num_task) {
  return tvm::runtime::Guarded([&]() -> int {
    if (flambda == nullptr || num_task < 0) {
      return tvm::runtime::Fail(
          "ValueError",
          "TVMBackendParallelLaunch: expected a function and a number of tasks "
          "from 0 (one a worker) up, but got %s and %d",
          flambda == nullptr ? "NULL" : "a function", num_task);
    }
    bool nested = ParallelGroup::Inside();
    if (num_task == 0) num_task = nested ? 1 : tvm::runtime::NumThreads();
    if (num_task == 1) return ParallelGroup::RunAlone(flambda, cdata);
    tvm::runtime::ThreadPool* workers = tvm::runtime::pool.load(std::memory_order_acquire);
    if (workers == nullptr) workers = tvm::runtime::StartPool();
    ParallelGroup group(flambda, cdata, num_task, workers->spin_checks);
    if (nested) {
      tvm::runtime::RunOwnTasks(group.OpenTasksFrom(1));
      group.WaitForEnd();
      return group.TakeResult();
    }
    return tvm::runtime::LaunchOnWorkers(workers, &group);
  });
}

int TVMBackendParallelBarrier(int task_id, TVMParallelGroupEnv* penv) {
  (void)task_id;
  if (penv == nullptr) {
    return tvm::runtime::Fail("ValueError",
                              "TVMBackendParallelBarrier: expected the environment that the task "
                              "was given, but got NULL");
  }
  if (penv->sync_handle == nullptr) return 0;
  return tvm::runtime::Guarded(
      [penv] { return static_cast<ParallelGroup*>(penv->sync_handle)->Barrier(); });
}
