export const limit = (name: string, units: number, more: object = {}) => ({ name, limit: units, window: '1h', ...more })

/**
 * Ten requests an hour; two searches, since each costs five; what is public is free, and what is administration wants
 * credentials.
 */
export const RULES = {
  settings: { identity: ['api-key', { source: 'ip', trustedHops: 1 }] },
  tiers: { anonymous: { by: 'ip', policies: [limit('per-hour', 10)] } },
  routes: {
    'GET /': { cost: 0 },
    'GET /search': { cost: 5, policies: [limit('search', 10, { by: 'ip' })] },
    'ANY /public/*': { cost: 0 },
    'ANY /admin/*': { credentials: 'required' },
    'GET /files/{name}/export': { cost: 5 },
    'OPTIONS /expensive': { policies: [limit('expensive', 1, { by: 'ip' })] },
  },
} as const
