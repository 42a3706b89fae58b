/*
 * How many CPUs this process may use: the affinity mask and the CPU quota of its control group.
 */
#ifndef TVM_SRC_RUNTIME_CPU_COUNT_H_
#define TVM_SRC_RUNTIME_CPU_COUNT_H_

#include <sched.h>

#include <string>
#include <vector>

namespace tvm {
namespace runtime {

/* The CPU numbers in the affinity mask of the process (of its first thread: a single thread that
 * was pinned by its program says nothing about the others). Empty when it cannot be told. */
std::vector<int> ProcessCpus();

/* Lets a thread (0: the calling one) run on these CPUs but not on `except` (-1: on all of them).
 * False when the system refuses, or when no CPU is left. Allocates nothing, and so gives up on CPU
 * numbers from kMaxCpuNumber on. */
constexpr int kMaxCpuNumber = 1024;
bool SetThreadCpus(int thread, const std::vector<int>& cpus, int except);

/* CPUs' worth of time that the control group grants a second (1.5 = one and a half), the smallest
 * of the group and its parents; 0 when there is no limit. The arguments are the texts of
 * /proc/self/cgroup and /proc/self/mountinfo; root is put before every path that is read. */
double CgroupCpuQuota(const std::string& cgroup, const std::string& mountinfo,
                      const std::string& root);

/* CPUs in the mask, cut down to the quota rounded up; at least 1. */
int AvailableCpus();

/* A positive number at the start of the value of an environment variable ("4", and "4,2" of
 * OMP_NUM_THREADS); 0 when unset or anything else. */
int PositiveFromEnv(const char* name);

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_CPU_COUNT_H_
