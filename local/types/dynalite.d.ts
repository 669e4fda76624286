/** The part of dynalite 4 that a local run uses; the package ships no types. */
declare module "dynalite" {
  import type { Server } from "node:http";

  interface DynaliteOptions {
    /** Directory of the LevelDB store; in memory where it is left out. */
    path?: string;
    /** How long a table stays in CREATING, UPDATING, DELETING: ms, 500 by default. */
    createTableMs?: number;
    updateTableMs?: number;
    deleteTableMs?: number;
  }

  export default function dynalite(options?: DynaliteOptions): Server;
}
