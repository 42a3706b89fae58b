// Python objects inside native ones, and the rules for letting go of them.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

#include "border.h"

namespace tvm {
namespace python {

namespace {

// Only its address matters.
const char box_mark = 0;

struct Box {
  const void* mark;
  PyObject* object;
};

// The name of this call changed in 3.13, so it is looked up.
using IsFinalizingFunction = int (*)();
IsFinalizingFunction FindIsFinalizing() {
  void* found = dlsym(RTLD_DEFAULT, "Py_IsFinalizing");
  if (found == nullptr) found = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing");
  return reinterpret_cast<IsFinalizingFunction>(found);
}

bool IsFinalizing() {
  static const IsFinalizingFunction ask = FindIsFinalizing();
  return ask != nullptr && ask() != 0;
}

// Chains of Python and native objects that own each other go link by link; each link would take its
// part of the stack. From a certain depth on they wait for the outermost drop.
struct PendingDrop {
  PyObject* object;
  PendingDrop* next;
};
constexpr int kMaxNestedDrops = 40;
__thread int nested_drops = 0;
__thread PendingDrop* pending_drops = nullptr;

void DropNested(PyObject* object) {
  if (nested_drops >= kMaxNestedDrops) {
    if (auto* pending = static_cast<PendingDrop*>(malloc(sizeof(PendingDrop)))) {
      *pending = {object, pending_drops};
      pending_drops = pending;
      return;
    }
  }
  ++nested_drops;
  Py_DECREF(object);
  while (nested_drops == 1 && pending_drops != nullptr) {
    PendingDrop* pending = pending_drops;
    pending_drops = pending->next;
    object = pending->object;
    free(pending);
    Py_DECREF(object);
  }
  --nested_drops;
}

}  // namespace

void GILRelease::TakeBack(PyThreadState* state) {
  StopAtThreadExit([state] { PyEval_RestoreThread(state); });
}

bool InterpreterIsAlive() { return Py_IsInitialized() && !IsFinalizing(); }

void DropReference(PyObject* object) {
  if (object == nullptr || !Py_IsInitialized()) return;
  if (IsFinalizing()) {
    // Other threads never get the GIL again. The main thread, which tears the modules down, has it.
    bool is_main_thread = syscall(SYS_gettid) == getpid();
    if (is_main_thread && PyGILState_Check()) Py_DECREF(object);
    return;
  }
  StopAtThreadExit([&] {
    PyGILState_STATE gil = PyGILState_Ensure();
    // What runs now (__del__, weakref callbacks) must not see, or lose, the caller's exception.
    PyObject* exc = TakeException();
    DropNested(object);
    if (exc != nullptr) RestoreException(exc);
    PyGILState_Release(gil);
  });
}

void* BoxNew(PyObject* object) {
  auto* box = static_cast<Box*>(malloc(sizeof(Box)));
  if (box == nullptr) return PyErr_NoMemory();
  box->mark = &box_mark;
  box->object = Py_NewRef(object);
  return box;
}

PyObject* BoxGet(void* box) {
  auto* b = static_cast<Box*>(box);
  return b != nullptr && b->mark == &box_mark ? b->object : nullptr;
}

void BoxDrop(void* box) {
  PyObject* object = BoxGet(box);
  if (object == nullptr) return;
  static_cast<Box*>(box)->mark = nullptr;
  free(box);
  DropReference(object);
}

TVMObjectHandle HolderFromPy(PyObject* object) {
  void* box = BoxNew(object);
  if (box == nullptr) return nullptr;
  TVMObjectHandle out = nullptr;
  if (TVMHolderCreate(box, BoxDrop, &out) != 0) {
    BoxDrop(box);
    RaiseLastError();
    return nullptr;
  }
  return out;
}

namespace {

PyObject* ShapeTupleToPy(runtime::Object* object) {
  const int64_t* values = nullptr;
  int64_t size = 0;
  if (TVMShapeTupleGet(object, &values, &size) != 0) return RaiseLastError();
  PyObject* items = PyTuple_New(static_cast<Py_ssize_t>(size));
  if (items == nullptr) return nullptr;
  for (int64_t i = 0; i < size; ++i) {
    PyObject* item = PyLong_FromLongLong(values[i]);
    if (item == nullptr || PyTuple_SetItem(items, static_cast<Py_ssize_t>(i), item) != 0) {
      Py_DECREF(items);
      return nullptr;
    }
  }
  if (hook_classes.shape_tuple == nullptr) return items;
  PyObject* cls = reinterpret_cast<PyObject*>(hook_classes.shape_tuple);
  PyObject* shape = PyObject_CallFunctionObjArgs(cls, items, nullptr);
  Py_DECREF(items);
  return shape;
}

PyObject* ForeignObject(uint32_t type_index) {
  char* key = nullptr;
  if (TVMObjectTypeIndex2Key(type_index, &key) != 0) {
    TVMErrorClear();
    return RaiseKind("TypeError", "a native object of unknown type %u cannot come to Python",
                     type_index);
  }
  RaiseKind("TypeError", "a native object of type %.200s cannot come to Python", key);
  TVMStringFree(key);
  return nullptr;
}

}  // namespace

PyObject* ObjectToPy(runtime::Object* object) {
  if (object == nullptr) return Py_NewRef(Py_None);
  switch (object->type_index) {
    case kTVMTypeNDArray:
      object->IncRef();
      return WrapNDArray(&static_cast<NDArrayContainer*>(object)->dl);
    case kTVMTypeModule:
      object->IncRef();
      return WrapModule(object);
    case kTVMTypePackedFunc:
      object->IncRef();
      return WrapPackedFunc(object);
    case kTVMTypeShapeTuple:
      return ShapeTupleToPy(object);
    default:
      break;
  }
  void* box = nullptr;
  if (TVMHolderGet(object, &box) != 0) TVMErrorClear();
  PyObject* held = BoxGet(box);
  return held != nullptr ? Py_NewRef(held) : ForeignObject(object->type_index);
}

}  // namespace python
}  // namespace tvm
