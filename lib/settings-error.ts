/** The settings are wrong: every fault at once, one a line. */
export class SettingsError extends Error {
  readonly code = "settings";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`The settings need a change:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`);
    this.name = "SettingsError";
    this.faults = faults;
  }
}
