/** The engine's address: as the settings give it, and as it stands in the engine's grants. */
import { SettingsError } from "../../core/errors.ts";

/**
 * The setting as the client uses it: `http` or `https`, a host, perhaps a path prefix, no trailing slash.
 * @throws SettingsError naming every fault at once.
 */
export function engineAddress(setting: string): string {
  const trimmed = setting.trim().replace(/\/+$/, "");
  const url = URL.parse(trimmed);
  const faults =
    url === null ? [`expected a URL such as https://host/prefix, found "${trimmed}"`] : faultsOf(url);
  if (faults.length > 0) throw new SettingsError("engineUrl", faults);
  return trimmed;
}

function faultsOf(url: URL): string[] {
  const faults: string[] = [];
  if (!/^https?:$/.test(url.protocol)) faults.push(`expected http or https, found "${url.protocol}"`);
  if (url.username !== "" || url.password !== "") faults.push("expected no user name or password; remove it");
  if (url.search !== "" || url.hash !== "")
    faults.push("expected nothing after the path; remove what follows ? or #");
  return faults;
}

/**
 * A grant's `openai_base_url` names the engine as the engine sees itself, an inside address: scheme and host give way
 * to the address that this client uses. Source: the reference's `begin_episode`.
 */
export function rewriteBaseUrl(baseUrl: string, address: string): string {
  // A function, because `$` in an address would be read as a pattern.
  return baseUrl.replace(/^https?:\/\/[^/]+/i, () => address);
}
