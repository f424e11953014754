import fc from 'fast-check'
import type { GatewayResponse } from '../../cli/attach/api-state'
import { isSameMappings, isSameResponse, mergeOver, revertMappings, revertResponse } from '../../cli/attach/three-way'
import { with429, withHeaders } from '../../cli/attach/wanted'

const names = fc.constantFrom(
  ...['Retry-After', 'retry-after', 'RateLimit', 'X-Zoo', 'Access-Control-Allow-Origin'].map(
    (name) => `gatewayresponse.header.${name}`,
  ),
)
const values = fc.constantFrom("'a'", "'b'", 'context.authorizer.retryAfter')
const responses = fc.record({
  isDefault: fc.boolean(),
  statusCode: fc.constantFrom('403', '401', '429'),
  parameters: fc.dictionary(names, values),
  templates: fc.dictionary(fc.constantFrom('application/json', 'text/xml'), values),
})
const mappings = fc.dictionary(
  fc.constantFrom('200', '404', '500'),
  fc.dictionary(
    fc.constantFrom('overwrite:header.RateLimit', 'overwrite:header.ratelimit', 'append:header.X-Zoo'),
    values,
    { minKeys: 1 },
  ),
)

describe('a change that is reverted', () => {
  it('restores any gateway response', () => {
    fc.assert(
      fc.property(responses, (before) => {
        const { result, changed } = revertResponse(before, with429(before), with429(before))
        expect(result).toEqual(before)
        expect(changed).toEqual([])
      }),
    )
  })

  it('changes nothing if the change was never made', () => {
    fc.assert(
      fc.property(responses, (before) => {
        expect(isSameResponse(revertResponse(before, with429(before), before).result, before)).toBe(true)
      }),
    )
  })

  it('keeps every header that somebody else set since', () => {
    fc.assert(
      fc.property(responses, responses, (before, theirs) => {
        const now: GatewayResponse = {
          ...with429(before),
          isDefault: false,
          parameters: mergeOver(with429(before).parameters, theirs.parameters),
        }
        const { result } = revertResponse(before, with429(before), now)
        for (const [name, value] of Object.entries(theirs.parameters)) {
          if (with429(before).parameters[name] !== value) expect(result.parameters[name]).toBe(now.parameters[name])
        }
      }),
    )
  })

  it('restores any mappings of an integration', () => {
    fc.assert(
      fc.property(mappings, (before) => {
        const after = withHeaders(before, ['200', '404'])
        expect(revertMappings(before, after, after)).toEqual({ result: before, changed: [] })
        expect(isSameMappings(revertMappings(before, after, before).result, before)).toBe(true)
      }),
    )
  })
})
