import type { AuditEntry } from '../contracts/audit.ts'
import type { AuditFiles } from './audit-files.ts'
import type { End } from './audit-heads.ts'
import { parse, stamp } from './audit-lines.ts'

/** Goes on from what a killed process left: whole lines count, a torn one is cut off, and that it happened is written down. */
export function repair(
  file: AuditFiles,
  size: number,
  sealed: End,
  intended: End,
  mustHold: (file: AuditFiles, end: End) => void,
  tell: (entry: AuditEntry) => void,
): End {
  if (size < sealed.end || size > Math.max(sealed.end, intended.end)) {
    // Not a crash of ours: leave every byte as evidence and go on behind it. `audit verify` names the line, unless the seal is forged.
    if (sealed.seq > 0) mustHold(file, sealed)
    const tail = file.size() > 0 ? file.readAt(size - 1, 1).toString() : '\n'
    const patch = tail === '\n' ? '' : '\n'
    if (patch) file.append(Buffer.from(patch))
    tell(
      stamp({
        event: 'recovered',
        message: 'the log does not end where it was sealed; see audit verify',
        details: { sealed: sealed.seq, bytes: size, sealedBytes: sealed.end },
      }),
    )
    return { seq: sealed.seq, hash: sealed.hash, end: size + patch.length }
  }
  const rest = file.readAt(sealed.end, size - sealed.end)
  const whole = rest.lastIndexOf(0x0a) + 1
  let at = sealed
  for (const text of rest.subarray(0, whole).toString('utf8').split('\n').filter(Boolean)) {
    const line = parse(text)
    at = { seq: at.seq + 1, hash: line?.hash ?? at.hash, end: at.end + Buffer.byteLength(text) + 1 }
  }
  mustHold(file, at)
  if (whole < rest.length) file.truncate(sealed.end + whole)
  tell(
    stamp({
      event: 'recovered',
      message: 'a process died while it wrote to this log',
      details: { lines: at.seq - sealed.seq, tornBytes: rest.length - whole },
    }),
  )
  return at
}
