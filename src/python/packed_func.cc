// The type tvm.runtime.PackedFunc.
#include <cstring>

#include "border.h"

namespace tvm {
namespace python {

PyTypeObject* PackedFuncType = nullptr;

using runtime::PackedFuncObj;

namespace {

inline PackedFuncObject* Self(PyObject* o) { return reinterpret_cast<PackedFuncObject*>(o); }

PyObject* Call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  PackedFuncObj* func = Self(self)->func;
  if (__builtin_expect(kwnames != nullptr, 0) && PyTuple_GET_SIZE(kwnames) != 0) {
    return RaiseKind("TypeError", "%.200s: takes no keyword arguments, got %R", func->name,
                     PyTuple_GET_ITEM(kwnames, 0));
  }
  return CallPackedFunc(func, args, PyVectorcall_NARGS(nargsf));
}

// Whether the callable lives by this wrapper alone: only then does the collector see it as ours.
// A function that native code (or the table of global functions) holds, too, is a root.
bool OwnsCallable(PackedFuncObject* self) {
  PackedFuncObj* func = self->func;
  return func != nullptr && IsPyCallable(func) && func->use_count() == 1;
}

int Traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(o)));
  if (OwnsCallable(Self(o))) Py_VISIT(AsPyCallable(Self(o)->func)->callable);
  return 0;
}

int Clear(PyObject* o) {
  if (OwnsCallable(Self(o))) Py_CLEAR(AsPyCallable(Self(o)->func)->callable);
  return 0;
}

void Dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  PackedFuncObject* self = Self(o);
  PyObject_GC_UnTrack(o);
  PackedFuncObj* func = self->func;
  if (func != nullptr && IsPyCallable(func) && AsPyCallable(func)->wrapper == self) {
    AsPyCallable(func)->wrapper = nullptr;
  }
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(o);
  self->func = nullptr;
  if (func != nullptr) func->DecRef();
  auto release = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
  release(o);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* New(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) != 1 || (kwargs != nullptr && PyDict_Size(kwargs) != 0)) {
    return RaiseKind("TypeError", "PackedFunc(function) takes one callable");
  }
  TVMFunctionHandle handle = FunctionFromCallable(PyTuple_GET_ITEM(args, 0));
  if (handle == nullptr) return nullptr;
  auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* o = allocate(type, 0);
  if (o == nullptr) {
    TVMFuncFree(handle);
    return nullptr;
  }
  Self(o)->func = static_cast<PackedFuncObj*>(handle);
  Self(o)->vectorcall = Call;
  Self(o)->weakrefs = nullptr;
  Self(o)->is_global = false;
  return o;
}

PyObject* Repr(PyObject* o) {
  PyObject* name = PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(o)), "__name__");
  if (name == nullptr) return nullptr;
  const char* func_name = Self(o)->func->name;
  bool named = func_name != nullptr && *func_name != 0;
  PyObject* text = PyUnicode_FromFormat("<tvm.runtime.%U %.200s at %p>", name,
                                        named ? func_name : "(no name)", Self(o)->func);
  Py_DECREF(name);
  return text;
}

PyObject* Compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !IsInstance(b, PackedFuncType)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((Self(a)->func == Self(b)->func) == (op == Py_EQ));
}

Py_hash_t Hash(PyObject* o) {
  // Allocations are 16-byte aligned; a hash of -1 would mean an error.
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(Self(o)->func) >> 4);
}

PyObject* GetName(PyObject* o, void*) {
  const char* name = Self(o)->func->name;
  return PyUnicode_FromString(name == nullptr ? "" : name);
}
PyObject* GetIsGlobal(PyObject* o, void*) { return PyBool_FromLong(Self(o)->is_global); }
PyObject* GetHandle(PyObject* o, void*) { return PyLong_FromVoidPtr(Self(o)->func); }

PyObject* SameAs(PyObject* self, PyObject* other) {
  return PyBool_FromLong(IsInstance(other, PackedFuncType) &&
                         Self(self)->func == Self(other)->func);
}

PyGetSetDef getset[] = {
    {"name", GetName, nullptr, "The function's name for messages; empty when it has none.",
     nullptr},
    {"is_global", GetIsGlobal, nullptr,
     "Whether this reference came from the table of global functions.", nullptr},
    {"handle", GetHandle, nullptr, "The address of the native function object, as an int.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {
    {"same_as", SameAs, METH_O,
     "same_as($self, other, /)\n--\n\nWhether other is the same native function."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PackedFuncObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PackedFuncObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

const char doc[] =
    "PackedFunc(function, /)\n--\n\n"
    "A function of the runtime: compiled code, a native function, or a Python callable.\n\n"
    "Call it with positional arguments: numbers, text, bytes, arrays, tensors of other\n"
    "libraries, devices, functions, modules, lists, dictionaries, or any other object.";

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(doc)},
                       {Py_tp_new, AsSlot(New)},
                       {Py_tp_dealloc, AsSlot(Dealloc)},
                       {Py_tp_traverse, AsSlot(Traverse)},
                       {Py_tp_clear, AsSlot(Clear)},
                       {Py_tp_call, AsSlot(PyVectorcall_Call)},
                       {Py_tp_repr, AsSlot(Repr)},
                       {Py_tp_richcompare, AsSlot(Compare)},
                       {Py_tp_hash, AsSlot(Hash)},
                       {Py_tp_getset, getset},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};

PyType_Spec spec = {
    "tvm.runtime.packed_func.PackedFunc", sizeof(PackedFuncObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC,
    slots};

PyObject* ConvertFunction(PyObject*, PyObject* callable) {
  if (IsInstance(callable, PackedFuncType)) return Py_NewRef(callable);
  TVMFunctionHandle func = FunctionFromCallable(callable);
  return func == nullptr ? nullptr : WrapPackedFunc(func);
}

PyMethodDef functions[] = {{"convert_function", ConvertFunction, METH_O,
                            "convert_function($module, function, /)\n--\n\n"
                            "A callable as a PackedFunc; a PackedFunc as it is."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* WrapPackedFunc(TVMFunctionHandle handle) {
  if (handle == nullptr) return nullptr;
  auto* func = static_cast<PackedFuncObj*>(handle);
#ifndef Py_GIL_DISABLED
  // One wrapper a Python function: identity survives a round trip, and the collector can tell
  // that the wrapper is the only owner. Without a GIL the wrapper could be on its way out.
  if (IsPyCallable(func) && AsPyCallable(func)->wrapper != nullptr) {
    PyObject* known = Py_NewRef(reinterpret_cast<PyObject*>(AsPyCallable(func)->wrapper));
    func->DecRef();
    return known;
  }
#endif
  PackedFuncObject* self = PyObject_GC_New(PackedFuncObject, PackedFuncType);
  if (self == nullptr) {
    func->DecRef();
    return nullptr;
  }
  self->func = func;
  self->vectorcall = Call;
  self->weakrefs = nullptr;
  self->is_global = false;
  auto* o = reinterpret_cast<PyObject*>(self);
  // Native functions hold nothing that the collector could see.
  if (IsPyCallable(func)) {
#ifndef Py_GIL_DISABLED
    AsPyCallable(func)->wrapper = self;
#endif
    PyObject_GC_Track(o);
  }
  return o;
}

int InitPackedFunc(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &spec, nullptr);
  if (type == nullptr) return -1;
  PackedFuncType = reinterpret_cast<PyTypeObject*>(type);
  if (PyModule_AddType(module, PackedFuncType) != 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace python
}  // namespace tvm
