// The type tvm.runtime.Module, and modules of compiled functions.
#include <cstring>
#include <string>
#include <vector>

#include "border.h"

namespace tvm {
namespace python {

PyTypeObject* ModuleType = nullptr;

using runtime::Object;
using runtime::PackedFuncObj;

namespace {

const char kEntry[] = "__tvm_main__";

inline ModuleObject* Self(PyObject* o) { return reinterpret_cast<ModuleObject*>(o); }

const char* TypeKey(PyObject* o) {
  const char* key = "";
  if (TVMModTypeKey(Self(o)->handle, &key) != 0) TVMErrorClear();
  return key;
}

PyObject* FunctionNames(PyObject* o) {
  int n = 0;
  const char** names = nullptr;
  if (TVMModListFunctions(Self(o)->handle, &n, &names) != 0) return RaiseLastError();
  PyObject* list = PyList_New(n);
  for (int i = 0; list != nullptr && i < n; ++i) {
    PyObject* name = PyUnicode_FromString(names[i]);
    if (name == nullptr || PyList_SetItem(list, i, name) != 0) Py_CLEAR(list);
  }
  return list;
}

// "'a', 'b'"
std::string Quoted(PyObject* names) {
  std::string all;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(names, i));
    if (text == nullptr) PyErr_Clear();
    all += (i == 0 ? "'" : ", '") + std::string(text == nullptr ? "?" : text) + "'";
  }
  return all;
}

// "a module of type llvm has no function 'x'; it has 'a', 'b'"
PyObject* RaiseMissing(PyObject* o, const char* name) {
  PyObject* names = FunctionNames(o);
  if (names == nullptr) return nullptr;
  if (PyList_GET_SIZE(names) == 0) {
    Py_DECREF(names);
    return RaiseKind("AttributeError", "a module of type %.100s has no function '%.200s'",
                     TypeKey(o), name);
  }
  std::string all = OrNoMemory([names] { return Quoted(names); });
  Py_DECREF(names);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return RaiseKind("AttributeError",
                   "a module of type %.100s has no function '%.200s'; it has %.2000s", TypeKey(o),
                   name, all.c_str());
}

// New reference; NULL with an exception.
TVMFunctionHandle FindFunction(PyObject* o, const char* name, bool query_imports) {
  TVMFunctionHandle func = nullptr;
  if (TVMModGetFunction(Self(o)->handle, name, query_imports ? 1 : 0, &func) != 0) {
    RaiseLastError();
    return nullptr;
  }
  if (func == nullptr) RaiseMissing(o, name);
  return func;
}

PyObject* Call(PyObject* o, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  if (kwnames != nullptr && PyTuple_GET_SIZE(kwnames) != 0) {
    return RaiseKind("TypeError", "a module takes no keyword arguments, got %R",
                     PyTuple_GET_ITEM(kwnames, 0));
  }
  ModuleObject* self = Self(o);
  PackedFuncObj* entry = __atomic_load_n(&self->entry, __ATOMIC_ACQUIRE);
  if (__builtin_expect(entry == nullptr, 0)) {
    entry = static_cast<PackedFuncObj*>(FindFunction(o, kEntry, false));
    if (entry == nullptr) return nullptr;
    PackedFuncObj* expected = nullptr;
    if (!__atomic_compare_exchange_n(&self->entry, &expected, entry, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
      entry->DecRef();
      entry = expected;
    }
  }
  return CallPackedFunc(entry, args, PyVectorcall_NARGS(nargsf));
}

void Dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  ModuleObject* self = Self(o);
  if (self->weakrefs != nullptr) PyObject_ClearWeakRefs(o);
  if (self->entry != nullptr) self->entry->DecRef();
  if (self->handle != nullptr) static_cast<Object*>(self->handle)->DecRef();
  auto release = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
  release(o);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* Make(PyTypeObject* type, TVMModuleHandle handle) {
  auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* o = allocate(type, 0);
  if (o == nullptr) {
    static_cast<Object*>(handle)->DecRef();
    return nullptr;
  }
  Self(o)->handle = handle;
  Self(o)->vectorcall = Call;
  return o;
}

PyObject* New(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (PyTuple_GET_SIZE(args) != 1 || (kwargs != nullptr && PyDict_Size(kwargs) != 0) ||
      !IsInstance(PyTuple_GET_ITEM(args, 0), ModuleType)) {
    return RaiseKind("TypeError",
                     "Module(module) takes one module; tvm.build and tvm.runtime.load_module "
                     "make new ones");
  }
  TVMModuleHandle handle = Self(PyTuple_GET_ITEM(args, 0))->handle;
  static_cast<Object*>(handle)->IncRef();
  return Make(type, handle);
}

PyObject* GetFunction(PyObject* o, PyObject* args, PyObject* kwargs) {
  static const char* const keywords[] = {"name", "query_imports", nullptr};
  PyObject* key = nullptr;
  int query_imports = 0;
  if (!ParseArguments(args, kwargs, "O|p:get_function", keywords, &key, &query_imports)) {
    return nullptr;
  }
  const char* name = TextFromPy(key, "get_function");
  if (name == nullptr) return nullptr;
  TVMFunctionHandle func = FindFunction(o, name, query_imports != 0);
  return func == nullptr ? nullptr : WrapPackedFunc(func);
}

PyObject* Subscript(PyObject* o, PyObject* key) {
  if (!PyUnicode_Check(key)) {
    return RaiseKind("TypeError", "module[name]: expected the name of a function, got %R", key);
  }
  const char* name = TextFromPy(key, "module[name]");
  if (name == nullptr) return nullptr;
  TVMFunctionHandle func = FindFunction(o, name, false);
  return func == nullptr ? nullptr : WrapPackedFunc(func);
}

PyObject* ImportModule(PyObject* o, PyObject* other) {
  if (!IsInstance(other, ModuleType)) {
    return RaiseKind("TypeError", "import_module: expected a Module, got %.200R",
                     reinterpret_cast<PyObject*>(Py_TYPE(other)));
  }
  if (TVMModImport(Self(o)->handle, Self(other)->handle) != 0) return RaiseLastError();
  Py_RETURN_NONE;
}

PyObject* ListFunctions(PyObject* o, PyObject*) { return FunctionNames(o); }

PyObject* SameAs(PyObject* self, PyObject* other) {
  return PyBool_FromLong(IsInstance(other, ModuleType) &&
                         Self(self)->handle == Self(other)->handle);
}

PyObject* GetImports(PyObject* o, void*) {
  int n = 0;
  if (TVMModNumImports(Self(o)->handle, &n) != 0) return RaiseLastError();
  PyObject* imports = PyTuple_New(n);
  for (int i = 0; imports != nullptr && i < n; ++i) {
    TVMModuleHandle handle = nullptr;
    PyObject* module =
        TVMModGetImport(Self(o)->handle, i, &handle) == 0 ? WrapModule(handle) : RaiseLastError();
    if (module == nullptr || PyTuple_SetItem(imports, i, module) != 0) Py_CLEAR(imports);
  }
  PyObject* cls = ContainerClass("Array");
  if (imports == nullptr || cls == nullptr) return imports;
  PyObject* array = PyObject_CallFunctionObjArgs(cls, imports, nullptr);
  Py_DECREF(imports);
  return array;
}

PyObject* GetTypeKey(PyObject* o, void*) { return PyUnicode_FromString(TypeKey(o)); }
PyObject* GetEntryName(PyObject*, void*) { return PyUnicode_FromString(kEntry); }
PyObject* GetHandle(PyObject* o, void*) { return PyLong_FromVoidPtr(Self(o)->handle); }

PyObject* Repr(PyObject* o) {
  return PyUnicode_FromFormat("<tvm.runtime.Module of type %.100s at %p>", TypeKey(o),
                              Self(o)->handle);
}

PyObject* Compare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || !IsInstance(b, ModuleType)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((Self(a)->handle == Self(b)->handle) == (op == Py_EQ));
}

Py_hash_t Hash(PyObject* o) {
  return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(Self(o)->handle) >> 4);
}

