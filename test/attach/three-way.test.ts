import fc from 'fast-check'
import type { GatewayResponse } from '../../cli/attach/api-state'
import { isSameMappings, isSameResponse, revertMappings, revertResponse } from '../../cli/attach/three-way'
import { with429, withHeaders } from '../../cli/attach/wanted'
import { mergeOver } from '../../provisioning/gateway-response'

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
        const { result, changed } = revertResponse({ before, after: with429(before) }, with429(before))
        expect(result).toEqual(before)
        expect(changed).toEqual([])
      }),
    )
  })

  it('changes nothing if the change was never made', () => {
    fc.assert(
      fc.property(responses, (before) => {
        expect(isSameResponse(revertResponse({ before, after: with429(before) }, before).result, before)).toBe(true)
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
        const { result } = revertResponse({ before, after: with429(before) }, now)
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
        expect(revertMappings({ before, after }, after)).toEqual({ result: before, changed: [] })
        expect(isSameMappings(revertMappings({ before, after }, before).result, before)).toBe(true)
      }),
    )
  })

  it('restores any mappings of an integration from a second change too, whether that was made or not', () => {
    fc.assert(
      fc.property(mappings, fc.constantFrom(['200'], ['404', '500'], []), (before, codes) => {
        const from = withHeaders(before, ['200', '404'])
        const after = withHeaders(before, codes)
        for (const now of [from, after])
          expect(isSameMappings(revertMappings({ before, after, from }, now).result, before)).toBe(true)
      }),
    )
  })

  it('has every header that an integration maps by itself as it was, in whatever case and by whatever operation', () => {
    fc.assert(
      fc.property(mappings, (before) => {
        const after = withHeaders(before, ['200', '404'])
        expect(after).toMatchObject(before)
        const names = Object.keys(after[200]!).map((name) => name.split('.')[1]!.toLowerCase())
        const own = Object.keys(before[200] ?? {}).length
        expect(new Set(names.slice(own)).size).toBe(names.length - own)
        for (const name of names.slice(own)) expect(names.slice(0, own)).not.toContain(name)
      }),
    )
  })
})
