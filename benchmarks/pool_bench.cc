// One contender of benchmarks/pool.py: parallel launches through our pool (POOL_OPENMP undefined)
// or through `#pragma omp parallel`. Prints one line "name value" for each figure, times in
// microseconds.
//
// usage: pool_bench TASKS PIN [LAUNCHES]   (with LAUNCHES: only so many, for counting instructions)
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#ifdef POOL_OPENMP
#include <omp.h>
#else
#include <tvm/runtime/c_backend_api.h>
#endif

namespace {

struct alignas(128) Tally {
  int64_t runs = 0;
  int64_t by_launcher = 0;
};

struct Job {
  int64_t pauses;  // length of a task
  Tally tallies[64];
};

thread_local bool is_launcher = false;

void Task(Job* job, int task) {
  for (int64_t i = 0; i < job->pauses; ++i) __asm__ __volatile__("" ::: "memory");
  job->tallies[task].runs += 1;
  job->tallies[task].by_launcher += is_launcher ? 1 : 0;
}

#ifdef POOL_OPENMP
void Launch(Job* job, int tasks) {
#pragma omp parallel num_threads(tasks)
  Task(job, omp_get_thread_num());
}

void Barriers(int64_t count, int tasks) {
#pragma omp parallel num_threads(tasks)
  for (int64_t i = 0; i < count; ++i) {
#pragma omp barrier
  }
}
#else
int OurTask(int task, TVMParallelGroupEnv*, void* job) {
  Task(static_cast<Job*>(job), task);
  return 0;
}

void Launch(Job* job, int tasks) {
  if (TVMBackendParallelLaunch(OurTask, job, tasks) != 0) abort();
}

int BarrierTask(int task, TVMParallelGroupEnv* env, void* count) {
  for (int64_t i = 0; i < *static_cast<int64_t*>(count); ++i) {
    if (TVMBackendParallelBarrier(task, env) != 0) return -1;
  }
  return 0;
}

void Barriers(int64_t count, int tasks) {
  if (TVMBackendParallelLaunch(BarrierTask, &count, tasks) != 0) abort();
}
#endif

double Now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

double Median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

// A figure takes no longer than this, however slow the contender is on a busy machine.
constexpr double kMaxTime = 2e6;

// Median over batches of the mean time of a launch.
double Warm(Job* job, int tasks, int batches, int launches) {
  std::vector<double> times;
  double end = Now() + kMaxTime;
  for (int b = 0; b < batches && (b == 0 || Now() < end); ++b) {
    double begin = Now();
    for (int i = 0; i < launches; ++i) Launch(job, tasks);
    times.push_back((Now() - begin) / launches);
  }
  return Median(times);
}

// Median time of a single launch after a pause that is slept (workers asleep) or worked through.
double Single(Job* job, int tasks, int count, double gap, bool sleep) {
  std::vector<double> times;
  double end = Now() + kMaxTime;
  for (int i = 0; i < count && (i == 0 || Now() < end); ++i) {
    if (sleep) {
      timespec t{0, static_cast<long>(gap * 1e3)};
      nanosleep(&t, nullptr);
    } else {
      for (double begin = Now(); Now() - begin < gap;) {
      }
    }
    double begin = Now();
    Launch(job, tasks);
    times.push_back(Now() - begin);
  }
  return Median(times);
}

void CheckEveryTaskRan(const Job& job, int tasks) {
  for (int i = 1; i < tasks; ++i) {
    if (job.tallies[i].runs != job.tallies[0].runs) {
      fprintf(stderr, "task %d ran %lld times, task 0 %lld times\n", i,
              static_cast<long long>(job.tallies[i].runs),
              static_cast<long long>(job.tallies[0].runs));
      exit(1);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int tasks = argc > 1 ? atoi(argv[1]) : 2;
  bool pin = argc > 2 && atoi(argv[2]) != 0;
  if (tasks < 1 || tasks > 64) return 2;
  is_launcher = true;
  static Job job;
  job.pauses = 0;
  if (argc > 3) {
    Warm(&job, tasks, 1, atoi(argv[3]));
    return 0;
  }
  Warm(&job, tasks, 10, 100);  // starts the threads
  if (pin) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof(set), &set);
  }
  job = Job();
  printf("warm %.4f\n", Warm(&job, tasks, 400, 100));
  double others = static_cast<double>(job.tallies[0].runs) * std::max(tasks - 1, 1);
  double stolen = 0;
  for (int i = 1; i < tasks; ++i) stolen += static_cast<double>(job.tallies[i].by_launcher);
  CheckEveryTaskRan(job, tasks);
  printf("warm_stolen %.4f\n", stolen / others);
  printf("gap10us %.4f\n", Single(&job, tasks, 3000, 10, false));
  printf("idle2ms %.4f\n", Single(&job, tasks, 100, 2000, true));
  // A task of some 20 us; the floor is one task alone.
  job.pauses = 40000;
  double alone = Warm(&job, 1, 100, 20);
  double together = Warm(&job, tasks, 100, 20);
  printf("work_alone %.4f\n", alone);
  printf("work %.4f\n", together);
  printf("work_idle2ms %.4f\n", Single(&job, tasks, 100, 2000, true));
  std::vector<double> times;
  constexpr int kBarriers = 200;
  double end = Now() + kMaxTime;
  for (int i = 0; i < 50 && (i == 0 || Now() < end); ++i) {
    double begin = Now();
    Barriers(kBarriers, tasks);
    times.push_back((Now() - begin) / kBarriers);
  }
  printf("barrier %.4f\n", Median(times));
  return 0;
}
