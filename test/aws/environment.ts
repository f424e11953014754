/** Lets each test of a suite set variables that no other test sees. */
export function withOwnVariables(): void {
  const before = process.env
  beforeEach(() => {
    process.env = { ...before }
  })
  afterAll(() => {
    process.env = before
  })
}
