import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from '@upstash/redis'
import express from 'express'

const limiter = new Ratelimit({ redis: Redis.fromEnv(), limiter: Ratelimit.slidingWindow(100, '1 m') })

const app = express()
app.use(async (req, res, next) => {
  const { success, reset } = await limiter.limit(req.get('x-api-key') ?? req.ip!)
  if (success) return next()
  res.set('Retry-After', String(Math.ceil((reset - Date.now()) / 1000))).sendStatus(429)
})
app.get('/', (_req, res) => void res.send('hello'))
const server = app.listen(0, '127.0.0.1', () => console.log(server.address()))
