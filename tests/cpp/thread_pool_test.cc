// The thread pool through the C API, and the counting of CPUs.
//
// Tests that need an environment of their own, a fork or an exit run in a child process: this
// program again, with the name of a scenario.
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tvm/runtime/c_backend_api.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/cpu_count.h"
#include "sanitizer_options.h"
#include "test_util.h"

namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;  // has a thread of its own, from our first one on
#else
constexpr bool kThreadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

using tvm_test::LastError;

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

int CountThreads() {
  int count = 0;
  if (DIR* dir = opendir("/proc/self/task")) {
    while (dirent* entry = readdir(dir)) count += entry->d_name[0] != '.';
    closedir(dir);
  }
  return count;
}

// Launches a C++ function of (task, env).
template <typename F>
int Launch(int num_task, F&& body) {
  using Body = std::remove_reference_t<F>;
  auto call = [](int task, TVMParallelGroupEnv* env, void* data) -> int {
    return (*static_cast<Body*>(data))(task, env);
  };
  return TVMBackendParallelLaunch(call, &body, num_task);
}

// ---- the basics --------------------------------------------------------------------------------

TEST(EveryTaskRunsOnce) {
  for (int num_task : {1, 2, 3, 7, 64, 1000}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::atomic<int>> runs(static_cast<size_t>(num_task));
      CHECK_EQ(Launch(num_task,
                      [&](int task, TVMParallelGroupEnv* env) {
                        CHECK_EQ(env->num_task, num_task);
                        runs.at(static_cast<size_t>(task)) += 1;
                        return 0;
                      }),
               0);
      for (auto& count : runs) CHECK_EQ(count.load(), 1);
    }
  }
}

TEST(OpenNumberOfTasksIsNumThreads) {
  int seen = 0;
  std::atomic<int> runs{0};
  CHECK_EQ(Launch(0,
                  [&](int task, TVMParallelGroupEnv* env) {
                    if (task == 0) seen = env->num_task;
                    ++runs;
                    return 0;
                  }),
           0);
  CHECK_EQ(seen, TVMRuntimeNumThreads());
  CHECK_EQ(runs.load(), seen);
}

TEST(TaskZeroIsTheCallers) {
  std::thread::id caller = std::this_thread::get_id(), ran;
  Launch(4, [&](int task, TVMParallelGroupEnv*) {
    if (task == 0) ran = std::this_thread::get_id();
    return 0;
  });
  CHECK(ran == caller);
}

TEST(MistakesAreErrors) {
  TVMErrorClear();
  CHECK_EQ(TVMBackendParallelLaunch(nullptr, nullptr, 2), -1);
  CHECK(Has(LastError(), "ValueError: TVMBackendParallelLaunch"));
  CHECK_EQ(Launch(-3, [](int, TVMParallelGroupEnv*) { return 0; }), -1);
  CHECK(Has(LastError(), "-3"));
  CHECK_EQ(TVMBackendParallelBarrier(0, nullptr), -1);
  CHECK(Has(LastError(), "ValueError: TVMBackendParallelBarrier"));
  TVMErrorClear();
}

// ---- barriers ----------------------------------------------------------------------------------

// All tasks write, meet, read what the others wrote.
int MeetRepeatedly(int num_task, int rounds) {
  std::vector<int> values(static_cast<size_t>(num_task), -1);
  return Launch(num_task, [&](int task, TVMParallelGroupEnv* env) {
    for (int round = 0; round < rounds; ++round) {
      values[static_cast<size_t>(task)] = round;
      if (TVMBackendParallelBarrier(task, env) != 0) return -1;
      for (int value : values) CHECK_EQ(value, round);
      if (TVMBackendParallelBarrier(task, env) != 0) return -1;
    }
    return 0;
  });
}

TEST(BarrierWithMoreTasksThanCores) {
  for (int num_task : {1, 2, 3, 8, 40}) CHECK_EQ(MeetRepeatedly(num_task, 20), 0);
  for (int i = 0; i < 50; ++i) CHECK_EQ(MeetRepeatedly(5, 2), 0);
}

