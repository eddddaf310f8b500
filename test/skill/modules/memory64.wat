;; memory64.wat: a memory with 64-bit addresses. (--enable-memory64)
(module
  (memory (export "memory") i64 1)
  (func (export "_start")))