PyGetSetDef getset[] = {
    {"type_key", GetTypeKey, nullptr, "What made the module: 'llvm', 'c', 'library' ...", nullptr},
    {"entry_name", GetEntryName, nullptr, "The name that the entry function answers to.", nullptr},
    {"imported_modules", GetImports, nullptr, "The modules that this one imports.", nullptr},
    {"handle_value", GetHandle, nullptr, "The address of the native module object, as an int.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {
    {"get_function", AsCFunction(GetFunction), METH_VARARGS | METH_KEYWORDS,
     "get_function($self, /, name, query_imports=False)\n--\n\n"
     "The function called name; AttributeError when there is none."},
    {"import_module", ImportModule, METH_O,
     "import_module($self, module, /)\n--\n\nLet the functions of module be found from this one."},
    {"_list_functions", ListFunctions, METH_NOARGS,
     "_list_functions($self, /)\n--\n\nThe names of the module's own functions."},
    {"same_as", SameAs, METH_O,
     "same_as($self, other, /)\n--\n\nWhether other is the same native module."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ModuleObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ModuleObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

const char doc[] =
    "Functions that belong together: the result of a build, or a loaded library.\n\n"
    "module[name] is a function; calling the module calls its entry function.";

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>(doc)},
                       {Py_tp_new, AsSlot(New)},
                       {Py_tp_dealloc, AsSlot(Dealloc)},
                       {Py_tp_call, AsSlot(PyVectorcall_Call)},
                       {Py_tp_repr, AsSlot(Repr)},
                       {Py_tp_richcompare, AsSlot(Compare)},
                       {Py_tp_hash, AsSlot(Hash)},
                       {Py_mp_subscript, AsSlot(Subscript)},
                       {Py_tp_getset, getset},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};

PyType_Spec spec = {"tvm.runtime.module.Module", sizeof(ModuleObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL, slots};

// Asks the holder for the address of a function that is made only when it is called.
void* ResolveBody(void* holder, const char* name) {
  PyObject* held = BoxGet(holder);
  if (held == nullptr || !InterpreterIsAlive()) return nullptr;
  return StopAtThreadExit([&]() -> void* {
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject* pending = PyErr_Occurred() != nullptr ? TakeException() : nullptr;
    PyObject* address = PyObject_CallMethod(held, "address_of", "s", name);
    void* found = address == nullptr ? nullptr : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    if (found == nullptr) SetLastErrorFromPython();
    if (pending != nullptr) RestoreException(pending);
    PyGILState_Release(gil);
    return found;
  });
}

// One entry of table_module's list. The pointers are borrowed from the list's objects.
bool ReadFunction(PyObject* item, TVMTableFunction* out) {
  if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 3) {
    RaiseKind("TypeError", "table_module: expected (name, address, table), got %R", item);
    return false;
  }
  PyObject *address = PyTuple_GET_ITEM(item, 1), *table = PyTuple_GET_ITEM(item, 2);
  out->name = TextFromPy(PyTuple_GET_ITEM(item, 0), "table_module: the name of a function");
  if (out->name == nullptr) return false;
  void* body = address == Py_None ? nullptr : PyLong_AsVoidPtr(address);
  if (body == nullptr && address != Py_None) {
    if (!PyErr_Occurred()) RaiseKind("ValueError", "table_module: %.200s has no code", out->name);
    return false;
  }
  if (!PyBytes_Check(table)) {
    RaiseKind("TypeError", "table_module: the table of %.200s must be bytes, got %R", out->name,
              table);
    return false;
  }
  out->body = reinterpret_cast<int32_t (*)(const uint64_t*)>(body);
  out->table = PyBytes_AS_STRING(table);
  out->table_size = static_cast<size_t>(PyBytes_GET_SIZE(table));
  return true;
}

PyObject* TableModule(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const keywords[] = {"type_key", "functions", "entry", "holder", nullptr};
  PyObject *key = nullptr, *functions = nullptr, *entry_name = Py_None, *holder = Py_None;
  if (!ParseArguments(args, kwargs, "OO|OO:table_module", keywords, &key, &functions, &entry_name,
                      &holder)) {
    return nullptr;
  }
  const char* type_key = TextFromPy(key, "table_module: type_key");
  if (type_key == nullptr) return nullptr;
  const char* entry = nullptr;
  if (entry_name != Py_None) {
    entry = TextFromPy(entry_name, "table_module: entry");
    if (entry == nullptr) return nullptr;
  }
  PyObject* items = PySequence_Tuple(functions);
  if (items == nullptr) return nullptr;
  std::vector<TVMTableFunction> table = OrNoMemory([items] {
    return std::vector<TVMTableFunction>(static_cast<size_t>(PyTuple_GET_SIZE(items)));
  });
  if (PyErr_Occurred() != nullptr) {
    Py_DECREF(items);
    return nullptr;
  }
  for (size_t i = 0; i < table.size(); ++i) {
    if (!ReadFunction(PyTuple_GET_ITEM(items, static_cast<Py_ssize_t>(i)), &table[i])) {
      Py_DECREF(items);
      return nullptr;
    }
  }
  void* box = BoxNew(holder);
  TVMModuleHandle handle = nullptr;
  if (box != nullptr && TVMTableModuleCreate(type_key, table.data(), static_cast<int>(table.size()),
                                             entry, box, BoxDrop, &handle) != 0) {
    // Creation failed: the holder is still ours.
    RaiseLastError();
    PyObject* exc = TakeException();
    BoxDrop(box);
    RestoreException(exc);
  }
  Py_DECREF(items);
  if (handle != nullptr) TVMTableModuleSetResolver(handle, ResolveBody);
  return handle == nullptr ? nullptr : WrapModule(handle);
}

PyObject* LoadModule(PyObject*, PyObject* args, PyObject* kwargs) {
  static const char* const keywords[] = {"path", "fmt", nullptr};
  PyObject *path_object = nullptr, *path = nullptr, *format_object = nullptr;
  if (!ParseArguments(args, kwargs, "O|O:load_module", keywords, &path_object, &format_object)) {
    return nullptr;
  }
  const char* format = format_object == nullptr ? "" : TextFromPy(format_object, "load_module");
  if (format == nullptr) return nullptr;
  if (PyUnicode_FSConverter(path_object, &path) == 0) {
    PyObject* exc = TakeException();
    bool wrong_type = PyErr_GivenExceptionMatches(exc, PyExc_TypeError);
    if (!wrong_type && !PyErr_GivenExceptionMatches(exc, PyExc_ValueError)) {
      RestoreException(exc);
      return nullptr;
    }
    RaiseKind(wrong_type ? "TypeError" : "ValueError", "load_module: %S", exc);
    Py_DECREF(exc);
    return nullptr;
  }
  TVMModuleHandle handle = nullptr;
  int rc;
  {
    GILRelease release;
    rc = TVMModLoadFromFile(PyBytes_AS_STRING(path), format, &handle);
  }
  Py_DECREF(path);
  return rc != 0 ? RaiseLastError() : WrapModule(handle);
}

PyObject* ModuleHolder(PyObject*, PyObject* module) {
  if (!IsInstance(module, ModuleType)) {
    return RaiseKind("TypeError", "module_holder: expected a Module, got %R", module);
  }
  void* box = nullptr;
  if (TVMModGetHolder(Self(module)->handle, &box) != 0) return RaiseLastError();
  PyObject* held = BoxGet(box);
  return Py_NewRef(held == nullptr ? Py_None : held);
}

PyMethodDef functions[] = {
    {"table_module", AsCFunction(TableModule), METH_VARARGS | METH_KEYWORDS,
     "table_module($module, /, type_key, functions, entry=None, holder=None)\n--\n\n"
     "A Module of compiled functions, each given as (name, address, argument table). An address "
     "of\n"
     "None is asked of the holder, as holder.address_of(name), when the function is called."},
    {"load_module", AsCFunction(LoadModule), METH_VARARGS | METH_KEYWORDS,
     "load_module($module, /, path, fmt='')\n--\n\nA Module from a file."},
    {"module_holder", ModuleHolder, METH_O,
     "module_holder($module, module, /)\n--\n\n"
     "The Python object that keeps a module's code; None when there is none."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* WrapModule(TVMModuleHandle handle) {
  return handle == nullptr ? nullptr : Make(ModuleType, handle);
}

int InitModule(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &spec, nullptr);
  if (type == nullptr) return -1;
  ModuleType = reinterpret_cast<PyTypeObject*>(type);
  if (PyModule_AddType(module, ModuleType) != 0) return -1;
  return PyModule_AddFunctions(module, functions);
}

}  // namespace python
}  // namespace tvm
