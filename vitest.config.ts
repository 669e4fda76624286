import { configDefaults, defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Servers and processes are started for real; a shared machine may be slow.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    setupFiles: "test/support/property-seed.ts",
    // Most tests wait for a server or a timer rather than for a processor.
    maxWorkers: 4,
    projects: [
      {
        extends: true,
        // Loading the CDK takes seconds: files that only synthesise share one that is loaded.
        test: { name: "lib", include: ["test/lib/**/*.test.ts"], isolate: false },
      },
      {
        extends: true,
        test: { name: "rest", exclude: [...configDefaults.exclude, "test/lib/**", "cli/init/template/**"] },
      },
    ],
  },
});
