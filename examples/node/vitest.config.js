import { defineConfig } from 'vitest/config'

// A test must outlast a wait of the control API (10 s), whose error says what was missing.
export default defineConfig({ test: { testTimeout: 20_000, hookTimeout: 20_000 } })
