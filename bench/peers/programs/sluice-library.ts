import express from 'express'
import { createLimiter, DynamoDbStore } from 'sluice/limiter'

const limiter = createLimiter({
  store: new DynamoDbStore({ tableName: 'limits' }),
  policies: [{ name: 'per-minute', limit: 100, window: '1m' }],
})

const app = express()
app.use(async (req, res, next) => {
  const { allowed, retryAfterMs } = await limiter.take(`key:${req.get('x-api-key') ?? req.ip}`)
  if (allowed) return next()
  res.set('Retry-After', String(Math.ceil(retryAfterMs / 1000))).sendStatus(429)
})
app.get('/', (_req, res) => void res.send('hello'))
const server = app.listen(0, '127.0.0.1', () => console.log(server.address()))
