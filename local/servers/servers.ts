import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Template } from "../template/template.ts";
import { lockDirectory } from "./keep-lock.ts";
import { createQueues, type QueueServer, startQueueServer } from "./queue-server.ts";
import { createTables, startTableServer, type TableServer } from "./table-server.ts";

export interface Servers {
  readonly queues: QueueServer;
  readonly tables: TableServer;
  /** By logical id of the queue, on 127.0.0.1. */
  readonly queueUrls: ReadonlyMap<string, string>;
  /** Tells the SDK in a function's process where the servers are. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * Starts an SQS and a DynamoDB server with the template's queues and tables. Nothing is kept, unless in `keepDir`: a
 * later start with the same directory goes on from there.
 */
export async function startServers(template: Template, keepDir?: string): Promise<Servers> {
  const kept = await openKept(keepDir);
  const closers: (() => Promise<void> | void)[] = [() => kept?.lock.release()];
  const close = async () => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    const queues = await startQueueServer(kept?.queues);
    closers.push(queues.close);
    const tables = await startTableServer(kept?.tables);
    closers.push(tables.close);
    await createQueues(queues, template.queues.values());
    await createTables(tables, template.tables.values());
    return { queues, tables, close, ...addresses(template, queues, tables) };
  } catch (error) {
    await close();
    throw error;
  }
}

function addresses(
  template: Template,
  queues: QueueServer,
  tables: TableServer,
): Pick<Servers, "queueUrls" | "environment"> {
  return {
    queueUrls: new Map([...template.queues].map(([id, { name }]) => [id, queues.url(name)])),
    environment: { AWS_ENDPOINT_URL_SQS: queues.endpoint, AWS_ENDPOINT_URL_DYNAMODB: tables.endpoint },
  };
}

interface Kept {
  readonly queues: string;
  readonly tables: string;
  readonly lock: { release(): void };
}

async function openKept(keepDir?: string): Promise<Kept | undefined> {
  if (keepDir === undefined) return undefined;
  const directories = { queues: join(keepDir, "queues"), tables: join(keepDir, "tables") };
  await Promise.all(Object.values(directories).map((directory) => mkdir(directory, { recursive: true })));
  return { ...directories, lock: lockDirectory(keepDir) };
}
