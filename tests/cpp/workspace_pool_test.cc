// Workspaces through the C API: reuse, order, threads, bounds, devices, fork.
#include "runtime/workspace_pool.h"

#include <sys/wait.h>
#include <tvm/runtime/c_backend_api.h>
#include <tvm/runtime/device_api.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sanitizer_options.h"
#include "test_util.h"

namespace {

void* Alloc(uint64_t size, int device_type = kDLCPU) {
  return TVMBackendAllocWorkspace(device_type, 0, size, kDLFloat, 32);
}
int Free(void* data, int device_type = kDLCPU) {
  return TVMBackendFreeWorkspace(device_type, 0, data);
}
int64_t Held() { return TVMRuntimeGetStat(kTVMStatWorkspaceBytes); }

// What a thread keeps goes with it, so tests that count run in a thread of their own.
template <typename F>
void InThread(F&& body) {
  std::thread([&] { body(); }).join();
}

TEST(AlignedAndWritable) {
  InThread([] {
    for (uint64_t size : {0, 1, 63, 64, 4095, 4096, 4097, 100000, 5 << 20}) {
      void* data = Alloc(size);
      REQUIRE(data != nullptr);
      CHECK_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
      memset(data, 0xab, size);
      CHECK_EQ(Free(data), 0);
    }
  });
}

TEST(FreedBlockIsUsedAgain) {
  InThread([] {
    void* first = Alloc(10000);
    CHECK_EQ(Free(first), 0);
    int64_t held = Held();
    for (uint64_t size : {12288, 10000, 9000, 1}) {  // all within the three pages
      void* again = Alloc(size);
      CHECK_EQ(again, first);
      CHECK_EQ(Free(again), 0);
    }
    CHECK_EQ(Held(), held);
  });
}

TEST(LastFreedComesFirst) {
  InThread([] {
    void* a = Alloc(4096);
    void* b = Alloc(4096);
    CHECK(a != b);
    Free(b);
    Free(a);
    CHECK_EQ(Alloc(4096), a);
    CHECK_EQ(Alloc(4096), b);
    Free(a);
    Free(b);
  });
}

TEST(AnyOrder) {
  InThread([] {
    std::vector<void*> blocks;
    std::vector<uint64_t> sizes;
    uint32_t random = 1;
    for (int step = 0; step < 5000; ++step) {
      random = random * 1664525 + 1013904223;
      if ((random >> 16) % 3 != 0 || blocks.empty()) {
        uint64_t size = 1 + (random >> 8) % 50000;
        auto* data = static_cast<unsigned char*>(Alloc(size));
        memset(data, static_cast<int>(size & 0xff), size);
        blocks.push_back(data);
        sizes.push_back(size);
      } else {
        size_t i = (random >> 8) % blocks.size();
        auto* data = static_cast<unsigned char*>(blocks[i]);
        // Nobody else has been given any part of it.
        CHECK_EQ(int{data[0]}, static_cast<int>(sizes[i] & 0xff));
        CHECK_EQ(int{data[sizes[i] - 1]}, static_cast<int>(sizes[i] & 0xff));
        CHECK_EQ(Free(data), 0);
        blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(i));
        sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(i));
      }
    }
    for (void* data : blocks) CHECK_EQ(Free(data), 0);
  });
}

TEST(ReleasedWhenTheThreadEnds) {
  int64_t before = Held();
  InThread([&] {
    void* a = Alloc(1 << 20);
    CHECK_EQ(Held(), before + (1 << 20));
    Free(a);
    CHECK_EQ(Held(), before + (1 << 20));
  });
  CHECK_EQ(Held(), before);
}

