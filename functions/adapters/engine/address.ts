/** The engine's address: as the settings give it, and as it stands in the engine's grants. */
import { SettingsError } from "../../contract/settings-error.ts";

/**
 * The setting as the client uses it: `http` or `https`, a host, perhaps a path prefix, no trailing slash.
 * @throws SettingsError naming every fault at once.
 */
export function engineAddress(setting: string): string {
  const trimmed = setting.trim().replace(/\/+$/, "");
  // A parser forgives `http:/host` and `http:\\host`, which is then not the address that stands there.
  const url =
    /^[a-z]+:($|[\d]|\/\/[^/\\\s])/i.test(trimmed) && !trimmed.includes("\\") ? URL.parse(trimmed) : null;
  const faults =
    url === null ? [`expected a URL such as https://host/prefix, found "${trimmed}"`] : faultsOf(url);
  if (faults.length > 0) throw new SettingsError(faults, "engineUrl");
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
 * A grant's `openai_base_url` names the engine as the engine sees itself, an inside address: its origin gives way to the
 * address that this client uses, and its path stays. Undefined where it is no plain http address: an episode's key and
 * prompts go nowhere but to the engine. Source: the reference's `begin_episode`.
 */
export function rewriteBaseUrl(baseUrl: string, address: string): string | undefined {
  // WHATWG's parser forgives too much: `http:/other`, `http:\\other` and leading blanks all become another host.
  if (!/^https?:\/\/[^/\\\s?#@]+(\/[^\s\\]*)?$/i.test(baseUrl)) return undefined;
  const url = URL.parse(baseUrl);
  if (url === null || faultsOf(url).length > 0) return undefined;
  return address + (url.pathname === "/" && !baseUrl.endsWith("/") ? "" : url.pathname);
}
