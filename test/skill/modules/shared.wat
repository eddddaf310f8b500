;; shared.wat: a memory that threads could share. (--enable-threads)
(module
  (memory (export "memory") 1 2 shared)
  (func (export "_start")))
