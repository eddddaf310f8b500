;; table.wat: a table of 2^28 elements, which are gigabytes in any engine.
(module
  (memory (export "memory") 1)
  (table 268435456 funcref)
  (func (export "_start")))
