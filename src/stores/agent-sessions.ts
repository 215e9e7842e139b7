import { randomBytes } from 'node:crypto'
import type { AgentRecord, AgentSessions } from '../contracts/agent.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { bounds } from '../contracts/kept.ts'
import type { Database } from '../host/database.ts'
import { isRunning, ownName } from '../host/running.ts'

const { characters } = bounds.agentSessions

/** Conversations with the agent, each as one row that is written whole: what a crash leaves is the last step that was ended. */
export function openAgentSessions(db: Database, most: () => number): AgentSessions {
  return {
    has: (session) => db.get('SELECT 1 FROM agent_sessions WHERE session = ?', session) !== undefined,
    load(session) {
      const row = db.get<{ body: string }>('SELECT body FROM agent_sessions WHERE session = ?', session)
      return row && (JSON.parse(row.body) as AgentRecord)
    },
    save(record) {
      const body = JSON.stringify(record)
      if (body.length > characters)
        throw new Fault('too-large', 'The conversation is too long to be kept', { hint: 'Begin a new one.' })
      const { session, goal, state, updatedAt } = record
      db.transaction(() => {
        db.run(
          'INSERT OR REPLACE INTO agent_sessions (session, goal, state, body, updated_at) VALUES (?, ?, ?, ?, ?)',
          session,
          goal.slice(0, 200),
          state,
          body,
          updatedAt,
        )
        db.run(
          'DELETE FROM agent_sessions WHERE session IN (SELECT session FROM agent_sessions ORDER BY updated_at DESC, session LIMIT -1 OFFSET ?)',
          most(),
        )
      }, true)
    },
    remove: (session) => db.run('DELETE FROM agent_sessions WHERE session = ?', session) > 0,
    take: (session) =>
      db.transaction(() => {
        // What a killed process had in hand nobody has.
        for (const { holder } of db.all<{ holder: string }>('SELECT holder FROM agent_turns'))
          if (!isRunning(holder.split(' ', 1)[0] as string)) db.run('DELETE FROM agent_turns WHERE holder = ?', holder)
        const holder = `${ownName()} ${randomBytes(8).toString('hex')}`
        if (db.run('INSERT OR IGNORE INTO agent_turns (session, holder) VALUES (?, ?)', session, holder) === 0) return undefined
        return () => void db.run('DELETE FROM agent_turns WHERE holder = ?', holder)
      }),
    list: (limit) =>
      db.all(
        'SELECT session, goal, state, updated_at AS updatedAt FROM agent_sessions ORDER BY updated_at DESC, session LIMIT ?',
        limit,
      ),
  }
}
