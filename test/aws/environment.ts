const NOWHERE = {
  AWS_CONFIG_FILE: '/nonexistent',
  AWS_SHARED_CREDENTIALS_FILE: '/nonexistent',
  AWS_EC2_METADATA_DISABLED: 'true',
} as const

/** Gives each test of a suite an environment without AWS's variables, and without the files of whoever runs it. */
export function withoutAwsEnvironment(): void {
  const before = process.env
  beforeEach(() => {
    const others = Object.entries(before).filter(([name]) => !name.startsWith('AWS_'))
    process.env = { ...Object.fromEntries(others), ...NOWHERE }
  })
  afterAll(() => {
    process.env = before
  })
}
