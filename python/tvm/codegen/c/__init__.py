"""The C code generator: lowered functions to readable C99, compiled by the machine's C compiler.

============  ======================================================================
dialect       what differs between C and the languages made from it, as a table
code          pieces of C text with their precedence, literals
helpers       small functions that a file carries along, where C has no operator
unit          one C file: helpers, slots, constants, functions
numeric       arithmetic and conversions with the semantics of the interpreter
memory        indices, loads, stores; vectors are loops over their lanes
expr, call    one rule an expression class, one rule an operator
stmt          one rule a statement class
function      whole functions, bodies of parallel loops
packed        calls of packed functions, functions in the packed form
build         from an IRModule to a runtime module
============  ======================================================================
"""
