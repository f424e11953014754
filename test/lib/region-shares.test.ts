import { App, Stack } from 'aws-cdk-lib'
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions'
import { RateLimiter, type RateLimiterProps } from '../../lib/index'

const tiers: RateLimiterProps['tiers'] = {
  anonymous: { by: 'ip', policies: [{ limit: 15, window: '1m' }] },
}
const regionShares = { 'eu-west-1': 60, 'us-east-1': 40 }

const stackIn = (region: string | undefined, props: RateLimiterProps) => {
  const stack = new Stack(new App(), 'Stack', region === undefined ? {} : { env: { region } })
  new RateLimiter(stack, 'Limiter', props)
  return stack
}
const seededIn = (region: string, props: RateLimiterProps) => {
  const [{ Properties }] = Object.values(
    Template.fromStack(stackIn(region, props)).findResources('Custom::SluiceTiers'),
  ) as [{ Properties: { Items: string[] } }]
  return Properties.Items.map((item) => JSON.parse(item))
}

describe('regionShares', () => {
  it('seeds the part of the stack’s Region, so that one app has a limiter in each', () => {
    const limits = ['eu-west-1', 'us-east-1'].map(
      (region) => seededIn(region, { tiers, regionShares })[0].policies[0].limit,
    )
    expect(limits).toEqual([9, 6])
  })

  it('splits a tiers file, too', () => {
    const items = seededIn('us-east-1', { tiersFile: 'examples/http-api/tiers.yaml', regionShares })
    expect(items[0].policies[0].limit).toBe(2)
  })

  it('warns of requests that take more than the part has', () => {
    const stack = stackIn('us-east-1', { tiers, routes: { 'POST /batch': { cost: 7 } }, regionShares })
    Annotations.fromStack(stack).hasWarning('*', Match.stringLikeRegexp('"POST /batch" takes up to 7 units'))
  })

  it.each([
    [
      'eu-central-1',
      { tiers, regionShares },
      'the Region of the limiter’s stack, "eu-central-1", got eu-west-1, us-east-1',
    ],
    [undefined, { tiers, regionShares }, 'got a stack without one: set env.region'],
    ['us-east-1', { regionShares }, 'regionShares needs tiersFile or tiers, got neither'],
    ['us-east-1', { tiers, regionShares: { 'us-east-1': 40 } }, 'must add up to 100 %, got 40 %'],
    ['us-east-1', { tiers, regionShares: { 'us-east-1': 97, 'eu-west-1': 3 } }, 'got 15: eu-west-1 would have none'],
  ])('fails the synth in %s with %j', (region, props, sentence) => {
    expect(() => stackIn(region, props)).toThrow(sentence)
  })
})
