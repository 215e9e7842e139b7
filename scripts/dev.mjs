// `npm run dev`: serves the sample project and starts again whenever the source changes.
import { spawn, spawnSync } from 'node:child_process'
import { watch } from 'node:fs'
import { join } from 'node:path'
import { root, setup } from './setup.mjs'

setup()
let child
const start = () => {
  child = spawn(process.execPath, [join(root, 'scripts', 'start.mjs'), ...process.argv.slice(2)], { stdio: 'inherit' })
}
let waiting
watch(join(root, 'src'), { recursive: true }, () => {
  clearTimeout(waiting)
  waiting = setTimeout(() => {
    if (spawnSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { stdio: 'inherit' }).status !== 0) return
    child.once('exit', start)
    child.kill('SIGTERM')
  }, 200)
})
process.on('SIGINT', () => child.kill('SIGINT'))
process.on('exit', () => child.kill('SIGTERM'))
start()
