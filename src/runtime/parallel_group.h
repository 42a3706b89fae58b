// The tasks of one parallel launch: which are taken, which have ended, the barrier between them,
// and the errors of those that failed. Lives on the launcher's stack.
#ifndef TVM_SRC_RUNTIME_PARALLEL_GROUP_H_
#define TVM_SRC_RUNTIME_PARALLEL_GROUP_H_

#include <tvm/runtime/c_backend_api.h>

#include <atomic>
#include <cstdint>

#include "futex.h"

namespace tvm {
namespace runtime {

class ParallelGroup;

// What a thread has to know to run a task, all of it: so that it need not look into the group.
struct ParallelTask {
  FTVMParallelLambda lambda;
  void* closure;
  TVMParallelGroupEnv env;  // sync_handle is the group
  int32_t index;
  bool more;  // there may be open tasks after this one

  ParallelGroup* group() const { return static_cast<ParallelGroup*>(env.sync_handle); }
  // Calls the lambda; the group keeps its error. Does not finish the task.
  void Run();
};

class ParallelGroup {
 public:
  // spin_checks: how often waiting threads look before they sleep.
  ParallelGroup(FTVMParallelLambda lambda, void* closure, int num_tasks, int spin_checks);
  ParallelGroup(const ParallelGroup&) = delete;
  ParallelGroup& operator=(const ParallelGroup&) = delete;

  int num_tasks() const { return first_task_.env.num_task; }
  // Before any task starts: those below `task` belong to threads, the others are open to all.
  // Returns task 0.
  ParallelTask OpenTasksFrom(int task);
  // A task that nobody has taken yet, or -1. For the launcher, and for threads whose task has not
  // finished.
  int TakeTask();
  // The task has ended. Unless it is the launcher's own, the group may be gone on return.
  void Finish();
  // The launcher, when nothing is left for it to do: true when all tasks have ended within the
  // given number of looks.
  bool LookForEnd(int checks) const;
  void WaitForEnd();
  // 0, or -1 with the error of the failed task of the lowest number as this thread's.
  int TakeResult();
  // Waits until every task that has not ended is here. -1 when one has failed.
  int Barrier();

  // Whether the calling thread runs a task (launches in there are serial).
  static bool Inside();
  static void MarkInside();
  // In the child of a fork. Groups from before have lost their other threads.
  static void NoteFork();

  // The only task of a launch, on the calling thread. Launches in there are not nested ones.
  static int RunAlone(FTVMParallelLambda lambda, void* closure);

 private:
  struct Failure {
    int task;
    bool follows;  // only failed because another one had: the other one's error is the reason
    void* error;   // from TVMErrorTake
    Failure* next;
  };

  friend struct ParallelTask;

  bool Forked() const;
  void StartOpenTasks();
  void KeepFailure(int task, bool follows);
  void EndPhase(uint64_t arrived);
  const uint32_t* UnfinishedWord() const;

  ParallelTask first_task_;
  int spin_checks_;
  uint32_t fork_count_;
  // Everything above is only read while tasks run, so it has its own lines.

  // Low half: tasks that have not ended, and kLauncherSleeps. High half: tasks at the barrier. In
  // one word, so that of an arrival and an end at the same time exactly one sees the phase
  // complete.
  alignas(64) std::atomic<uint64_t> counts_;
  std::atomic<int> next_;
  std::atomic<uint32_t> phase_{0};
  std::atomic<Failure*> failures_{nullptr};
  std::atomic<bool> failed_{false};
};

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_PARALLEL_GROUP_H_
