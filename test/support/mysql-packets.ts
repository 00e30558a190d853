/** Cuts what a MySQL client sends into packets and tells which of them are statements (COM_QUERY). */

const HEADER_BYTES = 4;
const COM_QUERY = 3;
/** Of a statement as much is looked at. */
const STATEMENT_BYTES_MAX = 4_096;

export interface Packet {
  readonly bytes: Buffer;
  /** The first bytes of the statement; null for anything that is none (handshake, ping, continuation). */
  readonly statement: string | null;
}

export class PacketReader {
  #parts: Buffer[] = [];
  #partsBytes = 0;
  #wantedBytes = HEADER_BYTES;

  /** Takes a chunk of the stream and returns the packets that it completes. */
  push(chunk: Buffer): Packet[] {
    this.#parts.push(chunk);
    this.#partsBytes += chunk.length;
    const packets: Packet[] = [];
    while (this.#partsBytes >= this.#wantedBytes) {
      const all = Buffer.concat(this.#parts);
      const length = HEADER_BYTES + all.readUIntLE(0, 3);
      if (all.length < length) {
        this.#parts = [all];
        this.#wantedBytes = length;
        break;
      }
      const bytes = all.subarray(0, length);
      const rest = all.subarray(length);
      packets.push({ bytes, statement: statementOf(bytes) });
      this.#parts = rest.length > 0 ? [rest] : [];
      this.#partsBytes = rest.length;
      this.#wantedBytes = HEADER_BYTES;
    }
    return packets;
  }
}

/** A command begins a sequence: its number is 0. Clients that send query attributes put their count (0) before the text. */
function statementOf(packet: Buffer): string | null {
  if (packet[3] !== 0 || packet[4] !== COM_QUERY) return null;
  const text = packet.toString("latin1", HEADER_BYTES + 1, HEADER_BYTES + 1 + STATEMENT_BYTES_MAX);
  let from = 0;
  while (text.charCodeAt(from) <= 1) from++;
  return text.slice(from);
}
