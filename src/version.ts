import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Here and not in a room: the built program lies one folder below package.json, and so does this. */
export const { version } = createRequire(import.meta.url)('../package.json') as { version: string }

/** A folder of the package: prompts and skills lie beside the program. */
export const packaged = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url))
