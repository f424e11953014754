import {
  DEFAULT_SETTINGS,
  PREFLIGHT_FIELDS,
  parseScopedSettings,
  parseSettings,
  parseSwitch,
  switched,
} from '../../lambda/config-table/items/settings'
import { Mistake } from '../../limiter/errors'

/** What a parser returns and reports, where another item had a mistake before. */
function parsed<T>(parse: (issues: Mistake[]) => T): { readonly value: T; readonly issues: readonly string[] } {
  const issues = [new Mistake('invalid_value', 'one from before')]
  return { value: parse(issues), issues: issues.slice(1).map(String) }
}
const settings = (input: unknown) => parsed((issues) => parseSettings(input, ['file'], issues))
const scoped = (text: string, input: unknown) => parsed((issues) => parseScopedSettings(text, input, ['file'], issues))
const modeSwitch = (input: unknown) => parsed((issues) => parseSwitch(input, ['item "switch"'], issues))

describe('settings', () => {
  it('are the defaults, but for what is written', () => {
    expect(settings({})).toEqual({ value: DEFAULT_SETTINGS, issues: [] })
    expect(settings({ mode: 'observe', localShare: 1, autoLease: false }).value).toEqual({
      ...DEFAULT_SETTINGS,
      mode: 'observe',
      localShare: 1,
      autoLease: false,
    })
  })

  it('are none where any of them is invalid', () => {
    expect(settings({ mode: 'of' })).toEqual({
      value: undefined,
      issues: ['mode must be one of enforce, observe, off, got "of", did you mean "off"? (file, settings)'],
    })
    expect(settings([])).toEqual({
      value: undefined,
      issues: ['settings must be an object, got a list (file, settings)'],
    })
  })

  it('take a preflight that is a list, a text or null for no policy', () => {
    for (const preflight of [[], 'fast', null]) {
      const { value, issues } = settings({ preflight })
      expect(value).toBeUndefined()
      expect(issues).toEqual([
        expect.stringMatching(/^a policy must be an object, got .* \(file, settings, policy 1\)$/),
      ])
    }
  })

  it('have a preflight with the fields of a policy, but for its name', () => {
    expect(PREFLIGHT_FIELDS).toHaveProperty('limit')
    expect(PREFLIGHT_FIELDS).not.toHaveProperty('name')
    expect(settings({ preflight: { limit: 5, window: '1s' } }).value?.preflight).not.toHaveProperty('extra')
  })

  it('have base paths without the slash at their end, and each once', () => {
    expect(settings({ basePaths: ['/a/b/', 'a/b', 'c'] }).value?.basePaths).toEqual(['/a/b', '/c'])
  })
})

describe('settings for some APIs', () => {
  it('are a mode for these', () => {
    expect(scoped('settings @dev', { apis: ['*/dev'], mode: 'off' })).toEqual({
      value: { scope: { variant: '@dev', apis: [{ stage: 'dev' }] }, mode: 'off' },
      issues: [],
    })
  })

  it('are none where a field is invalid or missing', () => {
    expect(scoped('settings @dev', { apis: ['*/dev'], mode: 'on' }).value).toBeUndefined()
    expect(scoped('settings @dev', null)).toEqual({
      value: undefined,
      issues: ['settings for some APIs must be an object, got null (file, settings @dev)'],
    })
    const { value, issues } = scoped('settings @dev', { mode: 'off' })
    expect(value).toBeUndefined()
    expect(issues[0]).toMatch(/^apis is missing, it must be a list .* \(file, settings @dev\)$/)
  })
})

describe('the switch', () => {
  it('has a mode, and remembers when and why', () => {
    const written = { mode: 'off', since: '2026-01-01', note: 'an incident' }
    expect(modeSwitch(written)).toEqual({ value: { mode: 'off' }, issues: [] })
  })

  it('is none with a mode that is no switch', () => {
    expect(modeSwitch({ mode: 'enforce' })).toEqual({
      value: undefined,
      issues: ['mode must be observe or off, got "enforce" (item "switch")'],
    })
    expect(modeSwitch('off').value).toBeUndefined()
  })

  it('makes settings more permissive, and never stricter', () => {
    const [enforce, observe, off] = (['enforce', 'observe', 'off'] as const).map((mode) => ({ mode, kept: true }))
    expect(switched(enforce!, undefined)).toBe(enforce)
    expect(switched(enforce!, { mode: 'observe' })).toEqual(observe)
    expect(switched(enforce!, { mode: 'off' })).toEqual(off)
    expect(switched(observe!, { mode: 'observe' })).toBe(observe)
    expect(switched(observe!, { mode: 'off' })).toEqual(off)
    expect(switched(off!, { mode: 'observe' })).toBe(off)
  })
})