TEST(BarrierInNestedLaunch) {
  std::atomic<int> met{0};
  CHECK_EQ(Launch(3,
                  [&](int, TVMParallelGroupEnv*) {
                    return Launch(4, [&](int task, TVMParallelGroupEnv* env) {
                      if (TVMBackendParallelBarrier(task, env) != 0) return -1;
                      ++met;
                      return 0;
                    });
                  }),
           0);
  CHECK_EQ(met.load(), 12);
}

TEST(TasksThatEndDoNotHoldUpABarrier) {
  std::atomic<int> passed{0};
  CHECK_EQ(Launch(6,
                  [&](int task, TVMParallelGroupEnv* env) {
                    if (task % 2 == 1) return 0;  // never comes to the barrier
                    for (int i = 0; i < 3; ++i) {
                      if (TVMBackendParallelBarrier(task, env) != 0) return -1;
                    }
                    ++passed;
                    return 0;
                  }),
           0);
  CHECK_EQ(passed.load(), 3);
}

TEST(FailureReleasesTheBarrier) {
  for (int round = 0; round < 30; ++round) {
    std::atomic<int> told{0};
    int code = Launch(5, [&](int task, TVMParallelGroupEnv* env) {
      if (task == 3) {
        TVMErrorSet("ValueError", "task three is unhappy", "");
        return -1;
      }
      // The first barrier may have been passed before the failure, the last one never.
      int result = 0;
      for (int i = 0; i < 2 && result == 0; ++i) result = TVMBackendParallelBarrier(task, env);
      told += result == -1;
      return result;
    });
    CHECK_EQ(code, -1);
    CHECK_EQ(told.load(), 4);
    // The reason, not what followed from it.
    CHECK_EQ(LastError(), std::string("ValueError: task three is unhappy"));
    TVMErrorClear();
  }
}

// Threads that end, or that were joined, are still to be seen for a moment.
bool ThreadsComeDownTo(int most) {
  for (int i = 0; i < 500; ++i) {
    if (CountThreads() <= most) return true;
    SleepMs(10);
  }
  return false;
}

TEST(BarrierThreadsGoAway) {
  Launch(0, [](int, TVMParallelGroupEnv*) { return 0; });
  MeetRepeatedly(16, 2);
  CHECK(ThreadsComeDownTo(TVMRuntimeNumThreads() + (kThreadSanitizer ? 1 : 0)));
}

// ---- nested launches ---------------------------------------------------------------------------

TEST(NestedLaunchIsSerial) {
  std::atomic<int> wrong{0}, inner_runs{0};
  CHECK_EQ(Launch(4,
                  [&](int, TVMParallelGroupEnv*) {
                    std::thread::id outer = std::this_thread::get_id();
                    int open = Launch(0, [&](int task, TVMParallelGroupEnv* env) {
                      wrong += env->num_task != 1 || task != 0;
                      wrong += std::this_thread::get_id() != outer;
                      return 0;
                    });
                    int last = -1;
                    int fixed = Launch(3, [&](int task, TVMParallelGroupEnv* env) {
                      wrong += env->num_task != 3 || task != last + 1;
                      wrong += std::this_thread::get_id() != outer;
                      last = task;
                      ++inner_runs;
                      return 0;
                    });
                    return open == 0 && fixed == 0 ? 0 : -1;
                  }),
           0);
  CHECK_EQ(wrong.load(), 0);
  CHECK_EQ(inner_runs.load(), 12);
}

TEST(NestedFailureReachesTheOuterLauncher) {
  CHECK_EQ(Launch(3,
                  [&](int outer, TVMParallelGroupEnv*) {
                    return Launch(2, [&](int inner, TVMParallelGroupEnv*) {
                      if (outer == 2 && inner == 1) {
                        TVMErrorSet("KeyError", "deep down", "");
                        return -1;
                      }
                      return 0;
                    });
                  }),
           -1);
  CHECK_EQ(LastError(), std::string("KeyError: deep down"));
  TVMErrorClear();
}

