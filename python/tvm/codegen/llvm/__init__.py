"""The LLVM code generator: lowered functions to LLVM text, to machine code, to callable functions.

============  ======================================================================
types         dtypes as LLVM types and constants
writer        lines, registers, blocks, value numbers of one function
numeric       arithmetic and conversions with the semantics of the interpreter
memory        indices, loads, stores
expr, call    one rule an expression class, one rule an operator
stmt          statements, parallel loops, whole functions
unit          one module: slots, strings, metadata
machine       processors and LLVM's target machines
compile       passes, object code, the check of what it takes from outside
jit           object code in this process
============  ======================================================================
"""
