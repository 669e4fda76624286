/** What another CDK app uses of Sortie. */

export { SettingsError } from "../functions/contract/settings-error.ts";
export { RunbookAlarm } from "./alarm.ts";
export { SortieDashboard, type SortieDashboardProps } from "./dashboard.ts";
export { EngineAlarms } from "./engine-alarms.ts";
export { EngineLifecycle, type EngineLifecycleProps } from "./engine-lifecycle.ts";
export type { EngineAccess } from "./engine-settings.ts";
export { FleetAlarms } from "./fleet-alarms.ts";
export { FleetNames, type FleetNamesProps } from "./fleet-names.ts";
export { SortieFunction, type SortieFunctionProps } from "./function-defaults.ts";
export { Network, type NetworkProps } from "./network.ts";
export { RolloutFleet, type RolloutFleetProps } from "./rollout-fleet.ts";
export { decodeSettings, type Settings } from "./settings.ts";
export type { DeploymentSettings, EngineSettings, FleetSettings } from "./settings-schema.ts";
export { SortieStack, type SortieStackProps } from "./stack.ts";
export { StateTable, type StateTableProps } from "./state-table.ts";
export { TranscriptBucket, type TranscriptBucketProps } from "./transcript-bucket.ts";
