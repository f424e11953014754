import { FakeAws } from './fake-aws'
import { failure, type Input } from './fake-service'

let aws: FakeAws
beforeEach(() => {
  jest.restoreAllMocks()
  aws = new FakeAws()
})
afterAll(() => jest.restoreAllMocks())

const attach = (id: string, ...more: string[]) => aws.sluice(['attach', id, '--yes', ...more])
const detach = (id: string) => aws.sluice(['detach', id, '--yes'])
const status = async (id: string) => JSON.parse((await aws.sluice(['status', id, '--json'])).out)

const SHOP = { name: 'zoo', label: 'shop' }

/** Does something once, right before the first call of a name. */
function rightBefore(name: string, edit: () => void, suits: (input: Input) => boolean = () => true): void {
  aws.hooks = {
    before: (call, input) => {
      if (call !== name || !suits(input)) return
      aws.hooks = {}
      edit()
    },
  }
}

/** What `sluice apis label` does in one transaction: an API is called so, and labels have another version. */
function labelElsewhere(id: string, label: string): void {
  aws.call(id, { label })
  aws.table.set('api-labels version', { pk: { S: 'api-labels' }, sk: { S: 'version' }, version: { N: '77' } as never })
}

describe.each(['restapi001', 'httpapi001'])('%s, attached as "shop"', (id) => {
  it('has the label in the config table until it is detached', async () => {
    expect((await attach(id, '--as', 'shop')).out).toContain('\nlabel "shop"\n')
    expect(aws.called(id)).toEqual(SHOP)
    expect(await status(id)).toMatchObject({ label: 'shop', drift: [] })
    expect((await aws.sluice(['status', id])).out).toContain('"zoo", label "shop", is attached to')
    expect((await aws.sluice(['apis', 'list'])).out).toMatch(new RegExp(`${id} +shop +zoo`))
    expect((await detach(id)).out).toContain('remove the label "shop"')
    expect(aws.called(id)).toBeUndefined()
    expect(aws.kept()).toEqual([])
  })

  it('is shown in the dry run and in the question before anything is changed', async () => {
    const { out } = await aws.sluice(['attach', id, '--as', 'shop', '--dry-run'])
    expect(out.split('\n')[1]).toBe('  give the API the label "shop"')
    const json = JSON.parse((await aws.sluice(['attach', id, '--as', 'shop', '--dry-run', '--json'])).out)
    expect(json).toMatchObject({
      label: 'shop',
      steps: expect.arrayContaining([expect.stringContaining('give the API the label "shop"')]),
    })
    const refused = await aws.sluice(['attach', id, '--as', 'shop'], { typed: 'n\n' })
    expect(refused.err).toContain(`Attach Sluice to API ${id} as "shop"? [y/N]`)
    expect(aws.kept()).toEqual([])
  })

  it('gets the label before its first request reaches Sluice', async () => {
    await attach(id, '--as', 'shop')
    expect(aws.calls.indexOf('TransactWrite')).toBeLessThan(aws.calls.indexOf('CreateAuthorizer'))
  })

  it.each([
    ['a b', '--as: label must be a label of 1 to 64 letters, digits, ".", "_" or "-"'],
    ['a1b2c3d4e5', 'not 10 lower-case letters and digits, as ids are, got "a1b2c3d4e5"'],
    [
      'cart',
      'label "cart" is already used by API other00001: choose another one, or run sluice apis remove other00001 first',
    ],
    ['Basket', 'label "Basket" is already used by API other00001'],
  ])(
    'is refused in one line before anything is changed if the label is invalid or taken: %s',
    async (label, sentence) => {
      aws.call('other00001', { label: 'cart', name: 'Basket' })
      const [before, table] = [aws.dump(), JSON.stringify([...aws.table])]
      const { code, err } = await attach(id, '--as', label)
      expect([code, err]).toEqual([1, expect.stringContaining(sentence)])
      expect(err.trimEnd().split('\n')).toHaveLength(1)
      expect([aws.dump(), JSON.stringify([...aws.table])]).toEqual([before, table])
    },
  )

  it('does not get a label of an invalid item, whose last valid version may be in force', async () => {
    aws.call('other00001', { label: 'shop', nmae: 'a mistake' })
    expect((await attach(id, '--as', 'shop')).err).toContain('label "shop" is already used by API other00001')
  })

  it('is not changed by a second attach with the same label or none', async () => {
    await attach(id, '--as', 'shop')
    for (const again of [['--as', 'shop'], []]) {
      aws.calls = []
      expect((await attach(id, ...again)).out).toContain('already attached, nothing to do')
      expect(aws.calls.filter((name) => /^(Put|Transact|Delete)/.test(name))).toEqual([])
      expect(aws.called(id)).toEqual(SHOP)
    }
  })

  it('can get another label without a deployment; detach restores the label from before both', async () => {
    aws.call(id, { name: 'written by hand' })
    await attach(id, '--as', 'shop')
    aws.calls = []
    expect((await attach(id, '--as', 'cart')).out).toContain('attached: 1 steps')
    expect(aws.calls).not.toContain('CreateDeployment')
    expect(aws.called(id)).toEqual({ name: 'zoo', label: 'cart' })
    await detach(id)
    expect(aws.called(id)).toEqual({ name: 'written by hand' })
  })

  it('keeps a label of somebody else: another one is refused, the same one stays after detach', async () => {
    aws.call(id, { label: 'old' })
    expect(await attach(id, '--as', 'shop')).toMatchObject({
      code: 1,
      err: `API ${id} already has the label "old", which attach did not set: leave --as out, or change it with sluice apis label ${id} shop\n`,
    })
    expect((await attach(id, '--as', 'old')).code).toBe(0)
    expect((await status(id)).drift).toEqual([])
    expect((await detach(id)).err).not.toContain('not as attach left it')
    expect(aws.called(id)).toEqual({ label: 'old' })
  })

  it.each([
    ['calls it something else', { label: 'mine' }, (own: string) => `API ${own} now has the label "mine"`],
    ['takes the label away', undefined, (own: string) => `API ${own} has lost its label`],
    ['gives it another name', { name: 'Zoo!', label: 'shop' }, () => 'the name of the API labelled "shop" was changed'],
  ])('is kept by detach, which says so, if somebody else %s', async (_, theirs, sentence) => {
    await attach(id, '--as', 'shop')
    aws.call(id, theirs)
    expect((await status(id)).drift).toEqual([sentence(id)])
    expect((await detach(id)).err).toContain(`changed since attach, and kept: ${sentence(id)}`)
    expect(aws.called(id)).toEqual(theirs)
  })

  it('gets its label again by another attach if it was removed, but not if somebody set another one', async () => {
    await attach(id, '--as', 'shop')
    aws.call(id, undefined)
    await attach(id, '--as', 'shop')
    expect(aws.called(id)).toEqual(SHOP)
    aws.call(id, { label: 'mine' })
    expect((await attach(id, '--as', 'shop')).err).toContain('already has the label "mine"')
    expect((await attach(id)).code).toBe(0)
    expect(aws.called(id)).toEqual({ label: 'mine' })
  })

  it('loses its label by detach even if the API itself is gone', async () => {
    await attach(id, '--as', 'shop')
    jest.spyOn(aws[id === 'restapi001' ? 'rest' : 'http'], 'handle').mockImplementation(() => {
      throw failure('NotFoundException', 404, 'Invalid API identifier specified')
    })
    expect((await detach(id)).code).toBe(0)
    expect(aws.kept()).toEqual([])
  })

  describe('while its question is open', () => {
    it.each([
      [
        'somebody calls it something else',
        () => labelElsewhere(id, 'mine'),
        'now has the label "mine": it was changed meanwhile',
      ],
      [
        'somebody calls it the same',
        () => labelElsewhere(id, 'shop'),
        'now has the label "shop": it was changed meanwhile',
      ],
      [
        'somebody calls another API so',
        () => labelElsewhere('other00001', 'shop'),
        'label "shop" is already used by API other00001',
      ],
    ])('%s: that is kept, and nothing is changed', async (_, edit, sentence) => {
      const before = aws.dump()
      rightBefore('Put', edit) // the journal's beginning, right after the answer
      const { code, err } = await attach(id, '--as', 'shop')
      expect([code, err]).toEqual([1, expect.stringContaining(sentence)])
      expect(err).toContain('nothing is changed')
      expect(aws.dump()).toBe(before)
      expect(aws.kept()).toEqual([expect.stringMatching(/^policy-set api#/)])
    })
  })

  it.each([
    ['it', () => labelElsewhere(id, 'mine'), { label: 'mine' }],
    ['another API', () => labelElsewhere('other00001', 'shop'), undefined],
  ])('does not take a label that %s got right before', async (_, edit, own) => {
    rightBefore('TransactWrite', edit)
    const { code, err } = await attach(id, '--as', 'shop')
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('a label was changed at the same moment, and was kept: try again'),
    ])
    expect(aws.called(id)).toEqual(own)
    expect(aws.kept()).toHaveLength(1)
  })

  it('keeps a label that somebody sets right before detach removes it; detach continues later', async () => {
    await attach(id, '--as', 'shop')
    rightBefore('TransactWrite', () => labelElsewhere(id, 'mine'))
    expect((await detach(id)).code).toBe(1)
    expect(aws.called(id)).toEqual({ label: 'mine' })
    expect((await detach(id)).code).toBe(0)
    expect(aws.called(id)).toEqual({ label: 'mine' })
    expect(aws.kept()).toHaveLength(1)
  })

  it('has one of both labels if attach with another label is interrupted at any call, and detach restores it', async () => {
    await attach(id, '--as', 'shop')
    aws.calls = []
    await attach(id, '--as', 'cart')
    const count = aws.calls.length
    const seen = new Set<string>()
    for (const moment of ['before', 'after'] as const) {
      for (let last = 1; last <= count; last++) {
        jest.restoreAllMocks()
        aws = new FakeAws()
        await attach(id, '--as', 'shop')
        let calls = 0
        aws.hooks = {
          [moment]: () => {
            if (++calls >= last) throw new Error('killed')
          },
        }
        expect([last, (await attach(id, '--as', 'cart')).code]).toEqual([last, 2])
        aws.hooks = {}
        seen.add((aws.called(id) as typeof SHOP).label)
        const { err } = await detach(id)
        expect([last, err.includes('not as attach left it'), aws.kept()]).toEqual([last, false, []])
      }
    }
    expect([...seen].sort()).toEqual(['cart', 'shop'])
  })
})
