/** Settings, or the environment that they became, are wrong: every fault at once, one a line. */
export class SettingsError extends Error {
  readonly code = "settings";
  override readonly name = "SettingsError";
  readonly faults: readonly string[];

  /** `what` needs a change. */
  constructor(faults: readonly string[], what = "The settings need a change") {
    super(`${what}:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`);
    this.faults = faults;
  }
}
