/** What another CDK app uses of Sortie. */
export { EngineLifecycle, type EngineLifecycleProps } from "./engine-lifecycle.ts";
export { SortieFunction, type SortieFunctionProps } from "./function-defaults.ts";
export { RolloutFleet, type RolloutFleetProps } from "./rollout-fleet.ts";
export { decodeSettings, type Settings } from "./settings.ts";
export { SettingsError } from "./settings-error.ts";
export type { DeploymentSettings, EngineSettings, FleetSettings } from "./settings-schema.ts";
export { SortieStack, type SortieStackProps } from "./stack.ts";
export { StateTable, type StateTableProps } from "./state-table.ts";
