import { withRateLimit } from 'sluice/backend'

export const handler = withRateLimit(async ({ rawPath }) => {
  console.log('served', rawPath)
  return { news: 'none' }
})
