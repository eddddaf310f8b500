;; memories.wat: two memories. (--enable-multi-memory)
(module
  (memory (export "memory") 1)
  (memory 1)
  (func (export "_start")))
