import type { Asked, Told } from './messages'
import { explain } from './model/explain'
import { run } from './model/run'

/** As much of a worker's scope as is used; the compiler knows a page's. */
interface Scope {
  onmessage: ((event: MessageEvent<Asked>) => void) | null
  postMessage(told: Told, transfer?: readonly ArrayBufferLike[]): void
}
const scope = self as unknown as Scope

scope.onmessage = ({ data }) => {
  try {
    if (data.kind === 'explain') {
      const explanations = explain(data.setting, data.indexes)
      return scope.postMessage({ kind: 'explained', id: data.id, explanations })
    }
    const made = run(data.setting, (share) => scope.postMessage({ kind: 'progress', share }))
    const arrays = made.rows.flatMap(({ times, allowed, passes }) => [times.buffer, allowed.buffer, passes.buffer])
    scope.postMessage({ kind: 'run', run: made }, arrays)
  } catch (error) {
    scope.postMessage({ kind: 'failed', message: error instanceof Error ? error.message : String(error) })
  }
}
