// Loaded into a server before anything else: how long its event loop stood still, and how much of that it worked itself. On a machine
// that others use, too, the rest is time in which it had no processor.
const { openSync, readSync, writeFileSync } = require('node:fs')

const everyMs = 5
const longMs = 30
const text = Buffer.alloc(64)
const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')

/** What the system says of our first thread: how long it ran, and how long it was ready to and did not. */
function times() {
  const [ran, waited] = text
    .toString('latin1', 0, readSync(file, text, 0, text.length, 0))
    .split(' ')
    .map(Number)
  return { at: performance.now(), ran: ran / 1e6, waited: waited / 1e6 }
}

let [since, last] = [times(), times()]
let stops = []
setInterval(() => {
  const now = times()
  if (now.at - last.at - everyMs > longMs) stops.push(now.ran - last.ran)
  last = now
}, everyMs).unref()

/** Since it was asked for last. */
globalThis.takeLoopStops = () => {
  const now = times()
  const own = stops.filter((ms) => ms > longMs)
  const says = `${stops.length} stops over ${longMs} ms, ${own.length} of them its own work, longest of that ${Math.max(0, ...stops).toFixed(0)} ms; ran ${((now.ran - since.ran) / 1e3).toFixed(1)} s, ready without a processor ${((now.waited - since.waited) / 1e3).toFixed(1)} s`
  ;[since, stops] = [now, []]
  return says
}

if (process.env.LOOP_STOPS_FILE)
  process.once('exit', () => writeFileSync(process.env.LOOP_STOPS_FILE, globalThis.takeLoopStops()))
