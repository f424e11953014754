import { join } from 'node:path'
import type { CallCounts, Trouble } from '../local/console/counting-proxy'
import { type Child, startChild } from './child'
import type { ProxyQuestion } from './children/proxies'

/** One proxy, seen from the bench. */
export interface EngineProxy {
  /** What clients take for DynamoDB's URL. */
  readonly endpoint: string
  /** Calls since this was last asked. */
  counts(): Promise<CallCounts>
  setTrouble(trouble: Trouble): Promise<void>
}

type Unnumbered<Question> = Question extends unknown ? Omit<Question, 'id'> : never

/** A process that holds counting proxies. */
export class Proxies {
  readonly #child: Child = startChild(join(__dirname, 'children', 'proxies.ts'))

  /** A proxy in front of an engine: one for each product, so that each has its own count. */
  async open(engine: string): Promise<EngineProxy> {
    const ask = <Answer>(question: Unnumbered<ProxyQuestion>) => this.#child.ask<Answer>(question)
    const url = await ask<string>({ ask: 'open', endpoint: engine })
    return {
      endpoint: url,
      counts: () => ask<CallCounts>({ ask: 'take', url }),
      setTrouble: (trouble) => ask<void>({ ask: 'trouble', url, trouble }),
    }
  }

  stop(): Promise<void> {
    return this.#child.stop()
  }
}
