// KafkaJS's own settings but for reporters that are not needed here; ports.js comes first.
module.exports = { ...require('./theirs.config.js'), setupFiles: ['<rootDir>/ports.js'], reporters: ['default'] }
