// The suite imports `globSync`, new in Node 22, for one of its commands that we do not use, and so does not even start on Node 20.
// There it is given that name, bound to nothing; the rest of `fs` and the whole suite are as they are.
import * as fs from 'node:fs'
import { register } from 'node:module'

const withGlobSync = 'data:text/javascript,export * from "node:fs"; export const globSync = undefined'
const hooks = `export const resolve = (name, context, next) =>
  name === 'fs' && context.parentURL?.includes('/@modelcontextprotocol/conformance/')
    ? { url: ${JSON.stringify(withGlobSync)}, shortCircuit: true }
    : next(name, context)`

if (!('globSync' in fs)) register(`data:text/javascript,${encodeURIComponent(hooks)}`)
