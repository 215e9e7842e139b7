import type { Reason } from './faults/fault.ts'
import type { Risk, ToolEvent } from './tool.ts'

/** What is written down. `seq`, `at`, `prev` and `hash` are added by the log. */
export interface AuditEntry {
  event:
    | 'call.start'
    /** A request stopped waiting for a person. The call itself waits on, and the same call made again goes on with it. */
    | 'call.suspended'
    /** A person has agreed, and the call goes on under its id: on the disk before anything is done. */
    | 'call.resumed'
    /** Everything a program changed is in the project: written before that is settled, so no end of ours leaves it unsaid. */
    | 'call.landed'
    | 'call.end'
    | 'call.read'
    | 'approval.requested'
    | 'approval.decided'
    /** A client closed the form that asked; nobody has decided anything. */
    | 'approval.waved-away'
    /** A person took a no back. */
    | 'approval.lifted'
    /** What a person let a session do, each use of it, and its end. */
    | 'grant.given'
    | 'grant.used'
    | 'grant.revoked'
    /** A mounted MCP server: its tools were seen first, are not what was accepted, were accepted, or forgotten. */
    | 'mount.seen'
    | 'mount.changed'
    | 'mount.accepted'
    | 'mount.forgotten'
    /** A person removed a login that was saved. */
    | 'login.removed'
    | 'session.opened'
    | 'session.note'
    /** An agent asks the person something in words, and it stands where they answer. */
    | 'question.asked'
    /** The person answered what an agent had asked in words. */
    | 'question.answered'
    /** A surface turned a request away before it was a call. */
    | 'request.refused'
    | 'snapshot.pruned'
    | 'settings.changed'
    /** Which folder paths that begin with `//` and this name are in, from now on. */
    | 'root.named'
    /** The project lies on another device than before. */
    | 'state.remounted'
    /** A person took over or set aside what was kept of the project. */
    | 'state.adopted'
    | 'state.reset'
    | 'state.imported'
    | 'trust.granted'
    | 'trust.revoked'
    | 'recovered'
    /** A person started a new log after a break; what is left of the old one is kept beside it. */
    | 'audit.renewed'
    /** The log goes on in a new file; the one before is closed. */
    | 'audit.rotated'
    /** The oldest files of the log were dropped, by a person or a setting of theirs. */
    | 'audit.pruned'
    /** A person had dropped what was no longer needed. */
    | 'state.pruned'
    /** A run was accepted, taken in hand, came so far, waits for a person, goes on, or has ended. Its steps are calls of their own. */
    | 'plan.saved'
    | 'plan.run'
    | 'run.queued'
    | 'run.started'
    | 'run.progress'
    | 'run.waiting'
    | 'run.resumed'
    | 'run.ended'
    | ToolEvent
  call?: string
  run?: string
  session?: string
  surface?: string
  client?: string
  role?: string
  tool?: string
  risk?: Risk
  input?: unknown
  inputDigest?: string
  touches?: unknown
  /** Which of them are files that run something, or may hold secrets, and why. */
  marks?: string[]
  outcome?: 'ok' | 'replayed' | 'error' | 'cancelled'
  /** Contract 000's code, whichever contract the caller speaks, and the reason behind it. */
  error?: string
  reason?: Reason
  message?: string
  approval?: string
  by?: string
  approved?: boolean
  snapshots?: string[]
  evidence?: string[]
  ms?: number
  /** The place in its own trace that the caller gave. */
  traceparent?: string
  details?: unknown
}

export interface AuditLine extends AuditEntry {
  seq: number
  at: string
  prev: string
  hash: string
}

export interface Subscription {
  /** The number of the first line that is wanted; without it, what comes from now on. */
  from?: number
  /** Which kinds of lines are wanted: the others are not even taken apart. */
  events?: (event: string) => boolean
  /** Only lines of this session are wanted. */
  session?: string
  /** The place in the log is lost: it was renewed, cut or swapped. What comes after is told again; look at everything anew. */
  onLost?: (why: string) => void
  /** Handrail is closed here: nothing more comes. */
  onEnd?: () => void
}

/**
 * Hears the lines that were asked for, in order, some at a time, and the number up to which the log was read for it; no lines where all
 * that came were others. Whoever returns a promise is told nothing more until it is settled: the log itself is the buffer. Those who want the
 * same are handed the same list, which is nobody's to change.
 */
export type AuditListener = (lines: readonly AuditLine[], upTo: number) => void | Promise<void>

/** The one stream of what happens in a project, whichever process does it. Its cursor is the number of a line. */
export interface AuditStream {
  /** Returns how to unsubscribe. Nothing runs while nobody is subscribed. */
  subscribe(wanted: Subscription, listener: AuditListener): () => void
}

/** A file of the log that is full. */
export interface AuditFile {
  name: string
  bytes: number
  /** Its first and last entry, and when the later of the two was written: a clock may have been set back in between. */
  first: number
  last: number
  until: string
}

/** Where a log stood at a time: to be kept where nobody who can reach the log can reach it. */
export interface Anchor {
  project: string
  seq: number
  hash: string
  at: string
}

/** What `audit verify` found. `line` is 1-based and names the first bad line; 0 where it is the file itself. */
export type AuditVerdict =
  | {
      whole: true
      /** The number of its last entry. */
      lines: number
      head: string
      note?: string
      /** Entries up to this one are no longer kept: who dropped them, and when. */
      pruned?: { upTo: number; by: string; at: string }
    }
  | { whole: false; lines: number; line: number; why: string }
