let served = 0

exports.handler = async ({ rawPath, path }) => ({
  statusCode: 200,
  body: JSON.stringify({ path: rawPath ?? path, served: ++served }),
})
