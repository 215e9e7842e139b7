import { markName } from '../running.ts'

/**
 * A line of shell that waits, beside whatever is started after it, on pipe number 3, which closes with us: whatever ends Handrail,
 * kill -9 included, ends the process it was told of there, and all that carries the mark. It is in the group of the process it stands
 * beside, and ends with it. Who was being started while it looked, by somebody who ended before he was looked at, is found by
 * looking again: nobody, twice, is nobody.
 */
export const parentDeathWatchdog = `(
  first=
  while read -r told; do first=$told; done <&3
  [ -z "$first" ] || kill -9 "$first"
  read -r me _ </proc/self/stat
  quiet=0 rounds=0
  while [ "$quiet" -lt 2 ] && [ "$rounds" -lt 20 ]; do
    quiet=$((quiet + 1)) rounds=$((rounds + 1))
    for at in $(grep -lszxF "${markName}=$${markName}" /proc/[0-9]*/environ); do
      one=\${at#/proc/} one=\${one%/environ}
      [ "$one" = "$me" ] || ! kill -9 "$one" || quiet=0
    done
  done
) >/dev/null 2>&1 4<&- 5<&- 6<&- &`
