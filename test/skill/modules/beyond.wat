;; beyond.wat: reads one byte too far, and does not use it.
(module
  (memory (export "memory") 1 1)
  (func (export "_start")
    (drop (i32.load8_u (i32.const 65536)))))