// ---- errors ------------------------------------------------------------------------------------

TEST(FailedTaskOfLowestNumberIsReported) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> runs{0};
    CHECK_EQ(Launch(9,
                    [&](int task, TVMParallelGroupEnv*) {
                      ++runs;
                      if (task < 2) return 0;
                      TVMErrorSet("TypeError", ("from task " + std::to_string(task)).c_str(), "");
                      return -1;
                    }),
             -1);
    CHECK_EQ(runs.load(), 9);
    CHECK_EQ(LastError(), std::string("TypeError: from task 2"));
    TVMErrorClear();
  }
}

TEST(CodeWithoutErrorIsExplained) {
  TVMErrorClear();
  for (int num_task : {1, 4}) {
    CHECK_EQ(Launch(num_task,
                    [&](int task, TVMParallelGroupEnv*) { return task == num_task - 1 ? 7 : 0; }),
             -1);
    CHECK(Has(LastError(), "returned 7"));
    TVMErrorClear();
  }
}

TEST(ExceptionBecomesError) {
  for (int num_task : {1, 4}) {
    CHECK_EQ(Launch(num_task,
                    [&](int task, TVMParallelGroupEnv*) -> int {
                      if (task == num_task - 1) throw std::runtime_error("thrown by a task");
                      return 0;
                    }),
             -1);
    CHECK(Has(LastError(), "thrown by a task"));
    TVMErrorClear();
  }
}

std::atomic<int> drops{0};
std::atomic<int> foreign_drops{0};
std::thread::id dropper_expected;

TEST(PayloadsAreDroppedByTheLauncher) {
  dropper_expected = std::this_thread::get_id();
  drops = 0;
  CHECK_EQ(Launch(6,
                  [&](int, TVMParallelGroupEnv*) {
                    TVMErrorSetPayload("ValueError", "with payload", "", &drops, [](void*) {
                      ++drops;
                      foreign_drops += std::this_thread::get_id() != dropper_expected;
                    });
                    return -1;
                  }),
           -1);
  CHECK_EQ(drops.load(), 5);  // all but the reported one
  TVMErrorClear();
  CHECK_EQ(drops.load(), 6);
  CHECK_EQ(foreign_drops.load(), 0);
}

// ---- several callers ---------------------------------------------------------------------------

TEST(ManyCallers) {
  Launch(0, [](int, TVMParallelGroupEnv*) { return 0; });
  std::atomic<int64_t> sum{0};
  std::atomic<int> failures{0};
  std::atomic<int> most{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c) {
    callers.emplace_back([&, c] {
      for (int i = 0; i < 300; ++i) {
        int num_task = 1 + (c + i) % 5;
        failures += Launch(num_task, [&](int task, TVMParallelGroupEnv*) {
                      sum += task + 1;
                      return 0;
                    }) != 0;
        if (i % 100 == 50) failures += MeetRepeatedly(2 + c % 3, 2) != 0;
        if (i % 100 == 70) {
          int code = Launch(3, [&](int task, TVMParallelGroupEnv*) {
            if (task != 1) return 0;
            TVMErrorSet("ValueError", ("caller " + std::to_string(c)).c_str(), "");
            return -1;
          });
          failures += code != -1 || LastError() != "ValueError: caller " + std::to_string(c);
          TVMErrorClear();
        }
        int now = CountThreads();
        for (int old = most.load(); old < now && !most.compare_exchange_weak(old, now);) {
        }
      }
    });
  }
  for (auto& caller : callers) caller.join();
  int64_t expected = 0;
  for (int c = 0; c < 8; ++c) {
    for (int i = 0; i < 300; ++i) {
      int n = 1 + (c + i) % 5;
      expected += n * (n + 1) / 2;
    }
  }
  CHECK_EQ(failures.load(), 0);
  CHECK_EQ(sum.load(), expected);
  // Callers, workers, and at most three temporary threads a caller at its barriers.
  CHECK(most.load() <= TVMRuntimeNumThreads() + 8 + 8 * 4 + 1);
}

