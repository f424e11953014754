import { replay } from './replay'

/** Stories that once broke a law, as the model printed them. */
describe('stories that once went wrong', () => {
  it('a copy of a charge that arrives after newer charges is not applied', () =>
    replay({
      seed: 1,
      policies: [{ name: 'fixed', algorithm: 'fixed-window', limit: 3, window: '1s' }],
      instances: [{ skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'take', of: 0, cost: 1, meets: ['copied late'] },
        { after: 100, on: 0, do: 'take', of: 0, cost: 1 },
      ],
    }))

  it('a copy of a refund that arrives after newer charges is not applied', () =>
    replay({
      seed: 1,
      policies: [{ name: 'window', limit: 1, window: '1s' }],
      instances: [{ skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 8, on: 0, do: 'refund', of: 0, back: 0, told: false, meets: ['copied'] },
        { after: 8, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 100, on: 0, do: 'take', of: 0, cost: 1 },
      ],
    }))

  it('a reset whose answer is late leaves what is charged meanwhile', () =>
    replay({
      seed: 1,
      policies: [{ name: 'window', limit: 1, window: '1s' }],
      instances: [{ skewMs: -500 }, { skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 4, on: 0, do: 'reset', of: 0, meets: ['answer late'] },
        { after: 1, on: 1, do: 'take', of: 0, cost: 1 },
        { after: 999, on: 0, do: 'peek', of: 0, cost: 0 },
      ],
    }))

  it('a store that comes back for a moment does not renew what an instance admits by itself', () =>
    replay({
      seed: 1,
      policies: [{ name: 'token', algorithm: 'token-bucket', limit: 1, window: '1s', burst: 10 }],
      instances: [{ skewMs: 0 }],
      steps: [
        { after: 0, on: 0, do: 'take', of: 0, cost: 2, meets: ['unreachable', 'request lost', 'request lost'] },
        { after: 2000, on: 0, do: 'take', of: 0, cost: 1, times: 2 },
        { after: 8, on: 0, do: 'take', of: 1, cost: 1, meets: ['throttled', 'request lost'] },
        { after: 193, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 0, on: 0, do: 'take', of: 0, cost: 3 },
      ],
    }))

  it('a refund whose answer was lost is given up after a reset, which may have wiped it', () =>
    replay({
      seed: 1,
      policies: [{ name: 'leaky', algorithm: 'leaky-bucket', limit: 1, window: '1s' }],
      instances: [{ skewMs: 0 }, { skewMs: 0 }],
      steps: [
        { after: 0, on: 1, do: 'peek', of: 0, cost: 0, meets: ['reset after'] },
        { after: 0, on: 1, do: 'refund', of: 0, back: 0, told: false, meets: ['answer lost'] },
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
        { after: 5, on: 0, do: 'reset', of: 0 },
        { after: 0, on: 0, do: 'take', of: 0, cost: 1 },
      ],
    }))
})
