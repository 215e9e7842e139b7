import { aboutArguments } from './messages/arguments.ts'
import { aboutGame } from './messages/game.ts'
import type { Message } from './messages/message.ts'
import { aboutStatements } from './messages/statements.ts'

/** `{name}` stands for what is found. Both languages are complete; a test compares their names. */
export const messages = { ...aboutStatements, ...aboutArguments, ...aboutGame } satisfies Record<string, Message>

export type Code = keyof typeof messages