TEST(CallersDoNotAddWorkers) {
  for (int i = 0; i < 40; ++i) {
    std::thread([] { Launch(0, [](int, TVMParallelGroupEnv*) { return 0; }); }).join();
  }
  CHECK(ThreadsComeDownTo(TVMRuntimeNumThreads() + (kThreadSanitizer ? 1 : 0)));
}

TEST(CallerGoesOnWhileWorkersAreBusy) {
  std::atomic<bool> started{false}, stop{false};
  std::thread holder([&] {
    Launch(TVMRuntimeNumThreads() + 4, [&](int, TVMParallelGroupEnv*) {
      started = true;
      while (!stop) SleepMs(1);
      return 0;
    });
  });
  while (!started) SleepMs(1);
  SleepMs(20);  // the workers have tasks now
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    std::atomic<int> runs{0};
    CHECK_EQ(Launch(0,
                    [&](int, TVMParallelGroupEnv*) {
                      ++runs;
                      return 0;
                    }),
             0);
    sum += runs;
  }
  CHECK_EQ(sum, 100 * TVMRuntimeNumThreads());
  CHECK_EQ(MeetRepeatedly(3, 5), 0);
  stop = true;
  holder.join();
}

// Tasks of very different lengths, launches right after each other and after pauses: workers are
// found awake, asleep, and on their way between.
TEST(WorkersAwakeAndAsleep) {
  for (int i = 0; i < 400; ++i) {
    std::atomic<int> runs{0};
    CHECK_EQ(Launch(4,
                    [&](int task, TVMParallelGroupEnv*) {
                      for (volatile int k = 0; k < (task * i) % 5 * 1000; k = k + 1) {
                      }
                      ++runs;
                      return 0;
                    }),
             0);
    CHECK_EQ(runs.load(), 4);
    if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i));
  }
}

// ---- in child processes ------------------------------------------------------------------------

// Runs a scenario with these variables set; the status as waitpid gives it, -1 after ten seconds.
int RunScenario(const std::string& name,
                const std::vector<std::pair<const char*, const char*>>& variables = {}) {
  pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);  // a group of its own, which ends as a whole
    for (const char* known :
         {"TVM_NUM_THREADS", "OMP_NUM_THREADS", "TVM_BIND_THREADS", "TVM_THREAD_POOL_SPIN_COUNT"}) {
      unsetenv(known);
    }
    for (auto& v : variables) setenv(v.first, v.second, 1);
    execl("/proc/self/exe", "thread_pool_test", "--scenario", name.c_str(), nullptr);
    _exit(126);
  }
  int status = -1;
  for (int i = 0; i < 1000 * (kThreadSanitizer ? 3 : 1); ++i) {
    if (waitpid(child, &status, WNOHANG) == child) return status;
    SleepMs(10);
  }
  kill(-child, SIGKILL);
  waitpid(child, &status, 0);
  return -1;
}

void ExpectThreads(int expected) {
  CHECK_EQ(TVMRuntimeNumThreads(), expected);
  std::atomic<int> tasks{0};
  CHECK_EQ(Launch(0,
                  [&](int, TVMParallelGroupEnv*) {
                    ++tasks;
                    return 0;
                  }),
           0);
  CHECK_EQ(tasks.load(), expected);
}

void ScenarioThree() {
  ExpectThreads(3);
  SleepMs(20);
  CHECK_EQ(CountThreads(), 3 + (kThreadSanitizer ? 1 : 0));
}

void ScenarioPinned() {
  ExpectThreads(3);
  for (int i = 0; i < 100; ++i) CHECK_EQ(MeetRepeatedly(3, 2), 0);
}

