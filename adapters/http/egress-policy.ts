/**
 * Where tenants' calls may go: public unicast addresses, ports 80 and 443, IPv4 unless IPv6 is switched on.
 *
 * A deployment's EGRESS_DENY comes before its EGRESS_ALLOW, and both before the table. An allowed range is allowed at the
 * ports that it names whatever its family.
 */
import { ConfigurationInvalid } from "#core/domain/errors.ts";
import { withoutLastDots } from "#core/domain/host-name.ts";
import { contains, type IpAddress, type IpRange, parseAddress, parseRange } from "./ip-address.ts";
import { specialUse } from "./special-ranges.ts";

const PORTS: readonly number[] = [80, 443];
const PORT_MAX = 65_535;
const ENTRIES_MAX = 1_000;

export interface EgressPolicy {
  /** Null when `address` may be dialled at `port`, else why not. Whatever is not an address in canonical text is refused. */
  verdict(address: string, port: number): string | null;
  /** Null unless the host name, as a URL gives it, is denied. */
  nameVerdict(name: string): string | null;
  /** Whether names are looked up for IPv6 addresses too. */
  readonly ipv6: boolean;
}

export interface EgressSettings {
  /** `127.0.0.0/8:*,10.1.2.3/32:8080`: ranges and ports that are allowed too. */
  readonly allow?: string;
  /** `52.1.2.0/24,internal.example.com`: ranges, addresses, and names with all that is below them. */
  readonly deny?: string;
  readonly ipv6?: boolean;
}

const ALLOWED_FORM = "127.0.0.0/8:* or 10.1.2.3/32:8080";
const DENIED_FORM = "203.0.113.0/24, 203.0.113.7 or internal.example.com";

/** Throws ConfigurationInvalid that names the setting and the entry's place in it. */
export function createEgressPolicy(settings: EgressSettings = {}): EgressPolicy {
  const { ipv6 = false } = settings;
  const allowed = readEntries("EGRESS_ALLOW", ALLOWED_FORM, settings.allow, readAllowed);
  const denied = readEntries("EGRESS_DENY", DENIED_FORM, settings.deny, readDenied);
  const deniedRanges = denied.filter((entry) => typeof entry !== "string");
  const deniedNames = denied.filter((entry) => typeof entry === "string");
  const judge = (address: IpAddress, port: number): string | null => {
    const ruledOut = deniedRanges.find((range) => contains(range, address));
    if (ruledOut !== undefined) return `denied by EGRESS_DENY ${ruledOut.text}`;
    const isAllowed = (entry: Allowed) =>
      contains(entry.range, address) && (entry.port === "any" || entry.port === port);
    if (allowed.some(isAllowed)) return null;
    if (address.bits === 128 && !ipv6) return "IPv6 is off";
    return specialUse(address) ?? (PORTS.includes(port) ? null : `port ${port}`);
  };
  return {
    ipv6,
    verdict(address, port) {
      if (!Number.isInteger(port) || port < 1 || port > PORT_MAX) return "not a port";
      const parsed = parseAddress(address);
      return parsed === null ? "not an IP address" : judge(parsed, port);
    },
    nameVerdict(name) {
      const bare = withoutLastDots(name.toLowerCase());
      const match = deniedNames.find((entry) => bare === entry || bare.endsWith(`.${entry}`));
      return match === undefined ? null : `denied by EGRESS_DENY ${match}`;
    },
  };
}

interface Allowed {
  readonly range: IpRange;
  readonly port: number | "any";
}

function readAllowed(text: string): Allowed | null {
  const colon = text.lastIndexOf(":");
  const range = parseRange(text.slice(0, Math.max(0, colon)));
  const portText = text.slice(colon + 1);
  if (range === null) return null;
  if (portText === "*") return { range, port: "any" };
  const port = /^[1-9]\d{0,4}$/.test(portText) ? Number(portText) : 0;
  return port >= 1 && port <= PORT_MAX ? { range, port } : null;
}

/** A range, or a host name in the form that URLs have. */
function readDenied(text: string): IpRange | string | null {
  if (text.includes("/")) return parseRange(text);
  const address = parseAddress(text);
  if (address !== null) return parseRange(`${text}/${address.bits}`);
  const url = `http://${text.replace(/^\./, "")}/`;
  if (/[:@?#\s]/.test(text) || !URL.canParse(url)) return null;
  const name = withoutLastDots(new URL(url).hostname);
  // A number in another notation would become an address.
  return name === "" || parseAddress(name) !== null ? null : name;
}

function readEntries<T>(
  setting: string,
  form: string,
  text: string | undefined,
  read: (entry: string) => T | null,
): T[] {
  const entries = (text ?? "")
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  if (entries.length > ENTRIES_MAX)
    throw new ConfigurationInvalid(`${setting} has more than ${ENTRIES_MAX} entries`);
  return entries.map((entry, index) => {
    const value = read(entry);
    if (value === null)
      throw new ConfigurationInvalid(
        `${setting}: entry ${index + 1} cannot be read; it has to look like ${form}`,
      );
    return value;
  });
}
