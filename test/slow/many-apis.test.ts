import { printedFor, resourcesIn } from '../lib/apis'
import { manyApis, permissionsIn } from '../lib/many-apis'

it('invokeRole lets 500 APIs in several stacks call the function, with one role and no permission', () => {
  const { own, stacks } = manyApis(500, 72, true) // a stack has 500 resources at most
  const roles = stacks.flatMap((stack) =>
    resourcesIn(stack, 'AWS::ApiGateway::Authorizer').map(([, { Properties }]) =>
      JSON.stringify(Properties.AuthorizerCredentials),
    ),
  )
  expect(roles).toHaveLength(500)
  expect([...new Set(roles)]).toEqual([expect.stringContaining('InvokeRole')])
  expect(stacks.flatMap((stack) => permissionsIn(stack))).toEqual([])
  expect(printedFor(own, 'warning')).toEqual([])
})

it('invokeRole is named by a warning before Lambda takes no more permissions, and by an error after that', () => {
  expect(printedFor(manyApis(40, 50).own, 'warning')).toEqual([])
  expect(printedFor(manyApis(41, 50).own, 'warning')).toEqual([
    expect.stringMatching(/^41 protected APIs have a permission each.*\[ack: sluice:invokeRole\]/),
  ])
  expect(() => manyApis(69, 100).app.synth()).toThrow(
    'invokeRole must be true for more than 68 protected APIs, got 69: Lambda takes 20 KB of permissions',
  )
})