TEST(NumberFromEnvironment) {
  CHECK_EQ(RunScenario("three", {{"TVM_NUM_THREADS", "3"}, {"OMP_NUM_THREADS", "5"}}), 0);
  CHECK_EQ(RunScenario("three", {{"OMP_NUM_THREADS", "3,2"}}), 0);
  CHECK_EQ(RunScenario("three", {{"TVM_NUM_THREADS", "many"}, {"OMP_NUM_THREADS", "3"}}), 0);
  CHECK_EQ(RunScenario("three", {{"TVM_NUM_THREADS", "0"}, {"OMP_NUM_THREADS", " 3 "}}), 0);
  CHECK_EQ(RunScenario("one", {{"TVM_NUM_THREADS", "1"}}), 0);
  CHECK_EQ(RunScenario("available", {{"TVM_NUM_THREADS", "-2"}, {"OMP_NUM_THREADS", ""}}), 0);
}

TEST(PinnedAndWithoutSpinning) {
  CHECK_EQ(RunScenario("pinned", {{"TVM_NUM_THREADS", "3"}, {"TVM_BIND_THREADS", "1"}}), 0);
  CHECK_EQ(RunScenario("pinned", {{"TVM_NUM_THREADS", "3"}, {"TVM_THREAD_POOL_SPIN_COUNT", "0"}}),
           0);
  CHECK_EQ(
      RunScenario("pinned", {{"TVM_NUM_THREADS", "3"}, {"TVM_THREAD_POOL_SPIN_COUNT", "50000"}}),
      0);
}

void ScenarioOne() {
  ExpectThreads(1);
  CHECK_EQ(CountThreads(), 1);
  CHECK_EQ(MeetRepeatedly(4, 3), 0);
}

void ScenarioAvailable() { ExpectThreads(tvm::runtime::AvailableCpus()); }

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void ScenarioIdle() {
  ExpectThreads(4);
  double before = CpuSeconds();
  SleepMs(500);
  double used = CpuSeconds() - before;
  CHECK(used <= 0.05);
}

TEST(IdleWorkersSleep) { CHECK_EQ(RunScenario("idle", {{"TVM_NUM_THREADS", "4"}}), 0); }

// A thread that its program has pinned starts the pool: the workers are not pinned with it.
void ScenarioPinnedStarter() {
  std::vector<int> cpus = tvm::runtime::ProcessCpus();
  std::thread([&] {
    CHECK(tvm::runtime::SetThreadCpus(0, {cpus[0]}, -1));
    ExpectThreads(2);
    std::atomic<int> masks{0};
    MeetRepeatedly(2, 1);
    CHECK_EQ(Launch(2,
                    [&](int task, TVMParallelGroupEnv* env) {
                      if (TVMBackendParallelBarrier(task, env) != 0) return -1;
                      cpu_set_t set;
                      sched_getaffinity(0, sizeof(set), &set);
                      if (task == 1) masks = CPU_COUNT(&set);
                      return 0;
                    }),
             0);
    // All, or all but the launcher's while the worker has just been woken from there.
    CHECK(masks.load() >= static_cast<int>(cpus.size()) - 1);
  }).join();
}

TEST(WorkersDoNotInheritAMask) {
  CHECK_EQ(RunScenario("pinned-starter", {{"TVM_NUM_THREADS", "2"}}), 0);
}

// ---- fork --------------------------------------------------------------------------------------

