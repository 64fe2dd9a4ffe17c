import { defineConfig } from 'vitest/config'

// Longer than a wait of the control API (10 s), which says what was missing.
export default defineConfig({ test: { testTimeout: 20_000, hookTimeout: 20_000 } })
