;; names.wat: has an export whose name ends a comment of C and goes on with code, and another that ends a line.
(module
  (memory (export "memory") 1)
  (func (export "a*/ __attribute__((constructor)) static void planted(void) { __builtin_trap(); } /*"))
  (func (export "b\0a#error planted"))
  (func (export "_start")))
