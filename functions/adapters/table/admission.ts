/** A fleet's admissions: one item, every change one put on the version that it was made from. */
import { type AdmissionStore, fleetAdmissionSchema } from "../../core/admission/admission-item.ts";
import { expiresTtl, type Key, type TableOptions } from "./client.ts";
import { conditionalPut, getItem, versionStands } from "./conditional-put.ts";

export interface AdmissionStoreOptions extends TableOptions {
  /** How long a fleet that admits nobody is remembered, days. */
  readonly ttlDays: number;
}

export function admissionKey(fleet: string): Key {
  return { pk: `FLEET#${fleet}`, sk: "ADMISSION" };
}

export function createAdmissionStore(options: AdmissionStoreOptions): AdmissionStore {
  return {
    async read(fleet) {
      const found = await getItem(options, admissionKey(fleet));
      return found && fleetAdmissionSchema.parse(found);
    },
    async write(fleet, previous, next) {
      const item = {
        ...admissionKey(fleet),
        v: 1,
        ...next,
        expires_ttl: expiresTtl(next.changed_at, options.ttlDays),
      };
      const outcome = await conditionalPut(options, item, versionStands(previous));
      // A write whose answer was lost took place after all.
      return outcome.put || outcome.found?.["stamp"] === next.stamp;
    },
  };
}
