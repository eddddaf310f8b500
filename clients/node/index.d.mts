// index.d.mts: the types for import.
export * from './index.js'
import * as abatis from './index.js'
export default abatis
