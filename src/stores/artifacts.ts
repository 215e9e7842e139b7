import { Fault } from '../contracts/faults/fault.ts'
import type { ArtifactStore } from '../contracts/run-ports.ts'
import type { StateFolder } from '../host/state-folder.ts'
import { runInSlices, type Steps } from '../text/steps.ts'

const known = /^art_[0-9a-f]{32}$/

/** Contents of artifacts: a file each, named by its id. What no row names is what a killed process left, and is never found by anybody. */
export function openArtifacts(state: StateFolder): ArtifactStore {
  let folder: StateFolder | undefined
  const own = (): StateFolder => (folder ??= state.sub('artifacts'))
  const named = (id: string): string => {
    if (known.test(id)) return id
    throw new Fault('artifact-not-found', 'There is no such artifact', { hint: 'Its id is listed in artifactIds of its run.' })
  }
  return {
    async put(id, bytes) {
      await own().createSoon(named(id), bytes)
    },
    async read(id, offset, length) {
      const file = own().openToRead(named(id))
      if (!file)
        throw new Fault('artifact-expired', 'The content of this artifact is no longer kept', { details: { artifactId: id } })
      try {
        return await file.readSoon(offset, length)
      } finally {
        file.close()
      }
    },
    async remove(id) {
      own().remove(named(id))
    },
    writtenBefore: async (time) => (state.has('artifacts') ? runInSlices(writtenIn(own(), time)) : []),
  }
}

function* writtenIn(folder: StateFolder, before: number): Steps<string[]> {
  const found: string[] = []
  for (const name of folder.names()) {
    const stat = known.test(name) ? folder.stat(name) : undefined
    if (stat && stat.changedMs < before) found.push(name)
    yield
  }
  return found
}
