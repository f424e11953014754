import type { Fault } from './fault'
import type { Instance, Told } from './instance'
import type { FaultyDynamoDb } from './proxy'
import { LIMIT, TABLES, type World } from './world'

/** One cell of the matrix: a fault at one step of one decision. */
export interface Cell {
  readonly fault: Fault
  /** Whether DynamoDB has done what it was asked when the fault comes. */
  readonly applied: boolean
  /** On the first call only, or on every one while the request lasts. */
  readonly tries: 'first' | 'every'
  /** An instance that has decided before, or one at its first request. */
  readonly instance: 'warm' | 'cold'
  /** What the address has left; `known` where this instance has just denied it. */
  readonly left: 'some' | 'nothing' | 'nothing, known'
}

/**
 * - `decided`: as the table says, and counted once.
 * - `degraded`: by the failure mode, and marked.
 */
export type Verdict = 'decided' | 'degraded'

export interface Outcome {
  readonly cell: Cell
  readonly verdict: Verdict
  /** What must not be, in sentences; empty when all is well. */
  readonly problems: readonly string[]
  /** By how much the decision came after its deadline, the delay of this process's timers taken off; negative when it came before. */
  readonly overrunMs: number
  /** Calls that were made for it. */
  readonly calls: number
}

export const DEADLINE_MS = 300
/** Of an instance's first decision. */
export const FIRST_DEADLINE_MS = 2000
export const GRACE_MS = 20

/** Units charged before the fault comes. */
const BEFORE = 2
/** The fault over, a real decision has to come within this time. */
const BACK_WITHIN_MS = 10_000

/** A cell that is being run; its steps are taken together with those of other cells, so that nothing loads the machine while decisions are timed. */
export class Trial {
  private instance!: Instance
  private table!: FaultyDynamoDb
  private readonly ip: string
  /** Requests that were let pass by real decisions, beside `BEFORE`. */
  private admitted = 0
  private told: Told | undefined
  private overrunMs = Number.NaN
  private calls = 0
  private verdict: Verdict = 'degraded'
  private readonly problems: string[] = []

  constructor(
    private readonly world: World,
    readonly cell: Cell,
  ) {
    this.ip = world.address()
  }

  private get deadlineMs(): number {
    return this.cell.instance === 'cold' ? FIRST_DEADLINE_MS : DEADLINE_MS
  }

  private get secure(): boolean {
    return ['untrusted', 'not-tls'].includes(this.cell.fault.connection ?? '')
  }

  async prepare(): Promise<void> {
    const { cell, world, ip } = this
    const { table, endpoint } = await world.table(this.secure)
    this.table = table
    this.instance = world.instance({ SLUICE_DEADLINE_MS: String(DEADLINE_MS) }, endpoint)
    await world.charge(ip, cell.left === 'some' ? BEFORE : LIMIT)
    if (cell.instance === 'warm') await this.real({ ip: world.address() }, true)
    if (cell.left === 'nothing, known') await this.real({ ip }, false)
    await table.arm({
      fault: cell.fault,
      aim: ({ table }) => table === TABLES.state,
      applied: cell.applied,
      times: cell.tries === 'first' ? 1 : Infinity,
      deadlineMs: this.deadlineMs,
    })
  }

  /** The request that meets the fault. */
  async meet(): Promise<void> {
    const calls = this.table.calls
    const startedAt = performance.now()
    const timer = sleep(this.deadlineMs).then(() => performance.now() - startedAt - this.deadlineMs)
    try {
      this.told = await this.instance.ask({ ip: this.ip })
    } catch (error) {
      this.problems.push(`the handler threw ${error}`)
    }
    const took = performance.now() - Math.max(startedAt, this.table.queriedAt) // an instance's first deadline begins with its configuration
    this.overrunMs = took - this.deadlineMs - (await timer)
    this.calls = this.table.calls - calls
  }

  /** What came of it, and whether all is well afterwards. */
  async settle(): Promise<Outcome> {
    await sleep(30) // for what is still on its way to the engine
    this.judge(await this.world.charged(this.ip))
    this.table.disarm()
    await this.comeBack()
    await this.drain()
    await this.table.close()
    const { cell, verdict, problems, overrunMs, calls } = this
    return { cell, verdict, problems, overrunMs, calls }
  }

  private judge(charged: number): void {
    const { told, cell, problems } = this
    if (!told) return
    const before = cell.left === 'some' ? BEFORE : LIMIT
    if (this.overrunMs > GRACE_MS) problems.push(`it came ${Math.round(this.overrunMs)} ms after its deadline`)
    this.verdict = told.degraded || !isCounted(told) ? 'degraded' : 'decided'
    if (this.verdict === 'degraded') {
      if (!told.degraded) problems.push(`nobody was asked, and it does not say so: ${told.reason}`)
      if (this.mustDecide()) problems.push('another try would have decided it')
      const atMost = before + (cell.applied && cell.left === 'some' ? 1 : 0)
      if (charged < before || charged > atMost) problems.push(`${before} units were charged, and then ${charged}`)
      return
    }
    if (told.allowed !== (cell.left === 'some')) problems.push(`it was ${told.allowed ? 'allowed' : 'denied'}`)
    if (told.allowed) this.admitted++
    if (charged !== before + (told.allowed ? 1 : 0)) problems.push(`${before} units were charged, then ${charged}, and it was ${told.reason}`)
    if (told.remaining !== LIMIT - charged) problems.push(`it was told of ${told.remaining} left, ${LIMIT - charged} are`)
  }

  /** Whether the failure mode may not answer here: after one failure that may pass, and when the denial was known. */
  private mustDecide(): boolean {
    const { fault, tries, left } = this.cell
    return left === 'nothing, known' || (tries === 'first' && !fault.final)
  }

  /** Real decisions come back by themselves. */
  private async comeBack(): Promise<void> {
    const giveUpAt = performance.now() + BACK_WITHIN_MS
    while (performance.now() < giveUpAt) {
      const told = await this.instance.ask({ ip: this.world.address() })
      if (!told.degraded && isCounted(told)) return
      await sleep(50)
    }
    this.problems.push(`no real decision in ${BACK_WITHIN_MS} ms after the fault`)
  }

  /** Takes what is left: never more than the limit, and less only by what was charged without an answer. */
  private async drain(): Promise<void> {
    const { cell, problems } = this
    for (let i = 0; i <= LIMIT; i++) {
      const { allowed, degraded } = await this.instance.ask({ ip: this.ip })
      if (degraded) problems.push('a decision was degraded after the fault')
      else if (allowed) this.admitted++
    }
    const before = cell.left === 'some' ? BEFORE : LIMIT
    const lost = LIMIT - before - this.admitted
    if (lost < 0) problems.push(`${-lost} more than the limit were admitted`)
    const mayBeLost = this.verdict === 'degraded' && cell.applied && cell.left === 'some' ? 1 : 0
    if (lost > mayBeLost) problems.push(`${lost} units were charged without an answer`)
  }

  private async real(request: { readonly ip: string }, allowed: boolean): Promise<void> {
    const told = await this.instance.ask(request)
    if (told.degraded || told.allowed !== allowed) throw new Error(`before any fault a request was ${JSON.stringify(told)}, ${this.instance.log}`)
  }
}

/** Whether a policy was asked, of the table or of the failure mode. */
const isCounted = ({ reason }: Told): boolean => reason === 'ok' || reason === 'over-limit'

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
