"""The LLVM code generator: lowered functions to LLVM text, to machine code, to callable functions.

============  ======================================================================
types         dtypes as LLVM types and constants
writer        lines, registers, blocks, value numbers of one function
numeric       arithmetic and conversions with the semantics of the interpreter
memory        indices, loads, stores
expr, call    one rule an expression class, one rule an operator
stmt          one rule a statement class
sums          elements that loops keep in registers
function      whole functions, bodies of parallel loops
unit          one module: slots, strings, metadata
machine       processors and LLVM's target machines
disk_cache    objects of earlier builds, if TVM_CACHE_DIR is set
compile       passes, object code, the check of what it takes from outside
helpers       functions that a module carries along
intrinsics    which LLVM intrinsics may be called by name
objects       what an object takes from outside
jit           object code in this process
build         from an IRModule to a runtime module
============  ======================================================================
"""
