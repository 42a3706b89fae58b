// The one set of worker threads behind TVMBackendParallelLaunch.
//
// Every worker has a mailbox. A launch reserves idle workers' mailboxes, puts one task into each
// and runs task 0 itself; tasks for which there was no idle worker are taken one after another by
// whoever is done with his own. So any number of callers share the workers, and a caller that finds
// all of them busy simply runs everything alone.
//
// Tasks that meet at a barrier must all be alive. Only the barrier itself knows that it is there,
// so it is the first call of the barrier that starts temporary threads for tasks that nobody has
// taken yet; a launch without barriers never starts one. A task that has ended counts as arrived at
// every later barrier, so that one that fails early leaves nobody waiting.
//
// A launch inside a task runs on that thread alone: with one task when the number is left open,
// else with the fixed number, one after another (or, from the first barrier on, on temporary
// threads).
//
// Nothing here is joined or destroyed: workers sleep until the process ends. After a fork the child
// finds no pool and makes its own at its first launch.
#ifndef TVM_SRC_RUNTIME_THREAD_POOL_H_
#define TVM_SRC_RUNTIME_THREAD_POOL_H_

namespace tvm {
namespace runtime {

// How many tasks a launch with num_task == 0 has: TVM_NUM_THREADS, else OMP_NUM_THREADS, else the
// CPUs that affinity mask and control group leave. Read once a process, and again after a fork.
int NumThreads();

}  // namespace runtime
}  // namespace tvm
#endif  // TVM_SRC_RUNTIME_THREAD_POOL_H_