TEST(FreedByAnotherThread) {
  int64_t before = Held();
  void* data = nullptr;
  std::atomic<int> step{0};
  std::thread owner([&] {
    data = Alloc(8192);
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  CHECK_EQ(Free(data), 0);  // the owner lives
  CHECK_FAILS_WITH(Free(data), "that is in use");
  step = 2;
  owner.join();
  InThread([&] { data = Alloc(8192); });
  memset(data, 1, 8192);    // still valid
  CHECK_EQ(Free(data), 0);  // the owner has ended
  CHECK_FAILS_WITH(Free(data), "that is in use");
  CHECK_EQ(Held(), before);
}

TEST(MistakesAreErrors) {
  CHECK_EQ(Free(nullptr), 0);
  int local = 0;
  CHECK_FAILS_WITH(Free(&local), "ValueError: TVMBackendFreeWorkspace: expected a workspace");
  void* data = Alloc(100);
  CHECK_FAILS_WITH(Free(static_cast<char*>(data) + 64), "that is in use");
  CHECK_FAILS_WITH(TVMBackendFreeWorkspace(kDLCPU, 1, data), "number 1");
  CHECK_EQ(Free(data), 0);
  CHECK_FAILS_WITH(Free(data), "that is in use");
}

TEST(TooLarge) {
  for (uint64_t size : {UINT64_MAX, UINT64_MAX - 4096, UINT64_MAX / 2, uint64_t{1} << 62}) {
    TVMErrorClear();
    CHECK(Alloc(size) == nullptr);
    CHECK(tvm_test::LastError().find("MemoryError") == 0);
  }
  TVMErrorClear();
}

TEST(UnknownDevice) {
  TVMErrorClear();
  CHECK(Alloc(100, 77) == nullptr);
  CHECK(tvm_test::LastError() != "(no error)");
  TVMErrorClear();
}

TEST(KeptMemoryIsBounded) {
  constexpr int64_t kLimit = tvm::runtime::kMaxWorkspaceKept;
  int64_t before = Held();
  InThread([&] {
    std::vector<void*> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(Alloc(16 << 20));  // not touched
    for (void* data : blocks) CHECK_EQ(Free(data), 0);
    CHECK(Held() - before <= kLimit);
    CHECK(Held() - before >= kLimit / 2);
    // A block too large to keep leaves at once; a new favourite pushes old ones out.
    CHECK_EQ(Free(Alloc(2 * kLimit)), 0);
    CHECK(Held() - before <= kLimit);
    void* large = Alloc(3 * kLimit / 4);
    Free(large);
    CHECK_EQ(Alloc(3 * kLimit / 4), large);
    Free(large);
    CHECK(Held() - before <= kLimit);
    // Small ones do not count, but their number is bounded.
    blocks.clear();
    for (int i = 0; i < 1000; ++i) blocks.push_back(Alloc(4096));
    for (void* data : blocks) Free(data);
    CHECK(Held() - before <= kLimit + 64 * 4096);
  });
  CHECK_EQ(Held(), before);
}

TEST(SmallRequestDoesNotTakeAHugeBlock) {
  InThread([] {
    void* huge = Alloc(64 << 20);
    Free(huge);
    void* small = Alloc(4096);
    CHECK(small != huge);
    CHECK_EQ(Alloc(64 << 20), huge);
    Free(huge);
    Free(small);
  });
}

TEST(ManyThreads) {
  int64_t before = Held();
  std::vector<std::thread> threads;
  std::vector<std::atomic<void*>> handed_over(8);
  for (size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        void* a = Alloc(4096 * (1 + (t + static_cast<size_t>(i)) % 5));
        auto* b = static_cast<char*>(Alloc(100));
        *b = static_cast<char>(t);
        // Whoever comes next frees it, on whichever thread.
        void* other = handed_over[(t + static_cast<size_t>(i)) % 8].exchange(b);
        if (other != nullptr) CHECK_EQ(Free(other), 0);
        CHECK_EQ(Free(a), 0);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& data : handed_over) CHECK_EQ(Free(data.exchange(nullptr)), 0);
  // The last frees of this thread's own blocks, of which there were none, keep nothing.
  CHECK_EQ(Held(), before);
}

// ---- a device with opaque handles --------------------------------------------------------------

std::atomic<int> device_live{0};
std::atomic<bool> device_full{false};

int DeviceExist(void*, int, int* out) {
  *out = 1;
  return 0;
}
int DeviceAlloc(void*, int device_id, size_t, size_t alignment, DLDataType hint, const char* scope,
                void** out) {
  if (device_full) {
    TVMErrorSet("MemoryError", "the test device is full", "");
    return -1;
  }
  CHECK_EQ(device_id, 0);
  CHECK_EQ(alignment, 64u);
  CHECK_EQ(int{hint.bits}, 32);
  CHECK(scope == nullptr);
  // No address that anybody might look at.
  static std::atomic<uintptr_t> next{1};
  *out = reinterpret_cast<void*>(next++);
  ++device_live;
  return 0;
}
int DeviceFree(void*, int, void*) {
  --device_live;
  return 0;
}

int DeviceCopy(void*, const void*, uint64_t, DLDevice, void*, uint64_t, DLDevice, size_t,
               TVMStreamHandle) {
  return 0;
}

TEST(OtherDevices) {
  TVMDeviceAPI api{};
  api.version = TVM_DEVICE_API_VERSION;
  api.size = sizeof(api);
  api.name = "workspace_test";
  api.exist = DeviceExist;
  api.alloc = DeviceAlloc;
  api.free = DeviceFree;
  api.copy = DeviceCopy;
  CHECK_OK(TVMRegisterDeviceAPI(kDLExtDev, &api, 1));
  int64_t before = Held();
  InThread([&] {
    void* a = Alloc(5000, kDLExtDev);
    void* host = Alloc(5000);
    REQUIRE(a != nullptr);
    CHECK(a != host);
    CHECK_EQ(device_live.load(), 1);
    CHECK_FAILS_WITH(Free(a), "that is in use");  // of another device
    CHECK_EQ(Free(a, kDLExtDev), 0);
    CHECK_EQ(device_live.load(), 1);  // kept
    CHECK_EQ(Alloc(5000, kDLExtDev), a);
    CHECK_EQ(Free(a, kDLExtDev), 0);
    CHECK_EQ(Free(host), 0);
    device_full = true;
    TVMErrorClear();
    CHECK(Alloc(100000, kDLExtDev) == nullptr);
    CHECK_EQ(tvm_test::LastError(), std::string("MemoryError: the test device is full"));
    TVMErrorClear();
    device_full = false;
  });
  CHECK_EQ(device_live.load(), 0);
  CHECK_EQ(Held(), before);
}

// ---- fork --------------------------------------------------------------------------------------

TEST(ForkWhileOthersAllocate) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        std::thread([] { Free(Alloc(100)); }).join();
        Free(Alloc(200000));
      }
    });
  }
  void* mine = Alloc(3000);
  for (int i = 0; i < 20; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);
      tvm_test::Failures() = 0;  // its own
      CHECK_EQ(Free(mine), 0);
      CHECK_EQ(Free(Alloc(100)), 0);
#if !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)  // whose locks fork does not reset
      void* other = nullptr;
      InThread([&] { other = Alloc(100); });
      CHECK_EQ(Free(other), 0);
#endif
      CHECK_FAILS_WITH(Free(&stop), "that is in use");  // looks through all pools
      _exit(tvm_test::Failures() == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
  }
  stop = true;
  for (auto& thread : threads) thread.join();
  CHECK_EQ(Free(mine), 0);
}

}  // namespace

TEST_MAIN()
