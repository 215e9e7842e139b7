import { shellWords } from '../../text/shell-words.ts'
import { callNumber } from './syscalls.ts'

/**
 * A session keyring goes along with every fork and exec, whatever namespaces there are, so a program would have that of the person's own session. Only a
 * process itself can join another, by a call that Node and the tools of the system do not make. Perl makes any call, and many systems have it;
 * it takes a millisecond or two, while a stage is set up.
 */
const join = (arch: string): string | undefined => {
  const keyctl = callNumber('keyctl', arch)
  return keyctl === undefined ? undefined : `syscall(${keyctl}, 1, 0)`
}

/** What says whether one can be had here. */
export function tryingKeyring(arch: string): string[] {
  return ['-e', `print(${join(arch) ?? -1} < 0 ? 'none' : 'fresh')`]
}

/** A line of shell that becomes what the shell was given, with a session keyring of its own where `perl` is one that makes them. */
export function execFresh(perl: string | undefined, arch: string): string {
  const joining = join(arch)
  if (perl === undefined || joining === undefined) return 'exec "$@"'
  // Where none can be had this time, the old one is still out of reach: no program gets the calls that lead to a key.
  return `exec ${shellWords([perl, '-e', `${joining}; exec {$ARGV[0]} @ARGV; exit 127`, '--'])} "$@"`
}
