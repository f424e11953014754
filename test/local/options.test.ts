import { parseOptions } from '../../local/options'

test('every option has a default', () => {
  expect(parseOptions([], {})).toEqual({ help: false, port: 3000, api: 'rest', instances: 2 })
  expect(parseOptions([], { PORT: '', SLUICE_DYNAMODB_ENDPOINT: '' })).toMatchObject({ port: 3000 })
})

test('every option can be set', () => {
  const args = ['--port', '4000', '--engine=dynalite', '--api', 'http', '--instances', '64']
  expect(parseOptions(args, { PORT: '5000' })).toEqual({
    help: false,
    port: 4000,
    engine: 'dynalite',
    api: 'http',
    instances: 64,
  })
  expect(parseOptions([], { PORT: '5000', SLUICE_DYNAMODB_ENDPOINT: 'http://localhost:8000' })).toMatchObject({
    port: 5000,
    endpoint: 'http://localhost:8000',
  })
})

test.each([
  [['--foo'], {}, "Unknown option '--foo': npm start -- --help lists the options"],
  [['--port'], {}, "Option '--port <value>' argument missing: npm start -- --help lists the options"],
  [['dynalite'], {}, 'unexpected argument "dynalite": options go after --, as in npm start -- --engine dynalite'],
  [['--engine', 'mysql'], {}, '--engine must be one of dynoxide, dynalite, got "mysql"'],
  [['--api', 'soap'], {}, '--api must be one of rest, http, got "soap"'],
  [['--instances', '0'], {}, '--instances must be a whole number from 1 to 64, got "0"'],
  [['--instances', '65'], {}, '--instances must be a whole number from 1 to 64, got "65"'],
  [['--port', '65536'], {}, '--port must be a whole number from 0 to 65535, got "65536"'],
  [[], { PORT: '3e3' }, 'PORT must be a whole number from 0 to 65535, got "3e3"'],
  [[], { PORT: '-1' }, 'PORT must be a whole number from 0 to 65535, got "-1"'],
])('%j with %j is a mistake', (args, env, message) => {
  expect(() => parseOptions(args, env)).toThrow(message)
})
