import { createRequire } from 'node:module'

/** Here and not in a room: the built program lies one folder below package.json, and so does this. */
export const { version } = createRequire(import.meta.url)('../package.json') as { version: string }
