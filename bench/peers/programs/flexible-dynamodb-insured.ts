import { DynamoDB } from '@aws-sdk/client-dynamodb'
import express from 'express'
// @ts-expect-error its README has such paths, its types do not
import RateLimiterDynamo from 'rate-limiter-flexible/lib/RateLimiterDynamo.js'
// @ts-expect-error its README has this path, its types do not
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js'

const limit = { points: 100, duration: 60 }
const limiter = new RateLimiterDynamo({
  storeClient: new DynamoDB(),
  tableCreated: true,
  ttlSet: true,
  ...limit,
  inMemoryBlockOnConsumed: 100,
  insuranceLimiter: new RateLimiterMemory(limit),
})

const app = express()
app.use(async (req, res, next) => {
  try {
    await limiter.consume(req.get('x-api-key') ?? req.ip)
    next()
  } catch (denial) {
    if (denial instanceof Error) return next(denial)
    const { msBeforeNext } = denial as { msBeforeNext: number }
    res.set('Retry-After', String(Math.ceil(msBeforeNext / 1000))).sendStatus(429)
  }
})
app.get('/', (_req, res) => void res.send('hello'))
const server = app.listen(0, '127.0.0.1', () => console.log(server.address()))
