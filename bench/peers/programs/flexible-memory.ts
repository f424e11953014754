import express from 'express'
// @ts-expect-error its README has this path, its types do not
import RateLimiterMemory from 'rate-limiter-flexible/lib/RateLimiterMemory.js'

const limiter = new RateLimiterMemory({ points: 100, duration: 60 })

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
