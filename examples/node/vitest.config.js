import { defineConfig } from 'vitest/config'

export default defineConfig({ test: { testTimeout: 20_000 } }) // longer than a wait of the control API (10 s), which says what was missing