// The child's status; the child runs body.
template <typename F>
int InFork(F&& body) {
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    tvm_test::Failures() = 0;  // its own
    body();
    _exit(tvm_test::Failures() == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

void ScenarioForkAfterUse() {
  ExpectThreads(4);
  CHECK_EQ(InFork([] {
             ExpectThreads(4);
             CHECK_EQ(MeetRepeatedly(6, 3), 0);
             CHECK_EQ(InFork([] { ExpectThreads(4); }), 0);
           }),
           0);
  ExpectThreads(4);
  setenv("TVM_NUM_THREADS", "2", 1);  // the child reads it anew, the parent does not
  CHECK_EQ(InFork([] { ExpectThreads(2); }), 0);
  ExpectThreads(4);
}

void ScenarioForkWhileOthersLaunch() {
  std::atomic<bool> stop{false};
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c) {
    callers.emplace_back([&] {
      while (!stop) {
        CHECK_EQ(Launch(4, [](int, TVMParallelGroupEnv*) { return 0; }), 0);
        CHECK_EQ(MeetRepeatedly(3, 1), 0);
      }
    });
  }
  for (int i = 0; i < 20; ++i) CHECK_EQ(InFork([] { ExpectThreads(4); }), 0);
  stop = true;
  for (auto& caller : callers) caller.join();
}

// The child of a task goes on with the task: its launch fails, as the other tasks are not there.
void ScenarioForkInTask() {
  ExpectThreads(4);
  std::atomic<int> child_status{-1};
  pid_t parent = getpid();
  int code = Launch(4, [&](int task, TVMParallelGroupEnv* env) {
    if (TVMBackendParallelBarrier(task, env) != 0) return -1;
    if (task == 0) {
      pid_t child = fork();
      if (child == 0) {
        alarm(20);
        int inner = Launch(3, [](int, TVMParallelGroupEnv*) { return 0; });
        int barrier = TVMBackendParallelBarrier(task, env);
        return inner == 0 && barrier == -1 ? 0 : 17;
      }
      int status = -1;
      waitpid(child, &status, 0);
      child_status = status;
    }
    return TVMBackendParallelBarrier(task, env);
  });
  if (getpid() != parent) {
    bool right = code == -1 && Has(LastError(), "forked inside a task");
    TVMErrorClear();
    ExpectThreads(4);
    _exit(right ? 5 : 6);
  }
  CHECK_EQ(code, 0);
  CHECK(WIFEXITED(child_status.load()));
  CHECK_EQ(WEXITSTATUS(child_status.load()), 5);
}

// The same from a worker: the child's only thread ends with the task, and the process with it.
void ScenarioForkInWorker() {
  ExpectThreads(4);
  std::atomic<int> child_status{-1};
  CHECK_EQ(Launch(4,
                  [&](int task, TVMParallelGroupEnv* env) {
                    if (TVMBackendParallelBarrier(task, env) != 0) return -1;
                    if (task == 1) {
                      pid_t child = fork();
                      if (child == 0) {
                        alarm(20);
                        return 0;
                      }
                      int status = -1;
                      waitpid(child, &status, 0);
                      child_status = status;
                    }
                    return TVMBackendParallelBarrier(task, env);
                  }),
           0);
  CHECK(WIFEXITED(child_status.load()));
}

// The thread sanitizer's runtime ends children that start threads ("dup thread"); in a child of the
// address sanitizer's its list of threads may be locked for ever (by a thread that is not there).
void RunForkScenario(const char* name) {
  if (kThreadSanitizer || kAddressSanitizer) {
    std::printf("skipped under sanitizers, which cannot start threads in a child: %s\n", name);
  } else {
    CHECK_EQ(RunScenario(name, {{"TVM_NUM_THREADS", "4"}}), 0);
  }
}

TEST(ForkAfterUse) { RunForkScenario("fork-after-use"); }
TEST(ForkWhileOthersLaunch) { RunForkScenario("fork-while-launching"); }
TEST(ForkInTask) { RunForkScenario("fork-in-task"); }
TEST(ForkInWorker) { RunForkScenario("fork-in-worker"); }

// ---- exit --------------------------------------------------------------------------------------

void ScenarioExitMidway() {
  std::thread([] {
    for (;;) Launch(4, [](int, TVMParallelGroupEnv*) { return 0; });
  }).detach();
  SleepMs(20);
  exit(0);
}

void ScenarioExitInWorker() {
  Launch(4, [](int task, TVMParallelGroupEnv* env) {
    TVMBackendParallelBarrier(task, env);
    if (task == 1) exit(0);
    for (;;) SleepMs(10);
    return 0;
  });
}

void ScenarioLaunchAtExit() {
  ExpectThreads(4);
  atexit([] {
    ExpectThreads(4);
    CHECK_EQ(MeetRepeatedly(3, 2), 0);
  });
  exit(0);
}

struct LaunchesWhenThreadEnds {
  bool armed = false;
  ~LaunchesWhenThreadEnds() {
    if (armed) ExpectThreads(4);
  }
};
thread_local LaunchesWhenThreadEnds at_thread_end;

void ScenarioLaunchAtThreadEnd() {
  std::thread([] { at_thread_end.armed = true; }).join();
  at_thread_end.armed = true;
  exit(0);
}

TEST(ExitInAnyOrder) {
  for (const char* name :
       {"exit-midway", "exit-in-worker", "launch-at-exit", "launch-at-thread-end"}) {
    for (int i = 0; i < 3; ++i) {
      int status = RunScenario(name, {{"TVM_NUM_THREADS", "4"}});
      CHECK_EQ(std::string(name) + " " + std::to_string(status), std::string(name) + " 0");
    }
  }
}

// ---- no threads to be had ----------------------------------------------------------------------

void ScenarioNoThreads() {
  // Root may have as many as it likes, so the address space is what runs out: a stack is 8 MiB.
  rlimit stack{rlim_t{1} << 46, RLIM_INFINITY};
  getrlimit(RLIMIT_STACK, &stack);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  CHECK_EQ(pthread_attr_setstacksize(&attributes, size_t{1} << 46), 0);
  CHECK_EQ(pthread_setattr_default_np(&attributes), 0);
  ExpectThreads(4);
  CHECK_EQ(CountThreads(), 1);
  CHECK_EQ(MeetRepeatedly(3, 1), -1);
  CHECK(Has(LastError(), "there is no thread for task 1"));
  TVMErrorClear();
}

TEST(WithoutThreadsLaunchesAreSerial) {
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  CHECK_EQ(RunScenario("no-threads", {{"TVM_NUM_THREADS", "4"}}), 0);
#endif
}

// ---- counting CPUs -----------------------------------------------------------------------------

class FakeSystem {
 public:
  FakeSystem() {
    char name[] = "/tmp/cpu_count_test_XXXXXX";
    CHECK(mkdtemp(name) != nullptr);
    root = name;
  }
  ~FakeSystem() {
    for (auto it = made.rbegin(); it != made.rend(); ++it) remove(it->c_str());
    rmdir(root.c_str());
  }
  void Write(const std::string& path, const std::string& text) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      std::string directory = root + path.substr(0, slash);
      if (mkdir(directory.c_str(), 0700) == 0) made.push_back(directory);
    }
    std::ofstream(root + path) << text;
    made.push_back(root + path);
  }
  std::string root;

 private:
  std::vector<std::string> made;
};

