import { storeContract } from '../../limiter/stores/store-contract'
import { describeStores, ENGINES, type OpenEngine, openEngine } from '../stores'

describe('the store contract', () => {
  describeStores(
    (opened) => {
      for (const { name, run } of storeContract) it(name, () => run(opened().store))
    },
    ['memory', 'dynalite', 'dynoxide'],
  )

  describe.each(ENGINES)("on %s by the SDK's client", (engine) => {
    let opened: OpenEngine
    beforeAll(async () => {
      opened = await openEngine(engine, 'by the SDK')
    })
    afterAll(async () => opened?.close())

    for (const { name, run } of storeContract) it(name, () => run(opened.store))
  })
})

describe.each(['direct', 'by the SDK'] as const)('a store that calls an engine %s', (way) => {
  let opened: OpenEngine
  beforeAll(async () => {
    opened = await openEngine(ENGINES[0]!, way)
  })
  afterAll(async () => opened?.close())

  it('tells the server’s time with every answer, also with that of a refused write', async () => {
    const told: number[] = []
    const options = { onServerTime: (at: number) => void told.push(at) }
    const write = { parts: [], id: { mark: 'r0', value: 7, rangeEnd: 9 }, at: Date.now() }
    const { store } = opened
    expect(await store.write('dated', write, options)).toMatchObject({ kind: 'applied' })
    expect(await store.write('dated', write, options)).toMatchObject({ kind: 'already-applied' })
    await store.read('dated', options)
    expect(told.length).toBeGreaterThanOrEqual(3) // an engine that returns no item with a refusal is read once more
    expect(told.filter((at) => at % 1000 !== 0 || Math.abs(Date.now() - at) > 10_000)).toEqual([])
  })
})
