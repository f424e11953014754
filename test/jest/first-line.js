module.exports = () => new Error('made in the first line')