constexpr const char* kMount2 =
    "24 1 0:22 / /proc rw - proc proc rw\n"
    "30 1 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
constexpr const char* kMount1 =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

TEST(QuotaOfCgroupVersion2) {
  FakeSystem fake;
  CHECK_EQ(tvm::runtime::CgroupCpuQuota("0::/a/b\n", kMount2, fake.root), 0.0);
  fake.Write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK_EQ(tvm::runtime::CgroupCpuQuota("0::/a/b\n", kMount2, fake.root), 0.0);
  fake.Write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");  // the parent's holds, too
  CHECK_EQ(tvm::runtime::CgroupCpuQuota("0::/a/b\n", kMount2, fake.root), 1.5);
  fake.Write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  CHECK_EQ(tvm::runtime::CgroupCpuQuota("0::/a/b\n", kMount2, fake.root), 1.5);
  CHECK_EQ(tvm::runtime::CgroupCpuQuota("0::/\n", kMount2, fake.root), 0.0);
  CHECK_EQ(tvm::runtime::CgroupCpuQuota("", kMount2, fake.root), 0.0);
  CHECK_EQ(tvm::runtime::CgroupCpuQuota("0::/a/b\n", "", fake.root), 0.0);
  CHECK_EQ(tvm::runtime::CgroupCpuQuota("nonsense", "more of it - x", fake.root), 0.0);
}

TEST(QuotaOfCgroupVersion1) {
  FakeSystem fake;
  const char* groups = "8:pids:/\n4:cpu,cpuacct:/docker/x\n3:cpuset:/docker/x\n0::/\n";
  CHECK_EQ(tvm::runtime::CgroupCpuQuota(groups, kMount1, fake.root), 0.0);
  fake.Write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "-1\n");
  fake.Write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
  CHECK_EQ(tvm::runtime::CgroupCpuQuota(groups, kMount1, fake.root), 0.0);
  fake.Write("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "50000\n");
  CHECK_EQ(tvm::runtime::CgroupCpuQuota(groups, kMount1, fake.root), 0.5);
}

TEST(QuotaSeenFromInsideAContainer) {
  FakeSystem fake;  // the mount shows the container's group as the root
  const char* mount =
      "32 31 0:29 /docker/x /sys/fs/cgroup/cpu ro master:3 - cgroup cgroup rw,cpu\n";
  fake.Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  fake.Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK_EQ(tvm::runtime::CgroupCpuQuota("4:cpu:/docker/x\n", mount, fake.root), 2.0);
  // Without a view of our own group: the group that is mounted is above us.
  CHECK_EQ(tvm::runtime::CgroupCpuQuota("4:cpu:/docker/x/y\n", mount, fake.root), 2.0);
}

TEST(AffinityMask) {
  std::vector<int> cpus = tvm::runtime::ProcessCpus();
  CHECK(!cpus.empty());
  CHECK(tvm::runtime::AvailableCpus() >= 1);
  CHECK(tvm::runtime::AvailableCpus() <= static_cast<int>(cpus.size()));
  pid_t child = fork();
  if (child == 0) {
    bool right =
        tvm::runtime::SetThreadCpus(0, {cpus[0]}, -1) &&
        tvm::runtime::ProcessCpus() == std::vector<int>{cpus[0]} &&
        tvm::runtime::AvailableCpus() == 1 && !tvm::runtime::SetThreadCpus(0, {cpus[0]}, cpus[0]) &&
        !tvm::runtime::SetThreadCpus(0, {}, -1) && !tvm::runtime::SetThreadCpus(0, {1 << 20}, -1);
    _exit(right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK_EQ(status, 0);
}

TEST(PositiveNumbersOnly) {
  auto parse = [](const char* text) {
    setenv("TVM_TEST_NUMBER", text, 1);
    return tvm::runtime::PositiveFromEnv("TVM_TEST_NUMBER");
  };
  unsetenv("TVM_TEST_NUMBER");
  CHECK_EQ(tvm::runtime::PositiveFromEnv("TVM_TEST_NUMBER"), 0);
  CHECK_EQ(parse("4"), 4);
  CHECK_EQ(parse("4,2"), 4);
  for (const char* bad : {"", "0", "-1", "x", "4x", "99999999999", "99999999999999999999"}) {
    CHECK_EQ(parse(bad), 0);
  }
}

void ExitWithFailures() {
  if (tvm_test::Failures() != 0) _exit(1);
}

struct Scenario {
  const char* name;
  void (*run)();
};

constexpr Scenario kScenarios[] = {
    {"one", ScenarioOne},
    {"three", ScenarioThree},
    {"pinned", ScenarioPinned},
    {"available", ScenarioAvailable},
    {"idle", ScenarioIdle},
    {"pinned-starter", ScenarioPinnedStarter},
    {"fork-after-use", ScenarioForkAfterUse},
    {"fork-while-launching", ScenarioForkWhileOthersLaunch},
    {"fork-in-task", ScenarioForkInTask},
    {"fork-in-worker", ScenarioForkInWorker},
    {"exit-midway", ScenarioExitMidway},
    {"exit-in-worker", ScenarioExitInWorker},
    {"launch-at-exit", ScenarioLaunchAtExit},
    {"launch-at-thread-end", ScenarioLaunchAtThreadEnd},
    {"no-threads", ScenarioNoThreads},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--scenario") {
    for (const Scenario& scenario : kScenarios) {
      if (std::string(scenario.name) != argv[2]) continue;
      // Failures on the way out count as well.
      atexit(ExitWithFailures);
      scenario.run();
      return 0;
    }
    return 125;
  }
  return tvm_test::RunAll(argc, argv);
}
